"""
Features of hardware and hypervisor as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.features import Features, Hyperv, Kvm
from virtshape.launcher.render.writing import add, on_off


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
