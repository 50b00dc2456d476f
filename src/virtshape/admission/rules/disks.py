"""
Disks, filesystems and the volumes behind them: each has one of its name, and is one thing.

Pure: yields violations.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_names, check_one_of, check_partners, check_value, list_members
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.volume import Volume

_SOURCES: Final = list_members(Volume)
_TARGETS: Final = list_members(Disk, "disk", "cdrom", "lun")
_BUSES: Final = ("virtio", "sata", "scsi", "usb")
_CACHES: Final = ("none", "writethrough", "writeback")
_IO_MODES: Final = ("native", "threads", "default")


def check_disks(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Whether disks, filesystems and volumes belong together."""
    devices, volumes = spec.domain.devices, spec.volumes or ()
    disks, filesystems = devices.disks or (), devices.filesystems or ()
    if not (volumes or disks or filesystems):
        return
    at_volumes, at_disks = f"{root}.volumes", f"{root}.domain.devices.disks"
    known = yield from check_names("volume", volumes, at_volumes)
    for index, volume in enumerate(volumes):
        yield from check_one_of("volume", volume, _SOURCES, f"{at_volumes}[{index}]", least=1)
    yield from check_partners("disk", disks, at_disks, "volume", known)
    yield from check_names("disk", disks, at_disks)
    for index, disk in enumerate(disks):
        yield from _check_disk(disk, f"{at_disks}[{index}]")
    if filesystems:
        at_filesystems = f"{root}.domain.devices.filesystems"
        yield from check_names("filesystem", filesystems, at_filesystems)
        yield from check_partners("filesystem", filesystems, at_filesystems, "volume", known)


def _check_disk(disk: Disk, at: str) -> Iterator[Violation]:
    yield from check_one_of("disk", disk, _TARGETS, at, least=0)
    yield from check_value(f"{at}.cache", disk.cache, _CACHES)
    yield from check_value(f"{at}.io", disk.io, _IO_MODES)
    for name, target in (("disk", disk.disk), ("cdrom", disk.cdrom), ("lun", disk.lun)):
        if target is not None:
            yield from check_value(f"{at}.{name}.bus", target.bus, _BUSES)
