"""vCPUs of a domain (count, topology, model, features, NUMA cells): structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, format_numbers, yes_no

Policy = Literal["force", "require", "optional", "disable", "forbid"]


class Topology(Struct, frozen=True):
    """vCPU topology: sockets, cores per socket and threads per core."""

    sockets: int = 1
    cores: int = 1
    threads: int = 1

    @property
    def vcpus(self) -> int:
        """Number of vCPUs."""
        return self.sockets * self.cores * self.threads


class Feature(Struct, frozen=True):
    """A CPU feature and its policy."""

    name: str
    policy: Policy = "require"


class Cell(Struct, frozen=True):
    """A NUMA node of the guest."""

    id: int
    cpus: tuple[int, ...]
    """Numbers of the vCPUs in the cell."""
    memory: int
    """Memory size in bytes."""


class Cpu(Struct, frozen=True, kw_only=True):
    """CPU model, topology, features and NUMA cells."""

    mode: Literal["custom", "host-model", "host-passthrough"]
    model: str | None = None
    """Name of the model; set only in the mode `custom`."""
    check: Literal["none", "partial", "full"] | None = None
    """How strictly libvirt compares the guest's CPU with the requested one; None means libvirt's default."""
    topology: Topology = Topology()
    features: tuple[Feature, ...] = ()
    cells: tuple[Cell, ...] = ()


class Vcpu(Struct, frozen=True):
    """State of one vCPU of a domain with hotpluggable vCPUs."""

    id: int
    enabled: bool
    hotpluggable: bool


class Vcpus(Struct, frozen=True, kw_only=True):
    """Current and maximum number of vCPUs of a domain."""

    current: int
    maximum: int
    each: tuple[Vcpu, ...] = ()
    """The state of each vCPU; empty if no vCPU can be plugged in later."""


def render_vcpus(domain: Element, vcpus: Vcpus) -> None:
    """Append the XML element `vcpu` and, if vCPUs can be plugged in, `vcpus`."""
    current = vcpus.current if vcpus.current != vcpus.maximum else None
    add(domain, "vcpu", {"placement": "static", "current": current}, text=vcpus.maximum)
    if vcpus.each:
        several = add(domain, "vcpus")
        for one in vcpus.each:
            state = {"enabled": yes_no(one.enabled), "hotpluggable": yes_no(one.hotpluggable)}
            add(several, "vcpu", {"id": one.id, **state})


def render_cpu(domain: Element, cpu: Cpu) -> None:
    """Append the XML element `cpu`."""
    match = "exact" if cpu.mode == "custom" else None
    element = add(domain, "cpu", {"mode": cpu.mode, "match": match, "check": cpu.check})
    if cpu.model is not None:
        add(element, "model", {"fallback": "forbid"}, text=cpu.model)
    layout = cpu.topology
    add(element, "topology", {"sockets": layout.sockets, "cores": layout.cores, "threads": layout.threads})
    for feature in cpu.features:
        add(element, "feature", {"policy": feature.policy, "name": feature.name})
    if cpu.cells:
        numa = add(element, "numa")
        for cell in cpu.cells:
            vcpus = format_numbers(cell.cpus)
            add(numa, "cell", {"id": cell.id, "cpus": vcpus, "memory": cell.memory, "unit": "b"})
