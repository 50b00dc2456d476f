"""vCPUs of a domain (count, topology, model, features, NUMA cells): structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, format_numbers, yes_no

Policy = Literal["force", "require", "optional", "disable", "forbid"]


class Topology(Struct, frozen=True):
    """How vCPUs are laid out; with all that can be plugged in later."""

    sockets: int = 1
    cores: int = 1
    threads: int = 1

    @property
    def vcpus(self) -> int:
        """How many there are."""
        return self.sockets * self.cores * self.threads


class Feature(Struct, frozen=True):
    """One CPU flag, and how firmly it is asked for."""

    name: str
    policy: Policy = "require"


class Cell(Struct, frozen=True):
    """One NUMA node that the guest sees."""

    id: int
    cpus: tuple[int, ...]
    """The numbers of its vCPUs."""
    memory: int
    """Bytes."""


class Cpu(Struct, frozen=True, kw_only=True):
    """What each vCPU looks like."""

    mode: Literal["custom", "host-model", "host-passthrough"]
    model: str | None = None
    """The model's name; only in the mode `custom`."""
    check: Literal["none", "partial", "full"] | None = None
    """How closely libvirt compares what the guest got with what was asked for; its own choice when absent."""
    topology: Topology = Topology()
    features: tuple[Feature, ...] = ()
    cells: tuple[Cell, ...] = ()


class Vcpu(Struct, frozen=True):
    """One vCPU of a domain that vCPUs can be plugged into."""

    id: int
    enabled: bool
    hotpluggable: bool


class Vcpus(Struct, frozen=True, kw_only=True):
    """How many vCPUs a domain has."""

    current: int
    maximum: int
    each: tuple[Vcpu, ...] = ()
    """Every single one, where some are yet to be plugged in."""


def render_vcpus(domain: Element, vcpus: Vcpus) -> None:
    """Append the elements `vcpu` and, where each is told apart, `vcpus`."""
    current = vcpus.current if vcpus.current != vcpus.maximum else None
    add(domain, "vcpu", {"placement": "static", "current": current}, text=vcpus.maximum)
    if vcpus.each:
        several = add(domain, "vcpus")
        for one in vcpus.each:
            state = {"enabled": yes_no(one.enabled), "hotpluggable": yes_no(one.hotpluggable)}
            add(several, "vcpu", {"id": one.id, **state})


def render_cpu(domain: Element, cpu: Cpu) -> None:
    """Append the element `cpu`."""
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
