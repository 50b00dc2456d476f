"""Hypervisor features of a domain: structs and their XML. None means the default of the machine type."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, on_off


class Apic(Struct, frozen=True):
    """The APIC of an x86 guest."""

    end_of_interrupt: bool | None = None


class Enlightenment(Struct, frozen=True, kw_only=True):
    """A Hyper-V enlightenment."""

    name: str
    """Name of libvirt's element."""
    on: bool
    retries: int | None = None
    """Number of retries; set only for `spinlocks`."""
    value: str | None = None
    """The vendor ID; set only for `vendor_id`."""
    direct: bool | None = None
    """Whether direct mode is enabled; set only for `stimer`."""


class Hyperv(Struct, frozen=True, kw_only=True):
    """The Hyper-V enlightenments of a guest."""

    mode: Literal["custom", "passthrough"] = "custom"
    enlightenments: tuple[Enlightenment, ...] = ()


class Kvm(Struct, frozen=True, kw_only=True):
    """Features of KVM."""

    hidden: bool | None = None
    hint_dedicated: bool | None = None


class Features(Struct, frozen=True, kw_only=True):
    """Hypervisor features of a domain."""

    acpi: bool = False
    apic: Apic | None = None
    hyperv: Hyperv | None = None
    kvm: Kvm | None = None
    pvspinlock: bool | None = None
    pmu: bool | None = None
    vmport: bool | None = None
    smm: bool | None = None


def render_features(domain: Element, features: Features) -> None:
    """Append the XML element `features`."""
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
