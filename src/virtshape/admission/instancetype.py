"""Validate instance types, flavors and preferences; return all violations and warnings."""

from collections.abc import Iterator

from virtshape.admission.violation import CheckResult
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype, MemoryInstancetype, VirtualMachineInstancetypeSpec
from virtshape.api.status import Cause
from virtshape.engine.conflict import VALUE_INVALID, VALUE_REQUIRED
from virtshape.engine.topology import ACROSS, DEPRECATED_TOPOLOGIES, TOPOLOGIES, preferred_topology, spread_options

SIZES_OPTIONAL_IN = "v1beta2"


def check_instancetype(spec: VirtualMachineInstancetypeSpec, version: str) -> CheckResult:
    """Check an instance type written at this version of its group."""
    sized = version != SIZES_OPTIONAL_IN
    causes = [*_check_cpu(spec.cpu, sized=sized), *_check_memory(spec.memory, sized=sized)]
    warnings = []
    if spec.launch_security is not None:
        warnings.append("launchSecurity is deprecated and will be removed in a future release. Use preference instead.")
    return CheckResult(causes, [] if causes else warnings)


def _check_cpu(cpu: CPUInstancetype | None, *, sized: bool) -> Iterator[Cause]:
    guest = cpu.guest if cpu else None
    topology = cpu.topology if cpu else None
    if guest is not None and topology is not None:
        message = "spec.cpu.guest and spec.cpu.topology are mutually exclusive: keep one of them"
        yield Cause(VALUE_INVALID, message, "spec.cpu.topology")
    if guest is None and topology is None and sized:
        message = f"either spec.cpu.guest or spec.cpu.topology is required before {SIZES_OPTIONAL_IN}"
        yield Cause(VALUE_REQUIRED, message, "spec.cpu.guest")
    if guest == 0:
        yield Cause(VALUE_INVALID, "spec.cpu.guest must be 1 or more", "spec.cpu.guest")
    for member in ("sockets", "cores", "threads"):
        if topology is not None and getattr(topology, member) == 0:
            field = f"spec.cpu.topology.{member}"
            yield Cause(VALUE_INVALID, f"{field} must be 1 or more; leave it out for 1", field)


def _check_memory(memory: MemoryInstancetype | None, *, sized: bool) -> Iterator[Cause]:
    guest = memory.guest if memory else None
    if guest is None and sized:
        message = f"spec.memory.guest is required before {SIZES_OPTIONAL_IN}"
        yield Cause(VALUE_REQUIRED, message, "spec.memory.guest")
    if guest is not None and guest.amount <= 0:
        yield Cause(VALUE_INVALID, f"spec.memory.guest '{guest}': must be greater than 0", "spec.memory.guest")
    percent = memory.overcommit_percent if memory else None
    field = "spec.memory.overcommitPercent"
    if percent is not None and not 0 <= percent <= 100:
        yield Cause(VALUE_INVALID, f"{field} '{percent}': must be in range between 0 and 100.", field)
    if percent and memory is not None and memory.hugepages is not None:
        yield Cause(VALUE_INVALID, f"{field} and spec.memory.hugepages should not be requested together.", field)


def check_preference(spec: VirtualMachinePreferenceSpec) -> CheckResult:
    """Check a preference."""
    causes = list(_check_topology(spec))
    warnings = []
    name = spec.cpu.preferred_cpu_topology if spec.cpu else None
    if name in DEPRECATED_TOPOLOGIES:
        warnings.append(
            f"PreferredCPUTopology {name} is deprecated for removal in a future release, "
            f"please use {DEPRECATED_TOPOLOGIES[name]} instead"
        )
    return CheckResult(causes, [] if causes else warnings)


def _check_topology(spec: VirtualMachinePreferenceSpec) -> Iterator[Cause]:
    name = spec.cpu.preferred_cpu_topology if spec.cpu else None
    if name is not None and name not in TOPOLOGIES and name not in DEPRECATED_TOPOLOGIES:
        message = f"unknown preferredCPUTopology {name}; use one of {', '.join(TOPOLOGIES)}"
        yield Cause(VALUE_INVALID, message, "spec.cpu.preferredCPUTopology")
    if preferred_topology(spec) != "spread":
        return
    ratio, across = spread_options(spec)
    if across not in ACROSS:
        message = f"across {across} is not supported; use one of {', '.join(ACROSS)}"
        yield Cause(VALUE_INVALID, message, "spec.cpu.spreadOptions.across")
    elif across == "CoresThreads" and ratio != 2:
        message = "only a ratio of 2 (1 core 2 threads) is allowed when spreading vCPUs over cores and threads"
        yield Cause(VALUE_INVALID, message, "spec.cpu.spreadOptions.ratio")
    elif ratio == 0:
        message = "a ratio of 0 is not supported"
        yield Cause(VALUE_INVALID, message, "spec.cpu.spreadOptions.ratio")
