"""Hypervisor features, and the visibility of KVM to the guest."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, design_guest, list_notes, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.features import Apic, Features, Kvm

PLAIN = Features(acpi=True, vmport=False)
ARM = replace(ACCELERATED, architecture="arm64", machine_types=frozenset({"virt"}))
NO_KVM = "needs KVM, which is not available on this host"


@pytest.mark.parametrize(
    ("asked", "features"),
    [
        pytest.param(None, PLAIN, id="ACPI by default"),
        pytest.param({}, PLAIN, id="ACPI with empty features"),
        pytest.param({"acpi": {"enabled": False}}, replace(PLAIN, acpi=False), id="no ACPI"),
        pytest.param({"apic": {}}, replace(PLAIN, apic=Apic()), id="APIC"),
        pytest.param(
            {"apic": {"endOfInterrupt": True}}, replace(PLAIN, apic=Apic(True)), id="APIC with end of interrupt"
        ),
        pytest.param({"smm": {}}, replace(PLAIN, smm=True), id="SMM"),
        pytest.param({"smm": {"enabled": False}}, replace(PLAIN, smm=False), id="no SMM"),
        pytest.param({"kvm": {"hidden": True}}, replace(PLAIN, kvm=Kvm(hidden=True)), id="hidden KVM"),
        pytest.param({"kvm": {}}, replace(PLAIN, kvm=Kvm(hidden=False)), id="shown KVM"),
        pytest.param({"pvspinlock": {}}, replace(PLAIN, pvspinlock=True), id="spinlocks"),
        pytest.param({"pvspinlock": {"enabled": False}}, replace(PLAIN, pvspinlock=False), id="no spinlocks"),
    ],
)
def test_requested_hypervisor_features_are_enabled(asked: JsonObject | None, features: Features) -> None:
    design = design_guest({"features": asked})
    assert design.domain.features == features
    assert (design.refusals, design.notes) == ((), ())


def test_unsupported_features_are_omitted_on_other_architectures() -> None:
    assert design_guest(host=ARM).domain.features == Features(acpi=True)
    mainframe = replace(ARM, architecture="s390x", machine_types=frozenset({"s390-ccw-virtio"}))
    assert design_guest({"features": {"acpi": {}}}, host=mainframe).domain.features == Features()


def test_amd64_features_are_refused_on_other_architectures() -> None:
    asked = {
        "apic": {},
        "pvspinlock": {},
        "smm": {},
        "hyperv": {"relaxed": {}},
        "kvm": {"hidden": True},
    }
    assert list_refusals(design_guest({"features": asked}, host=ARM)) == {
        "features.apic": "is supported only for amd64 guests",
        "features.pvspinlock": "is supported only for amd64 guests",
        "features.smm": "is supported only for amd64 guests",
        "features.hyperv": "is supported only for amd64 guests",
    }


def test_apic_cannot_be_disabled() -> None:
    design = design_guest({"features": {"apic": {"enabled": False}}})
    assert design.domain.features == PLAIN
    assert list_notes(design) == {"features.apic": "QEMU's machines always have an APIC"}


def test_smm_is_refused_on_i440fx() -> None:
    refusals = list_refusals(design_guest({"machine": {"type": "pc"}, "features": {"smm": {}}}))
    assert refusals == {"features.smm": "the machine type pc-i440fx-7.2 does not support it: use q35"}


def test_features_that_need_kvm_are_refused_or_have_a_note_without_kvm() -> None:
    design = design_guest({"features": {"pvspinlock": {}, "apic": {"endOfInterrupt": True}}}, host=EMULATING)
    assert list_refusals(design) == {"features.pvspinlock": NO_KVM}
    assert list_notes(design)["features.apic.endOfInterrupt"] == "has no effect without KVM"


def test_disabled_features_need_no_kvm() -> None:
    design = design_guest({"features": {"pvspinlock": {"enabled": False}}}, host=EMULATING)
    assert design.refusals == ()
