"""Validate instance types, flavors and preferences; return all violations and warnings."""

from collections.abc import Iterator

from virtshape.admission.checkresult import DEPRECATED, CheckResult
from virtshape.api.conversion import drop_zero_sizes
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype, MemoryInstancetype, VirtualMachineInstancetypeSpec
from virtshape.engine.topology import ACROSS, DEPRECATED_TOPOLOGIES, TOPOLOGIES, preferred_topology, spread_options
from virtshape.resolve.matcher import INSTANCETYPE_GROUP

SIZES_OPTIONAL_IN = "v1beta2"
_STRICT = f"{INSTANCETYPE_GROUP}/{SIZES_OPTIONAL_IN}"


def check_instancetype(spec: VirtualMachineInstancetypeSpec, version: str) -> CheckResult:
    """Return the violations and warnings of an instance type written at this version of its group."""
    sized = version != SIZES_OPTIONAL_IN
    causes = [*_check_cpu(spec.cpu, sized=sized), *_check_memory(spec.memory, sized=sized)]
    warnings = [] if causes else [one.message for one in check_deprecated(spec, version)]
    return CheckResult(causes, warnings)


def check_deprecated(spec: VirtualMachineInstancetypeSpec, version: str) -> Iterator[FieldError]:
    """Yield a violation for each deprecated field or value of an instance type written at this version of its group."""
    if spec.launch_security is not None:
        message = "launchSecurity is deprecated and will be removed in a future release. Use preference instead."
        yield FieldError("spec.launchSecurity", message, rule=DEPRECATED)
    if version == SIZES_OPTIONAL_IN:
        return
    stated = drop_zero_sizes(spec)
    for part in ("cpu", "memory"):
        if getattr(stated, part) != getattr(spec, part):
            field = f"spec.{part}.guest"
            message = f"{field}: 0 means not given: VMs set the size. {_STRICT} refuses 0: leave the field out there"
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
            yield FieldError(field, f"{field} must be 1 or more; leave it out for 1")


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
    """Return the violations and warnings of a preference."""
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
