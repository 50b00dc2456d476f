"""Validate disks against their volumes: disk names, LUNs and downward metrics."""

from collections.abc import Iterator, Sequence

from virtshape.admission.rules.names import is_label
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.volume import Volume
from virtshape.engine.conflict import VALUE_REQUIRED


def check_disk_volumes(disks: Sequence[Disk], volumes: Sequence[Volume], at: str) -> Iterator[Violation]:
    """Check disks against their volumes; `at` is the path of the disks."""
    by_name = {volume.name: volume for volume in volumes}
    for index, disk in enumerate(disks):
        if not is_label(disk.name):
            reason = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
            yield Violation("invalid-name", f"{at}[{index}].name", f"{reason}, at most 63 of them, not {disk.name}")
        volume = by_name.get(disk.name)
        if volume is None:
            continue
        if disk.lun is not None and volume.persistent_volume_claim is None and volume.data_volume is None:
            message = f"{at}[{index}].lun can only be mapped to a DataVolume or PersistentVolumeClaim volume."
            yield Violation("impossible-combination", f"{at}[{index}].lun", message)
        if volume.downward_metrics is not None:
            yield from _check_metrics(disk, f"{at}[{index}]")


def _check_metrics(disk: Disk, at: str) -> Iterator[Violation]:
    target = disk.disk
    if target is None and (disk.cdrom is not None or disk.lun is not None):
        message = f"DownwardMetrics volume must be mapped to a disk, but disk is not set on {at}.disk."
        yield Violation("impossible-combination", f"{at}.disk", message, VALUE_REQUIRED)
    elif target is not None and target.bus not in (None, "", "virtio"):
        message = f"DownwardMetrics volume must be mapped to virtio bus, but {at}.disk.bus is set to {target.bus}"
        yield Violation("impossible-combination", f"{at}.disk.bus", message)
