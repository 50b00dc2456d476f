"""Validate instance types, flavors and preferences; return all violations and warnings."""

from collections.abc import Iterator
from typing import Any, Final

from virtshape.admission.checkresult import DEPRECATED, CheckResult
from virtshape.admission.rules.instancetypelimits import check_sizing_policy
from virtshape.api.conversion import drop_zero_sizes
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype, MemoryInstancetype, VirtualMachineInstancetypeSpec
from virtshape.api.model import Model
from virtshape.engine.lifecycle import check_lifecycle
from virtshape.engine.topology import ACROSS, DEPRECATED_TOPOLOGIES, TOPOLOGIES, preferred_topology, spread_options
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP

SIZES_OPTIONAL_IN = "v1beta2"
_STRICT = f"{INSTANCETYPE_GROUP}/{SIZES_OPTIONAL_IN}"
_EFI_FIELDS: Final = {"preferred_use_efi": "preferredUseEfi", "preferred_use_secure_boot": "preferredUseSecureBoot"}


def check_object(found: Any) -> Iterator[FieldError]:
    """Yield all violations of an instance type, flavor or preference; nothing for other kinds."""
    instancetype = instancetype_spec(found)
    preference = preference_spec(found)
    if instancetype is not None or preference is not None:
        yield from check_lifecycle(found.kind, found.metadata)
    if instancetype is not None:
        version = _version_of(found)
        causes = check_instancetype(instancetype, version).causes
        yield from (cause._replace(rule="invalid-instancetype") for cause in causes)
        yield from check_deprecated(instancetype, version) if not causes else ()
    if preference is not None:
        result = check_preference(preference)
        # No warnings: the flavor group has no replacements for deprecated fields.
        if found.api_version.startswith(FLAVOR_GROUP):
            yield from _report_preference(result._replace(warnings=[]))
        else:
            yield from _report_preference(result)
            yield from _check_deprecated_preference(preference)


def check_instancetype(spec: VirtualMachineInstancetypeSpec, version: str) -> CheckResult:
    """Return the violations or, if there are none, the warnings for an instance type in this version of its group."""
    sized = version != SIZES_OPTIONAL_IN
    causes = [*_check_cpu(spec.cpu, sized=sized), *_check_memory(spec.memory, sized=sized), *check_sizing_policy(spec)]
    warnings = [] if causes else [one.message for one in check_deprecated(spec, version)]
    return CheckResult(causes, warnings)


def check_deprecated(spec: VirtualMachineInstancetypeSpec, version: str) -> Iterator[FieldError]:
    """Yield a violation for each deprecated field or value of an instance type in this version of its API group."""
    if spec.launch_security is not None:
        message = "launchSecurity is deprecated and will be removed in a future release. Use preference instead."
        yield FieldError("spec.launchSecurity", message, rule=DEPRECATED)
    if version == SIZES_OPTIONAL_IN:
        return
    stated = drop_zero_sizes(spec)
    for part in ("cpu", "memory"):
        if getattr(stated, part) != getattr(spec, part):
            field = f"spec.{part}.guest"
            message = f"{field}: 0 leaves the size to VMs; omit the field in {_STRICT}, which rejects 0"
            yield FieldError(field, message, rule=DEPRECATED)


def _check_cpu(cpu: CPUInstancetype | None, *, sized: bool) -> Iterator[FieldError]:
    guest = cpu.guest if cpu else None
    topology = cpu.topology if cpu else None
    if guest and topology is not None:
        message = "spec.cpu.guest and spec.cpu.topology are mutually exclusive: keep one of them"
        yield FieldError("spec.cpu.topology", message)
    if guest is None and topology is None and sized:
        message = f"either spec.cpu.guest or spec.cpu.topology is required before {SIZES_OPTIONAL_IN}"
        yield FieldError("spec.cpu.guest", message, VALUE_REQUIRED)
    if guest == 0 and not sized:
        yield FieldError("spec.cpu.guest", "spec.cpu.guest must be 1 or more; leave it out if VMs set it")
    for member in ("sockets", "cores", "threads"):
        if topology is not None and getattr(topology, member) == 0:
            field = f"spec.cpu.topology.{member}"
            yield FieldError(field, f"{field} must be 1 or more; omit it for the default, 1")


def _check_memory(memory: MemoryInstancetype | None, *, sized: bool) -> Iterator[FieldError]:
    guest = memory.guest if memory else None
    if guest is None and sized:
        message = f"spec.memory.guest is required before {SIZES_OPTIONAL_IN}"
        yield FieldError("spec.memory.guest", message, VALUE_REQUIRED)
    if guest is not None and (guest.amount < 0 or (guest.is_zero() and not sized)):
        yield FieldError("spec.memory.guest", f"spec.memory.guest '{guest}': must be greater than 0")
    percent = memory.overcommit_percent if memory else None
    field = "spec.memory.overcommitPercent"
    if percent is not None and not 0 <= percent <= 100:
        yield FieldError(field, f"{field} '{percent}': must be in range between 0 and 100.")
    if percent and memory is not None and memory.hugepages is not None:
        yield FieldError(field, f"{field} and spec.memory.hugepages should not be requested together.")


def check_preference(spec: VirtualMachinePreferenceSpec) -> CheckResult:
    """Return the violations or, if there are none, the warnings for a preference."""
    causes = list(_check_topology(spec))
    warnings = []
    name = spec.cpu.preferred_cpu_topology if spec.cpu else None
    if name in DEPRECATED_TOPOLOGIES:
        warnings.append(
            f"PreferredCPUTopology {name} is deprecated for removal in a future release, "
            f"please use {DEPRECATED_TOPOLOGIES[name]} instead"
        )
    return CheckResult(causes, [] if causes else warnings)


def _check_topology(spec: VirtualMachinePreferenceSpec) -> Iterator[FieldError]:
    name = spec.cpu.preferred_cpu_topology if spec.cpu else None
    if name is not None and name not in TOPOLOGIES and name not in DEPRECATED_TOPOLOGIES:
        message = f"unknown preferredCPUTopology {name}; use one of {', '.join(TOPOLOGIES)}"
        yield FieldError("spec.cpu.preferredCPUTopology", message)
    if preferred_topology(spec) != "spread":
        return
    ratio, across = spread_options(spec)
    if across not in ACROSS:
        message = f"across {across} is not supported; use one of {', '.join(ACROSS)}"
        yield FieldError("spec.cpu.spreadOptions.across", message)
    elif across == "CoresThreads" and ratio != 2:
        message = "only a ratio of 2 (1 core 2 threads) is allowed when spreading vCPUs over cores and threads"
        yield FieldError("spec.cpu.spreadOptions.ratio", message)
    elif ratio == 0:
        message = "a ratio of 0 is not supported"
        yield FieldError("spec.cpu.spreadOptions.ratio", message)


def _version_of(found: Model) -> str:
    version: str = getattr(found, "api_version", "").rpartition("/")[2]
    return version


def _report_preference(result: CheckResult) -> Iterator[FieldError]:
    for cause in result.causes:
        yield cause._replace(rule="invalid-preference")
    for warning in result.warnings:
        yield FieldError("spec.cpu.preferredCPUTopology", warning, rule=DEPRECATED)


def _check_deprecated_preference(preference: VirtualMachinePreferenceSpec) -> Iterator[FieldError]:
    for attribute, name in _EFI_FIELDS.items():
        if preference.firmware is not None and getattr(preference.firmware, attribute) is not None:
            instead = "{}" if name == "preferredUseSecureBoot" else "{secureBoot: false}"
            message = f"{name} is deprecated: use preferredEfi, for example preferredEfi: {instead}"
            yield FieldError(f"spec.firmware.{name}", message, rule=DEPRECATED)
    if preference.prefer_spread_socket_to_core_ratio is not None:
        message = "preferSpreadSocketToCoreRatio is deprecated: use cpu.spreadOptions.ratio"
        yield FieldError("spec.preferSpreadSocketToCoreRatio", message, rule=DEPRECATED)
