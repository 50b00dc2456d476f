"""Guest CPU: vCPUs from the instance type or the VM's own `cpu.guest`, and CPU features from the preference."""

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype, VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.domain import CPU, DomainSpec
from virtshape.engine.topology import Layout, Topology, check_spread, count_vcpus, lay_out_vcpus, read_topology

GUEST = "domain.cpu.guest"


def check_cpu(domain: DomainSpec, given: CPUInstancetype | None) -> list[str]:
    """Return the VM's CPU fields that conflict with the instance type."""
    cpu, resources = domain.cpu, domain.resources
    clashes: list[str] = []
    if resources is not None:
        if resources.requests and "cpu" in resources.requests:
            clashes.append("domain.resources.requests.cpu")
        if resources.limits and "cpu" in resources.limits:
            clashes.append("domain.resources.limits.cpu")
    if cpu is not None:
        if cpu.guest is not None and count_vcpus(given):
            clashes.append(GUEST)
        clashes += [f"domain.cpu.{member}" for member in ("sockets", "cores", "threads") if getattr(cpu, member)]
        if given is not None:
            clashes += _check_traits(cpu, given)
    return clashes


def _check_traits(cpu: CPU, given: CPUInstancetype) -> list[str]:
    clashes = []
    if cpu.model and given.model is not None:
        clashes.append("domain.cpu.model")
    if cpu.dedicated_cpu_placement and given.dedicated_cpu_placement is not None:
        clashes.append("domain.cpu.dedicatedCPUPlacement")
    if cpu.isolate_emulator_thread and given.isolate_emulator_thread is not None:
        clashes.append("domain.cpu.isolateEmulatorThread")
    if cpu.numa is not None and given.numa is not None:
        clashes.append("domain.cpu.numa")
    if cpu.realtime is not None and given.realtime is not None:
        clashes.append("domain.cpu.realtime")
    return clashes


def check_own_vcpus(cpu: CPU, root: str, instancetype: VirtualMachineInstancetypeSpec | None) -> list[FieldError]:
    """Check that the VM's `cpu.guest` is not 0 and, if there is no instance type, not combined with a topology."""
    if cpu.guest is None:
        return []
    conflicts = []
    if cpu.guest == 0:
        message = f"{root}.{GUEST} must be 1 or more; leave it out to get one vCPU"
        conflicts.append(FieldError(f"{root}.{GUEST}", message, rule="own-vcpus"))
    if instancetype is None:  # with an instance type, check_cpu reports these fields
        conflicts += [
            FieldError(field, f"{field} and {root}.{GUEST} are mutually exclusive: keep one of them", rule="own-vcpus")
            for field in (f"{root}.domain.cpu.{name}" for name in ("sockets", "cores", "threads") if getattr(cpu, name))
        ]
    return conflicts


def check_vcpus_spread(
    cpu: CPU | None, root: str, given: CPUInstancetype | None, preference: VirtualMachinePreferenceSpec | None
) -> FieldError | None:
    """Check that the vCPUs can be spread as the preference asks; the error is for the field that sets the vCPUs."""
    if given is not None and given.topology is not None:
        vcpus = read_topology(given.topology).vcpus
        return check_spread(vcpus, "instancetype.spec.cpu.topology", "the instance type", preference)
    if given is not None and given.guest:
        return check_spread(given.guest, "instancetype.spec.cpu.guest", "the instance type", preference)
    if cpu is not None and cpu.guest is not None:
        return check_spread(cpu.guest, f"{root}.{GUEST}", "the VM", preference)
    return None


def apply_cpu(
    domain: DomainSpec, given: CPUInstancetype | None, preference: VirtualMachinePreferenceSpec | None, layout: Layout
) -> None:
    """Copy the CPU fields of the instance type; unless it sets a topology, the preference or `layout` decides."""
    if given is None:
        return
    cpu = domain.cpu = domain.cpu or CPU()
    if given.topology is not None:
        put_topology(cpu, read_topology(given.topology))
    elif given.guest:
        put_topology(cpu, lay_out_vcpus(given.guest, preference, layout))
    if given.model is not None:
        cpu.model = given.model
    if given.dedicated_cpu_placement is not None:
        cpu.dedicated_cpu_placement = given.dedicated_cpu_placement
    if given.isolate_emulator_thread is not None:
        cpu.isolate_emulator_thread = given.isolate_emulator_thread
    if given.numa is not None:
        cpu.numa = given.numa
    if given.realtime is not None:
        cpu.realtime = given.realtime
    if given.max_sockets is not None:
        cpu.max_sockets = given.max_sockets or None


def apply_own_vcpus(domain: DomainSpec, preference: VirtualMachinePreferenceSpec | None, layout: Layout) -> None:
    """Replace the VM's `cpu.guest`, if set, with sockets, cores and threads."""
    cpu = domain.cpu
    if cpu is not None and cpu.guest is not None:
        put_topology(cpu, lay_out_vcpus(cpu.guest, preference, layout))
        cpu.guest = None


def apply_cpu_preferences(domain: DomainSpec, preference: VirtualMachinePreferenceSpec) -> None:
    """Add the preferred CPU features that the VM does not already list."""
    if preference.cpu is None or not preference.cpu.preferred_cpu_features:
        return
    cpu = domain.cpu = domain.cpu or CPU()
    features = cpu.features = cpu.features or []
    named = {feature.name for feature in features}
    features += [feature for feature in preference.cpu.preferred_cpu_features if feature.name not in named]


def put_topology(cpu: CPU, topology: Topology) -> None:
    """Set the sockets, cores and threads of the CPU."""
    cpu.sockets, cpu.cores, cpu.threads = topology.sockets, topology.cores, topology.threads
