"""Names of CPU architectures: in Kubernetes and container images, and in the kernel, libvirt and QEMU."""

import platform
import sys
from typing import Final, Literal

Architecture = Literal["amd64", "arm64", "s390x"]
KernelArchitecture = Literal["x86_64", "aarch64", "s390x"]

KERNEL_NAMES: Final[dict[Architecture, KernelArchitecture]] = {"amd64": "x86_64", "arm64": "aarch64", "s390x": "s390x"}
_BY_KERNEL_NAME: Final[dict[str, Architecture]] = {kernel: name for name, kernel in KERNEL_NAMES.items()}


def get_architecture() -> Architecture:
    """Return the Kubernetes name of this machine's architecture, or amd64 if the architecture is unknown."""
    return _BY_KERNEL_NAME.get(platform.machine(), "amd64")


def format_platform() -> str:
    """Return the operating system and architecture as in Kubernetes' version document, such as `linux/amd64`."""
    machine = platform.machine()
    return f"{sys.platform}/{_BY_KERNEL_NAME.get(machine, machine)}"
