"""
The virtual CPUs of a domain: how many, in what layout, of which model, near which memory.

Structs only.
"""

from typing import Literal

from msgspec import Struct

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
