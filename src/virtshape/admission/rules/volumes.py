"""
Volumes by their sources: each names what it is made of.

Pure: yields violations.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.cloudinit import check_cloud_init
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.volume import HostDisk, Volume

_SOLE: Final = {"service_account": "serviceAccount", "memory_dump": "memoryDump", "downward_metrics": "downwardMetrics"}
_NEED_NAMES: Final = (
    ("data_volume", "dataVolume", "name"),
    ("persistent_volume_claim", "persistentVolumeClaim", "claim_name"),
    ("container_disk", "containerDisk", "image"),
    ("config_map", "configMap", "name"),
    ("secret", "secret", "secret_name"),
    ("service_account", "serviceAccount", "service_account_name"),
)
_WIRE: Final = {"claim_name": "claimName", "secret_name": "secretName", "service_account_name": "serviceAccountName"}


def check_sources(volumes: Sequence[Volume], at: str) -> Iterator[Violation]:
    """Whether each volume says all that its source needs."""
    for index, volume in enumerate(volumes):
        yield from _check_source(volume, f"{at}[{index}]")
    for attribute, name in _SOLE.items():
        if sum(getattr(volume, attribute) is not None for volume in volumes) > 1:
            message = f"{at} must have max one {name} volume set: keep one"
            yield Violation("impossible-combination", at, message)


def _check_source(volume: Volume, at: str) -> Iterator[Violation]:
    for attribute, name, member in _NEED_NAMES:
        source = getattr(volume, attribute)
        if source is not None and not getattr(source, member):
            field = f"{at}.{name}.{_WIRE.get(member, member)}"
            yield Violation("invalid-value", field, f"{field} is a required field")
    if volume.cloud_init_no_cloud is not None:
        yield from check_cloud_init(volume.cloud_init_no_cloud, f"{at}.cloudInitNoCloud")
    if volume.cloud_init_config_drive is not None:
        yield from check_cloud_init(volume.cloud_init_config_drive, f"{at}.cloudInitConfigDrive")
    if volume.host_disk is not None:
        yield from _check_host_disk(volume.host_disk, f"{at}.hostDisk")
    if volume.empty_disk is not None and volume.empty_disk.capacity.amount <= 0:
        field = f"{at}.emptyDisk.capacity"
        yield Violation("invalid-value", field, f"{field} '{volume.empty_disk.capacity}': must be greater than 0")
    if volume.sysprep is not None and (volume.sysprep.secret is None) == (volume.sysprep.config_map is None):
        message = f"{at}.sysprep must have exactly one of secret and configMap"
        yield Violation("one-of", f"{at}.sysprep", message)


def _check_host_disk(disk: HostDisk, at: str) -> Iterator[Violation]:
    if not disk.path:
        yield Violation("invalid-value", f"{at}.path", f"{at}.path is required for hostDisk volume")
    match disk.type:
        case "DiskOrCreate":
            if disk.capacity is None:
                message = f"{at}.capacity is required for type DiskOrCreate"
                yield Violation("invalid-value", f"{at}.capacity", message)
        case "Disk":
            if disk.capacity is not None:
                message = f"{at}.capacity is allowed to pass only with type DiskOrCreate"
                yield Violation("impossible-combination", f"{at}.capacity", message)
        case _:
            message = f"{at}.type has invalid value '{disk.type}', allowed are Disk or DiskOrCreate"
            yield Violation("unsupported-value", f"{at}.type", message)
