"""
Customize: derive a new instance type or preference from an existing one.

The source is not modified, and its server-set metadata is never copied.
"""

import copy
from typing import NamedTuple

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
from virtshape.api.wellknown import LAST_APPLIED
from virtshape.engine.topology import Topology, read_topology

Instancetype = VirtualMachineInstancetype | VirtualMachineClusterInstancetype
Preference = VirtualMachinePreference | VirtualMachineClusterPreference

GROUP = "instancetype.kubevirt.io"
SIZES_OPTIONAL_SINCE = f"{GROUP}/v1beta2"


class Size(NamedTuple):
    """New vCPUs (as a number or as an exact topology) and memory; None keeps the source's value."""

    vcpus: int | None = None
    topology: CPUTopology | None = None
    memory: Quantity | None = None

    @property
    def is_given(self) -> bool:
        """Return True if vCPUs, a topology or memory is given."""
        return self != UNCHANGED


UNCHANGED = Size()


def check_size(source: Instancetype | Preference, size: Size) -> list[FieldError]:
    """Return the reasons why the source cannot have this size."""
    if isinstance(source, Preference):
        message = "a preference has no size: only instance types set vCPUs and memory"
        return [FieldError("spec", message)] if size.is_given else []
    if size.vcpus is None:
        return []
    if size.topology is not None:
        return [FieldError("spec.cpu", "a number of vCPUs and an exact topology are mutually exclusive")]
    topology = find_topology(source)
    if topology is None:
        return []
    message = f"the exact topology {topology} does not define a layout for {size.vcpus} vCPUs"
    return [FieldError("spec.cpu.topology", message)]


def find_topology(source: Instancetype) -> Topology | None:
    """Return the exact topology of the instance type, or None."""
    cpu = source.spec.cpu
    return read_topology(cpu.topology) if cpu is not None and cpu.topology is not None else None


def scale_topology(topology: Topology, vcpus: int) -> Topology:
    """Return a topology for this many vCPUs that keeps cores and threads per socket if they divide evenly."""
    sockets, rest = divmod(vcpus, topology.cores * topology.threads)
    return Topology(vcpus) if rest else Topology(sockets, topology.cores, topology.threads)


def customize(
    source: Instancetype | Preference,
    name: str,
    size: Size = UNCHANGED,
    *,
    cluster: bool = False,
    keep_metadata: bool = False,
) -> Instancetype | Preference:
    """Return a copy with another name and size, namespaced or cluster-wide; check the size first."""
    metadata = _derive_metadata(source.metadata, name, keep_metadata=keep_metadata)
    if isinstance(source, Preference):
        preference = VirtualMachineClusterPreference if cluster else VirtualMachinePreference
        return preference(
            api_version=source.api_version,
            kind=preference.__name__,
            metadata=metadata,
            spec=copy.deepcopy(source.spec),
        )
    spec = drop_zero_sizes(copy.deepcopy(source.spec))
    _apply_size(spec, size)
    instancetype = VirtualMachineClusterInstancetype if cluster else VirtualMachineInstancetype
    return instancetype(
        api_version=source.api_version if states_size(spec) else SIZES_OPTIONAL_SINCE,
        kind=instancetype.__name__,
        metadata=metadata,
        spec=spec,
    )


def _apply_size(spec: VirtualMachineInstancetypeSpec, size: Size) -> None:
    """Set the size; a limit for hotplug that equals the old size equals the new one, and others are at least that."""
    if size.vcpus is not None or size.topology is not None:
        cpu = spec.cpu = spec.cpu or CPUInstancetype()
        if cpu.max_sockets:
            sockets = size.vcpus or read_topology(size.topology or CPUTopology()).sockets
            before = cpu.guest or read_topology(cpu.topology or CPUTopology()).sockets
            cpu.max_sockets = sockets if cpu.max_sockets == before else max(cpu.max_sockets, sockets)
        cpu.guest, cpu.topology = size.vcpus, size.topology
    if size.memory is not None:
        memory = spec.memory = spec.memory or MemoryInstancetype()
        if memory.max_guest is not None and _is_exceeded(memory.max_guest, memory.guest, size.memory):
            memory.max_guest = size.memory
        memory.guest = size.memory


def _is_exceeded(limit: Quantity, before: Quantity | None, after: Quantity) -> bool:
    """Return True if a limit has to change with the size: it equals the old size or is below the new one."""
    return limit.value() < after.value() or (before is not None and limit.value() == before.value())


def states_size(spec: VirtualMachineInstancetypeSpec) -> bool:
    """Return True if the instance type sets vCPUs and memory, as versions before v1beta2 require."""
    has_vcpus = spec.cpu is not None and (spec.cpu.guest is not None or spec.cpu.topology is not None)
    return has_vcpus and spec.memory is not None and spec.memory.guest is not None


def _derive_metadata(metadata: ObjectMeta, name: str, *, keep_metadata: bool) -> ObjectMeta:
    """Keep labels and annotations only; drop those that describe the source unless `keep_metadata` is set."""

    def derive(texts: dict[str, str] | None) -> dict[str, str] | None:
        kept = {
            key: text
            for key, text in (texts or {}).items()
            if key != LAST_APPLIED and (keep_metadata or not key.startswith(f"{GROUP}/"))
        }
        return kept or None

    return ObjectMeta(name=name, labels=derive(metadata.labels), annotations=derive(metadata.annotations))
