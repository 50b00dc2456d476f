"""
Customize: derive a new instance type or preference from an existing one.

The source is not modified. Metadata that the API server sets is never copied.
"""

import copy
from typing import Final, Literal, NamedTuple

from msgspec.structs import asdict

from virtshape.api.conversion import drop_zero_sizes
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.v1beta2 import (
    CPUInstancetype,
    MemoryInstancetype,
    VirtualMachineClusterInstancetype,
    VirtualMachineClusterPreference,
    VirtualMachineInstancetype,
    VirtualMachineInstancetypeSpec,
    VirtualMachinePreference,
)
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import LAST_APPLIED, LIFECYCLE_LABEL, REPLACEMENT_ANNOTATION
from virtshape.engine.memory import is_open
from virtshape.engine.preferencechanges import NO_CHANGES, PreferenceChanges, apply_changes
from virtshape.engine.sizingpolicy import build_cpu_limits, check_memory_size, check_vcpus, has_limits, read_policy
from virtshape.engine.topology import Topology, count_vcpus, read_topology

Instancetype = VirtualMachineInstancetype | VirtualMachineClusterInstancetype
Preference = VirtualMachinePreference | VirtualMachineClusterPreference

GROUP = "instancetype.kubevirt.io"
SIZES_OPTIONAL_SINCE = f"{GROUP}/v1beta2"
Open = Literal["open"]
OPEN: Final = "open"
"""The value of `vcpus` or `memory` for a size that the new instance type leaves to each VM."""
_LIFECYCLE: Final = (LIFECYCLE_LABEL, REPLACEMENT_ANNOTATION)


class Size(NamedTuple):
    """The new vCPUs (as a number or as an exact topology) and memory; None means the value of the source."""

    vcpus: int | Open | None = None
    topology: CPUTopology | None = None
    memory: Quantity | Open | None = None

    @property
    def is_given(self) -> bool:
        """Return True if vCPUs, a topology or memory is set."""
        return self != UNCHANGED


UNCHANGED = Size()


def check_size(source: Instancetype | Preference, size: Size) -> list[FieldError]:
    """Return the reasons why a copy of the source cannot have this size."""
    if isinstance(source, Preference):
        message = "a preference has no size: only instance types set vCPUs and memory"
        return [FieldError("spec", message)] if size.is_given else []
    if size.vcpus is not None and size.topology is not None:
        return [FieldError("spec.cpu", "a number of vCPUs and an exact topology are mutually exclusive")]
    topology = find_topology(source)
    if topology is None or size.vcpus is None or size.vcpus == OPEN:
        return _check_policy(source.spec, size)
    message = f"the exact topology {topology} does not define a layout for {size.vcpus} vCPUs"
    return [FieldError("spec.cpu.topology", message)]


def _check_policy(source: VirtualMachineInstancetypeSpec, size: Size) -> list[FieldError]:
    """Return a violation for each new size (vCPUs or memory) that is outside the limits the source sets for VMs."""
    if not has_limits(source):
        return []
    policy, problems = read_policy(source), []
    given = size.vcpus if isinstance(size.vcpus, int) else None
    if size.topology is not None:
        given = read_topology(size.topology).vcpus
    if given is not None and not count_vcpus(source.cpu):
        problems += check_vcpus(policy, given, "spec.cpu.topology" if size.topology is not None else "spec.cpu.guest")
    if isinstance(size.memory, Quantity) and is_open(source.memory):
        vcpus, asked = given or count_vcpus(source.cpu), size.memory.value()
        if vcpus or not policy.list_vcpus(asked):
            problems += check_memory_size(
                policy, vcpus or asked // policy.per_vcpu[1], size.memory, "spec.memory.guest"
            )
    return problems


def check_changes(source: Instancetype | Preference, changes: PreferenceChanges) -> list[FieldError]:
    """Return the reasons why these changes cannot be made to a copy of the source."""
    if isinstance(source, Preference) or changes == NO_CHANGES:
        return []
    message = "an instance type has no buses, models, firmware, machine type or clock: only preferences set them"
    return [FieldError("spec", message)]


def find_topology(source: Instancetype) -> Topology | None:
    """Return the exact topology of the instance type, or None."""
    cpu = source.spec.cpu
    return read_topology(cpu.topology) if cpu is not None and cpu.topology is not None else None


def scale_topology(topology: Topology, vcpus: int) -> Topology:
    """Return a topology for this many vCPUs: sockets of the same size if the vCPUs fill them, else one-vCPU sockets."""
    sockets, rest = divmod(vcpus, topology.cores * topology.threads)
    return Topology(vcpus) if rest else Topology(sockets, topology.cores, topology.threads)


def customize(
    source: Instancetype | Preference,
    name: str,
    size: Size = UNCHANGED,
    changes: PreferenceChanges = NO_CHANGES,
    *,
    cluster: bool = False,
    keep_metadata: bool = False,
) -> Instancetype | Preference:
    """Return a namespaced or cluster-wide copy with this size and these changes, which the caller must check first."""
    metadata = _derive_metadata(source.metadata, name, keep_metadata=keep_metadata)
    if isinstance(source, Preference):
        preference = VirtualMachineClusterPreference if cluster else VirtualMachinePreference
        preferred = copy.deepcopy(source.spec)
        apply_changes(preferred, changes)
        return preference(api_version=source.api_version, kind=preference.__name__, metadata=metadata, spec=preferred)
    spec = _allow_open_sizes(drop_zero_sizes(copy.deepcopy(source.spec)))
    _apply_size(spec, size)
    instancetype = VirtualMachineClusterInstancetype if cluster else VirtualMachineInstancetype
    return instancetype(
        api_version=source.api_version if states_size(spec) else SIZES_OPTIONAL_SINCE,
        kind=instancetype.__name__,
        metadata=metadata,
        spec=spec,
    )


def _allow_open_sizes(spec: VirtualMachineInstancetypeSpec) -> VirtualMachineInstancetypeSpec:
    """Return the spec with v1beta2 structs, in which the memory size is optional."""
    memory = MemoryInstancetype(**asdict(spec.memory)) if spec.memory is not None else None
    return VirtualMachineInstancetypeSpec(**{**asdict(spec), "memory": memory})


def _apply_size(spec: VirtualMachineInstancetypeSpec, size: Size) -> None:
    """
    Set the size and adjust the hotplug limits.

    A limit equal to the old size becomes the new size, or is removed if VMs are to set the size. Any other limit is
    kept, or raised to the new size if it is lower. Limits of a sizing policy are removed for sizes that are now set. If
    VMs still set the vCPUs, limits on the memory per vCPU are converted to limits on the vCPUs.
    """
    policy = read_policy(spec)
    if size.vcpus is not None or size.topology is not None:
        cpu = spec.cpu = spec.cpu or CPUInstancetype()
        if cpu.max_sockets:
            cpu.max_sockets = _derive_max_sockets(cpu, cpu.max_sockets, size)
        cpu.guest, cpu.topology = None if size.vcpus == OPEN else size.vcpus, size.topology
        cpu.limits = cpu.limits if size.vcpus == OPEN else None
    if size.memory is not None:
        memory = spec.memory = spec.memory or MemoryInstancetype()
        memory.max_guest = _derive_max_guest(memory, size.memory)
        memory.guest = None if size.memory == OPEN else size.memory
        if memory.limits is not None and memory.guest is not None:
            if memory.limits.per_vcpu is not None and not count_vcpus(spec.cpu):
                cpu = spec.cpu = spec.cpu or CPUInstancetype()
                cpu.limits = build_cpu_limits(policy.list_vcpus(memory.guest.value()))
            memory.limits = None


def _derive_max_sockets(cpu: CPUInstancetype, limit: int, size: Size) -> int | None:
    before = cpu.guest or (read_topology(cpu.topology).sockets if cpu.topology else None)
    if size.vcpus == OPEN:
        return None if limit == before else limit
    sockets = size.vcpus or read_topology(size.topology or CPUTopology()).sockets
    return sockets if limit == (before or 1) else max(limit, sockets)


def _derive_max_guest(memory: MemoryInstancetype, size: Quantity | Open) -> Quantity | None:
    limit, before = memory.max_guest, memory.guest
    if limit is None:
        return None
    equals_size = before is not None and limit.value() == before.value()
    if size == OPEN:
        return None if equals_size else limit
    return size if equals_size or limit.value() < size.value() else limit


def states_size(spec: VirtualMachineInstancetypeSpec) -> bool:
    """Return True if the instance type sets vCPUs and memory, as versions before v1beta2 require."""
    has_vcpus = spec.cpu is not None and (spec.cpu.guest is not None or spec.cpu.topology is not None)
    return has_vcpus and spec.memory is not None and spec.memory.guest is not None


def _derive_metadata(metadata: ObjectMeta, name: str, *, keep_metadata: bool) -> ObjectMeta:
    """
    Return new metadata with this name and the source's labels and annotations.

    Keys for the life cycle and in KubeVirt's instance type group describe the source, so they are omitted unless
    `keep_metadata` is set. kubectl's last-applied annotation is always omitted.
    """

    def derive(texts: dict[str, str] | None) -> dict[str, str] | None:
        kept = {
            key: text
            for key, text in (texts or {}).items()
            if key != LAST_APPLIED and (keep_metadata or not (key.startswith(f"{GROUP}/") or key in _LIFECYCLE))
        }
        return kept or None

    return ObjectMeta(name=name, labels=derive(metadata.labels), annotations=derive(metadata.annotations))
