"""Validate volumes and their sources."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from virtshape.admission.rules.checks import check_one_of, check_path, list_members
from virtshape.admission.rules.cloudinit import check_cloud_init
from virtshape.api.fielderror import FieldError
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


def check_sources(volumes: Sequence[Volume], at: str) -> Iterator[FieldError]:
    """Check that each volume has exactly one source, and that the source is valid; `at` is the path of the volumes."""
    sole: list[str] = []
    for index, volume in enumerate(volumes):
        sources = SOURCES.list_values(volume)
        if len(sources) != 1:
            yield from check_one_of("volume", volume, SOURCES, f"{at}[{index}]", least=1)
        for name, source in sources:
            if name in _NEED_NAMES and not getattr(source, _NEED_NAMES[name]):
                field = f"{at}[{index}].{name}.{_WIRE.get(_NEED_NAMES[name], _NEED_NAMES[name])}"
                message = "DataVolume 'name' must be set" if name == "dataVolume" else f"{field} is a required field"
                yield FieldError(field, message, rule="invalid-value")
            if name in _CHECKS:
                yield from _CHECKS[name](source, f"{at}[{index}].{name}")
            if name in _SOLE:
                sole.append(name)
    for name in dict.fromkeys(sole):
        if sole.count(name) > 1:
            message = f"{at} must have max one {_SOLE[name]} volume set: keep one"
            yield FieldError(at, message, rule="impossible-combination")


def _check_container_disk(disk: ContainerDiskSource, at: str) -> Iterable[FieldError]:
    return check_path(disk.path, f"{at}.path", at) if disk.path else ()


def _check_empty_disk(disk: EmptyDiskSource, at: str) -> Iterator[FieldError]:
    if disk.capacity.amount <= 0:
        yield FieldError(
            f"{at}.capacity", f"{at}.capacity '{disk.capacity}': must be greater than 0", rule="invalid-value"
        )


def _check_sysprep(sysprep: SysprepSource, at: str) -> Iterator[FieldError]:
    if (sysprep.secret is None) == (sysprep.config_map is None):
        yield FieldError(at, f"{at} must have exactly one of secret and configMap", rule="one-of")


def _check_host_disk(disk: HostDisk, at: str) -> Iterator[FieldError]:
    if not disk.path:
        yield FieldError(f"{at}.path", f"{at}.path is required for hostDisk volume", rule="invalid-value")
    match disk.type:
        case "DiskOrCreate":
            if disk.capacity is None:
                message = f"{at}.capacity is required with {at}.type equal to 'DiskOrCreate'"
                yield FieldError(f"{at}.capacity", message, rule="invalid-value")
        case "Disk":
            if disk.capacity is not None:
                message = f"{at}.capacity is allowed to pass only with {at}.type equal to 'DiskOrCreate'"
                yield FieldError(f"{at}.capacity", message, rule="impossible-combination")
        case _:
            message = f"{at}.type has invalid value '{disk.type}', allowed are 'Disk' or 'DiskOrCreate'"
            yield FieldError(f"{at}.type", message, rule="unsupported-value")


_CHECKS: Final[dict[str, Callable[[Any, str], Iterable[FieldError]]]] = {
    "containerDisk": _check_container_disk,
    "cloudInitNoCloud": check_cloud_init,
    "cloudInitConfigDrive": check_cloud_init,
    "hostDisk": _check_host_disk,
    "emptyDisk": _check_empty_disk,
    "sysprep": _check_sysprep,
}
