"""Hypervisor features of a domain: structs and their XML. None leaves a feature to the machine type."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, on_off


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


def render_features(domain: Element, features: Features) -> None:
    """Append the element `features`."""
    element = add(domain, "features")
    if features.acpi:
        add(element, "acpi")
    if features.apic is not None:
        add(element, "apic", {"eoi": on_off(features.apic.end_of_interrupt)})
    if features.hyperv is not None:
        _render_hyperv(element, features.hyperv)
    if features.kvm is not None:
        _render_kvm(element, features.kvm)
    switches = {
        "pvspinlock": features.pvspinlock,
        "pmu": features.pmu,
        "vmport": features.vmport,
        "smm": features.smm,
    }
    _render_switches(element, switches)


def _render_hyperv(features: Element, hyperv: Hyperv) -> None:
    element = add(features, "hyperv", {"mode": hyperv.mode})
    for one in hyperv.enlightenments:
        settings = {"state": on_off(one.on), "retries": one.retries, "value": one.value}
        _render_switches(add(element, one.name, settings), {"direct": one.direct})


def _render_kvm(features: Element, kvm: Kvm) -> None:
    _render_switches(add(features, "kvm"), {"hidden": kvm.hidden, "hint-dedicated": kvm.hint_dedicated})


def _render_switches(parent: Element, switches: dict[str, bool | None]) -> None:
    for tag, on in switches.items():
        if on is not None:
            add(parent, tag, {"state": on_off(on)})
