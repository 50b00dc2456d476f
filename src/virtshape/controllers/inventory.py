"""
Summaries of VMs and instances: what metrics report about each of them.

The functions are pure. Sizes are from the VM's status, where the VM controller writes them with the instance type
applied.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import GUEST_FLAVOR_ANNOTATION, GUEST_OS_ANNOTATION, GUEST_WORKLOAD_ANNOTATION
from virtshape.controllers.vmi.phases import phase_of
from virtshape.resolve.matcher import Role, find_matcher

NONE: Final = "<none>"
"""Label value in KubeVirt's metrics for a VM without an instance type, a preference or an annotation."""
UNKNOWN: Final = "<unknown>"
_STATUS_GROUPS: Final = {
    "Provisioning": "starting",
    "Starting": "starting",
    "WaitingForVolumeBinding": "starting",
    "Running": "running",
    "Migrating": "migrating",
    "Stopped": "non_running",
    "Paused": "non_running",
    "Stopping": "non_running",
    "Terminating": "non_running",
    "CrashLoopBackOff": "error",
    "Unknown": "error",
    "ErrorUnschedulable": "error",
    "ErrImagePull": "error",
    "ImagePullBackOff": "error",
    "ErrorPvcNotFound": "error",
    "DataVolumeError": "error",
}
"""The group of each printable status in KubeVirt's metrics."""
_SYSTEM_ANNOTATIONS: Final = (GUEST_OS_ANNOTATION, GUEST_WORKLOAD_ANNOTATION, GUEST_FLAVOR_ANNOTATION)


class System(NamedTuple):
    """Properties of the guest, from the annotations of the VM's template."""

    os: str = NONE
    workload: str = NONE
    flavor: str = NONE


class Source(NamedTuple):
    """The names of the instance type (or flavor) and the preference that a VM uses."""

    instance_type: str = NONE
    preference: str = NONE


class Guest(NamedTuple):
    """The operating system of a guest, from its agent, and its machine type."""

    guest_os_name: str = NONE
    guest_os_version_id: str = NONE
    guest_os_kernel_release: str = NONE
    guest_os_arch: str = NONE
    guest_os_machine: str = NONE


class VmSummary(NamedTuple):
    """A VM, its state and its size; amounts are None if they are not set or not known yet."""

    namespace: str
    name: str
    status: str
    status_group: str
    source: Source
    system: System
    machine_type: str
    vcpus: int | None
    topology: tuple[int, int, int] | None
    """Sockets, cores and threads."""
    is_default_topology: bool
    """True if neither the VM nor an instance type sets the vCPUs."""
    memory: int | None
    """Guest memory in bytes."""
    requests: Mapping[str, float]
    limits: Mapping[str, float]
    """CPU in cores and memory in bytes that the VM itself requests from the node, and their limits."""


class VmiSummary(NamedTuple):
    """An instance and its state."""

    namespace: str
    name: str
    node: str
    phase: str
    source: Source
    system: System
    guest: Guest


def summarize_vm(vm: VirtualMachine) -> VmSummary:
    """Return the summary of a VM."""
    metadata, status, template = vm.metadata, vm.status, vm.spec.template
    printable = (status.printable_status if status else None) or ""
    size = status.effective if status else None
    domain = template.spec.domain if template.spec is not None else None
    resources = domain.resources if domain is not None else None
    source = Source(_name(vm, "instancetype") or _name(vm, "flavor") or NONE, _name(vm, "preference") or NONE)
    return VmSummary(
        metadata.namespace or "",
        metadata.name or "",
        printable.lower(),
        _STATUS_GROUPS.get(printable, UNKNOWN),
        source,
        _read_system((template.metadata.annotations if template.metadata else None) or {}),
        (domain.machine.type if domain is not None and domain.machine is not None else None) or NONE,
        size.vcpus if size else None,
        _parse_topology(size.topology) if size and size.topology else None,
        source.instance_type == NONE and (domain is None or domain.cpu is None),
        size.memory.value() if size and size.memory is not None else None,
        _measure((resources.requests if resources else None) or {}),
        _measure((resources.limits if resources else None) or {}),
    )


def summarize_vmi(vmi: VirtualMachineInstance) -> VmiSummary:
    """Return the summary of an instance."""
    status, annotations = vmi.status, vmi.metadata.annotations or {}
    return VmiSummary(
        vmi.metadata.namespace or "",
        vmi.metadata.name or "",
        (status.node_name if status else None) or "",
        phase_of(vmi).lower(),
        Source(
            _find_name(annotations, "instancetype-name") or _find_name(annotations, "flavor-name") or NONE,
            _find_name(annotations, "preference-name") or NONE,
        ),
        _read_system(annotations),
        _describe_guest(status) if status is not None else Guest(),
    )


def _describe_guest(status: VirtualMachineInstanceStatus) -> Guest:
    machine = (status.machine.type if status.machine is not None else None) or NONE
    system = status.guest_os_info
    if system is None:
        return Guest(guest_os_machine=machine)
    return Guest(
        system.name or NONE, system.version_id or NONE, system.kernel_release or NONE, system.machine or NONE, machine
    )


def _name(vm: VirtualMachine, role: Role) -> str | None:
    matcher = find_matcher(vm, role)
    return matcher.name if matcher is not None else None


def _find_name(annotations: Mapping[str, str], suffix: str) -> str | None:
    return annotations.get(f"kubevirt.io/cluster-{suffix}") or annotations.get(f"kubevirt.io/{suffix}")


def _read_system(annotations: Mapping[str, str]) -> System:
    return System(*(annotations.get(key) or NONE for key in _SYSTEM_ANNOTATIONS))


def _parse_topology(text: str) -> tuple[int, int, int] | None:
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return None
    sockets, cores, threads = map(int, parts)
    return sockets, cores, threads


def _measure(amounts: Mapping[str, Quantity]) -> dict[str, float]:
    return {name: float(amounts[name].amount) for name in ("cpu", "memory") if name in amounts}
