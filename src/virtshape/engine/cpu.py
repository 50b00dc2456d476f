"""
vCPUs: what an instance type gives, what a VM asks for by itself, what a preference adds.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Iterator

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype
from virtshape.api.kubevirt.domain import CPU, DomainSpec
from virtshape.engine.conflict import Conflict
from virtshape.engine.draft import Draft
from virtshape.engine.topology import Layout, Topology, check_spread, count_vcpus, lay_out_vcpus, read_topology

GUEST = "domain.cpu.guest"


def check_cpu(domain: DomainSpec, given: CPUInstancetype | None) -> Iterator[str]:
    """The fields of the VM that say what its instance type says."""
    resources = domain.resources
    if resources is not None:
        if resources.requests and "cpu" in resources.requests:
            yield "domain.resources.requests.cpu"
        if resources.limits and "cpu" in resources.limits:
            yield "domain.resources.limits.cpu"
    cpu = domain.cpu
    if cpu is None:
        return
    if cpu.guest is not None and count_vcpus(given):
        yield GUEST
    if cpu.sockets:
        yield "domain.cpu.sockets"
    if cpu.cores:
        yield "domain.cpu.cores"
    if cpu.threads:
        yield "domain.cpu.threads"
    if given is None:
        return
    if cpu.model and given.model is not None:
        yield "domain.cpu.model"
    if cpu.dedicated_cpu_placement and given.dedicated_cpu_placement is not None:
        yield "domain.cpu.dedicatedCPUPlacement"
    if cpu.isolate_emulator_thread and given.isolate_emulator_thread is not None:
        yield "domain.cpu.isolateEmulatorThread"
    if cpu.numa is not None and given.numa is not None:
        yield "domain.cpu.numa"
    if cpu.realtime is not None and given.realtime is not None:
        yield "domain.cpu.realtime"


def check_own_vcpus(cpu: CPU | None, root: str, *, beside_instancetype: bool) -> list[Conflict]:
    """Whether the VM's own number of vCPUs makes sense by itself."""
    if cpu is None or cpu.guest is None:
        return []
    conflicts = []
    if cpu.guest == 0:
        message = f"{root}.{GUEST} must be 1 or more; leave it out to get one vCPU"
        conflicts.append(Conflict((f"{root}.{GUEST}",), message))
    if not beside_instancetype:  # there, each of them is a conflict already
        conflicts += [
            Conflict((field,), f"{field} and {root}.{GUEST} are mutually exclusive: keep one of them")
            for field in (f"{root}.domain.cpu.{name}" for name in ("sockets", "cores", "threads") if getattr(cpu, name))
        ]
    return conflicts


def check_own_spread(
    cpu: CPU | None, root: str, given: CPUInstancetype | None, preference: VirtualMachinePreferenceSpec | None
) -> Conflict | None:
    """Whether the number of vCPUs in use can be spread as the preference asks, named where that number stands."""
    if given is not None and given.topology is not None:
        return None  # an exact topology is not laid out
    if given is not None and given.guest is not None:
        return check_spread(given.guest, "instancetype.spec.cpu.guest", "the instance type", preference)
    if cpu is not None and cpu.guest is not None:
        return check_spread(cpu.guest, f"{root}.{GUEST}", "the VM", preference)
    return None


def apply_cpu(
    draft: Draft, given: CPUInstancetype | None, preference: VirtualMachinePreferenceSpec | None, layout: Layout
) -> None:
    """Write what the instance type gives."""
    if given is None:
        return
    domain = draft.spec.domain
    if domain.cpu is None:
        draft.put(domain, "cpu", CPU())
    cpu = domain.cpu
    assert cpu is not None
    if given.topology is not None:
        put_topology(draft, cpu, read_topology(given.topology))
    elif given.guest is not None:
        put_topology(draft, cpu, lay_out_vcpus(given.guest, preference, layout))
    if given.model is not None:
        draft.put(cpu, "model", given.model)
    if given.dedicated_cpu_placement is not None:
        draft.put(cpu, "dedicated_cpu_placement", given.dedicated_cpu_placement)
    if given.isolate_emulator_thread is not None:
        draft.put(cpu, "isolate_emulator_thread", given.isolate_emulator_thread)
    if given.numa is not None:
        draft.put(cpu, "numa", given.numa)
    if given.realtime is not None:
        draft.put(cpu, "realtime", given.realtime)
    if given.max_sockets is not None:
        draft.put(cpu, "max_sockets", given.max_sockets or None)


def apply_own_vcpus(draft: Draft, preference: VirtualMachinePreferenceSpec | None, layout: Layout) -> None:
    """Lay out the number of vCPUs that the VM names by itself, and drop that number."""
    cpu = draft.spec.domain.cpu
    if cpu is not None and cpu.guest is not None:
        put_topology(draft, cpu, lay_out_vcpus(cpu.guest, preference, layout))
        cpu.guest = None


def apply_cpu_preferences(draft: Draft, preference: VirtualMachinePreferenceSpec) -> None:
    """Add the CPU features that the VM does not name itself."""
    if preference.cpu is None or not preference.cpu.preferred_cpu_features:
        return
    domain = draft.spec.domain
    if domain.cpu is None:
        draft.put(domain, "cpu", CPU())
    cpu = domain.cpu
    assert cpu is not None
    named = {feature.name for feature in cpu.features or ()}
    for feature in preference.cpu.preferred_cpu_features:
        if feature.name not in named:
            draft.append(cpu, "features", feature)


def put_topology(draft: Draft, cpu: CPU, topology: Topology) -> None:
    """Write the three numbers of a topology."""
    draft.put(cpu, "sockets", topology.sockets)
    draft.put(cpu, "cores", topology.cores)
    draft.put(cpu, "threads", topology.threads)
