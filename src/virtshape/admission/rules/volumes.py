"""Validate volumes and their sources."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from virtshape.admission.rules.checks import check_one_of, check_path, list_members
from virtshape.admission.rules.cloudinit import check_cloud_init
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.volume import ContainerDiskSource, EmptyDiskSource, HostDisk, SysprepSource, Volume

SOURCES: Final = list_members(Volume)
_SOLE: Final = {"serviceAccount": "serviceAccount", "memoryDump": "memory dump", "downwardMetrics": "downwardMetric"}
_NEED_NAMES: Final = {
    "dataVolume": "name",
    "persistentVolumeClaim": "claim_name",
    "containerDisk": "image",
    "configMap": "name",
    "secret": "secret_name",
    "serviceAccount": "service_account_name",
}
_WIRE: Final = {"claim_name": "claimName", "secret_name": "secretName", "service_account_name": "serviceAccountName"}


def check_sources(volumes: Sequence[Volume], at: str) -> Iterator[Violation]:
    """Check that each volume has one complete source."""
    sole: list[str] = []
    for index, volume in enumerate(volumes):
        sources = SOURCES.list_values(volume)
        if len(sources) != 1:
            yield from check_one_of("volume", volume, SOURCES, f"{at}[{index}]", least=1)
        for name, source in sources:
            if name in _NEED_NAMES and not getattr(source, _NEED_NAMES[name]):
                field = f"{at}[{index}].{name}.{_WIRE.get(_NEED_NAMES[name], _NEED_NAMES[name])}"
                message = "DataVolume 'name' must be set" if name == "dataVolume" else f"{field} is a required field"
                yield Violation("invalid-value", field, message)
            if name in _CHECKS:
                yield from _CHECKS[name](source, f"{at}[{index}].{name}")
            if name in _SOLE:
                sole.append(name)
    for name in dict.fromkeys(sole):
        if sole.count(name) > 1:
            message = f"{at} must have max one {_SOLE[name]} volume set: keep one"
            yield Violation("impossible-combination", at, message)


def _check_container_disk(disk: ContainerDiskSource, at: str) -> Iterable[Violation]:
    return check_path(disk.path, f"{at}.path", at) if disk.path else ()


def _check_empty_disk(disk: EmptyDiskSource, at: str) -> Iterator[Violation]:
    if disk.capacity.amount <= 0:
        yield Violation("invalid-value", f"{at}.capacity", f"{at}.capacity '{disk.capacity}': must be greater than 0")


def _check_sysprep(sysprep: SysprepSource, at: str) -> Iterator[Violation]:
    if (sysprep.secret is None) == (sysprep.config_map is None):
        yield Violation("one-of", at, f"{at} must have exactly one of secret and configMap")


def _check_host_disk(disk: HostDisk, at: str) -> Iterator[Violation]:
    if not disk.path:
        yield Violation("invalid-value", f"{at}.path", f"{at}.path is required for hostDisk volume")
    match disk.type:
        case "DiskOrCreate":
            if disk.capacity is None:
                message = f"{at}.capacity is required with {at}.type equal to 'DiskOrCreate'"
                yield Violation("invalid-value", f"{at}.capacity", message)
        case "Disk":
            if disk.capacity is not None:
                message = f"{at}.capacity is allowed to pass only with {at}.type equal to 'DiskOrCreate'"
                yield Violation("impossible-combination", f"{at}.capacity", message)
        case _:
            message = f"{at}.type has invalid value '{disk.type}', allowed are 'Disk' or 'DiskOrCreate'"
            yield Violation("unsupported-value", f"{at}.type", message)


_CHECKS: Final[dict[str, Callable[[Any, str], Iterable[Violation]]]] = {
    "containerDisk": _check_container_disk,
    "cloudInitNoCloud": check_cloud_init,
    "cloudInitConfigDrive": check_cloud_init,
    "hostDisk": _check_host_disk,
    "emptyDisk": _check_empty_disk,
    "sysprep": _check_sysprep,
}
