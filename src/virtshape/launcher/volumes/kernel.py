"""Direct kernel boot: the kernel and initrd from a container image."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.source import Source

MOUNT: Final = "kernelBoot"
"""The mount with the files of the container image; no volume can have this name."""


def prepare_kernel(vmi: VirtualMachineInstance, mounts: Mapping[str, str]) -> dict[str, Source]:
    """Return the files that exist, as `kernelBoot/kernel` and `kernelBoot/initrd`."""
    firmware = vmi.spec.domain.firmware
    boot = firmware.kernel_boot if firmware is not None else None
    if boot is None or boot.container is None or MOUNT not in mounts:
        return {}
    root = Path(mounts[MOUNT]).resolve()
    wanted = {"kernel": boot.container.kernel_path, "initrd": boot.container.initrd_path}
    found = {name: (root / path.lstrip("/")).resolve() for name, path in wanted.items() if path}
    return {
        f"{MOUNT}/{name}": Source(path=str(path), read_only=True)
        for name, path in found.items()
        if path.is_relative_to(root) and path.is_file()
    }
