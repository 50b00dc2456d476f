"""
Features of a domain's hardware and hypervisor.

Structs only. A feature that is None is left to the machine type.
"""

from typing import Literal

from msgspec import Struct


class Apic(Struct, frozen=True):
    """The interrupt controller of an x86 guest."""

    end_of_interrupt: bool | None = None


class Enlightenment(Struct, frozen=True, kw_only=True):
    """One thing of Hyper-V that a guest is offered."""

    name: str
    """The name of its element."""
    on: bool
    retries: int | None = None
    """Only of `spinlocks`."""
    value: str | None = None
    """Only of `vendor_id`."""
    direct: bool | None = None
    """Only of `stimer`."""


class Hyperv(Struct, frozen=True, kw_only=True):
    """All of Hyper-V that a guest is offered."""

    mode: Literal["custom", "passthrough"] = "custom"
    enlightenments: tuple[Enlightenment, ...] = ()


class Kvm(Struct, frozen=True, kw_only=True):
    """How KVM shows itself."""

    hidden: bool | None = None
    hint_dedicated: bool | None = None


class Features(Struct, frozen=True, kw_only=True):
    """What the hardware and the hypervisor can do."""

    acpi: bool = False
    apic: Apic | None = None
    hyperv: Hyperv | None = None
    kvm: Kvm | None = None
    pvspinlock: bool | None = None
    pmu: bool | None = None
    vmport: bool | None = None
    smm: bool | None = None
