"""
The architecture and the machine type of a domain.

Pure: no I/O, no clock, no logging.
"""

import re
from typing import Final, Literal

from virtshape.launcher.design.devices.brief import Brief
from virtshape.launcher.host import Architecture

_IN_LIBVIRT: Final[dict[Architecture, Literal["x86_64", "aarch64", "s390x"]]] = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    "s390x": "s390x",
}
_USUAL: Final[dict[Architecture, str]] = {"amd64": "q35", "arm64": "virt", "s390x": "s390-ccw-virtio"}


def design_architecture(brief: Brief) -> Literal["x86_64", "aarch64", "s390x"]:
    """The machine's own architecture; another one is refused."""
    wanted, own = brief.spec.architecture, brief.host.architecture
    if wanted is not None and wanted != own:
        brief.refuse("spec.architecture", f"this machine is {own}; it runs no guests of {wanted}")
    return _IN_LIBVIRT[own]


def design_machine(brief: Brief) -> str:
    """The machine type by its full name, which stays the same when QEMU gets newer."""
    host, machine = brief.host, brief.spec.domain.machine
    wanted = (machine.type if machine is not None else None) or _USUAL[host.architecture]
    found = host.machine_aliases.get(wanted, wanted)
    if found not in host.machine_types:
        known = ", ".join(sorted({*host.machine_types, *host.machine_aliases}, key=_by_version)) or "none"
        brief.refuse("spec.domain.machine.type", f"QEMU has no machine type {wanted} here; it has: {known}")
    return found


def is_q35(machine: str) -> bool:
    """Whether the machine type has the newer chipset."""
    return machine == "q35" or machine.startswith("pc-q35-")


def _by_version(name: str) -> list[tuple[int, str]]:
    """Sort `pc-q35-2.10` after `pc-q35-2.9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]
