"""Hyper-V enlightenments."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, design_guest, list_notes, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.features import Enlightenment, Hyperv

ALL: JsonObject = {
    "evmcs": {},
    "frequencies": {},
    "ipi": {},
    "reenlightenment": {},
    "relaxed": {},
    "reset": {},
    "runtime": {},
    "spinlocks": {"spinlocks": 8191},
    "synic": {},
    "synictimer": {"direct": {}},
    "tlbflush": {},
    "vapic": {},
    "vendorid": {"vendorid": "somebody"},
    "vpindex": {},
}
TIMER: JsonObject = {"timer": {"hyperv": {}}}
NO_KVM = "needs KVM, which is not available on this host"


def on(*names: str) -> tuple[Enlightenment, ...]:
    return tuple(Enlightenment(name=name, on=True) for name in names)


def test_every_enlightenment_can_be_enabled() -> None:
    design = design_guest({"features": {"hyperv": ALL}, "clock": TIMER})
    assert design.domain.features.hyperv == Hyperv(
        enlightenments=(
            *on("relaxed", "vapic"),
            Enlightenment(name="spinlocks", on=True, retries=8191),
            *on("vpindex", "runtime", "synic"),
            Enlightenment(name="stimer", on=True, direct=True),
            *on("reset"),
            Enlightenment(name="vendor_id", on=True, value="somebody"),
            *on("frequencies", "reenlightenment", "tlbflush", "ipi", "evmcs"),
        )
    )
    assert (design.refusals, design.notes) == ((), ())


@pytest.mark.parametrize(
    ("asked", "enlightenments"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param(
            {"spinlocks": {}}, (Enlightenment(name="spinlocks", on=True, retries=4096),), id="default retries"
        ),
        pytest.param(
            {"spinlocks": {"enabled": False, "spinlocks": 8191}, "vendorid": {"enabled": False}},
            (Enlightenment(name="spinlocks", on=False), Enlightenment(name="vendor_id", on=False)),
            id="off",
        ),
    ],
)
def test_enlightenments_are_enabled_or_disabled_as_requested(
    asked: JsonObject, enlightenments: tuple[Enlightenment, ...]
) -> None:
    design = design_guest({"features": {"hyperv": asked}})
    assert design.domain.features.hyperv == Hyperv(enlightenments=enlightenments)
    assert design.refusals == ()


@pytest.mark.parametrize(
    ("enabled", "hyperv"), [(True, Hyperv(mode="passthrough")), (None, Hyperv(mode="passthrough")), (False, None)]
)
def test_hyperv_passthrough_is_used_unless_it_is_disabled(enabled: bool | None, hyperv: Hyperv | None) -> None:
    design = design_guest({"features": {"hypervPassthrough": {"enabled": enabled}}})
    assert design.domain.features.hyperv == hyperv


def test_enlightenments_are_refused_or_have_a_note_without_kvm() -> None:
    design = design_guest({"features": {"hyperv": ALL}, "clock": TIMER}, host=EMULATING)
    assert list_refusals(design) == {
        "features.hyperv.vpindex": NO_KVM,
        "features.hyperv.synic": NO_KVM,
        "features.hyperv.synictimer": NO_KVM,
        "features.hyperv.tlbflush": NO_KVM,
        "features.hyperv.ipi": NO_KVM,
        "features.hyperv.evmcs": NO_KVM,
    }
    idle = "relaxed, vapic, spinlocks, runtime, reset, vendorid, frequencies, reenlightenment"
    assert list_notes(design)["features.hyperv"] == f"without KVM these have no effect: {idle}"


def test_hyperv_passthrough_has_no_effect_without_kvm() -> None:
    design = design_guest({"features": {"hypervPassthrough": {"enabled": True}}}, host=EMULATING)
    assert list_notes(design)["features.hypervPassthrough"] == "has no effect without KVM"


def test_disabled_enlightenments_need_no_kvm() -> None:
    off = {name: {"enabled": False} for name in ALL}
    design = design_guest({"features": {"hyperv": off}}, host=EMULATING)
    assert design.refusals == ()
    assert "features.hyperv" not in list_notes(design)


@pytest.mark.parametrize(
    ("asked", "refusals"),
    [
        pytest.param(
            {"ipi": {}, "tlbflush": {}},
            {"features.hyperv.vpindex": "is required by tlbflush, ipi"},
            id="missing dependency",
        ),
        pytest.param(
            {"synictimer": {}, "synic": {}, "vpindex": {}},
            {"clock.timer.hyperv": "is required by features.hyperv.synictimer"},
            id="missing clock",
        ),
        pytest.param(
            {"evmcs": {}, "vapic": {"enabled": False}},
            {"features.hyperv.vapic": "is required by evmcs"},
            id="disabled dependency",
        ),
        pytest.param(
            {"spinlocks": {"spinlocks": 7}},
            {"features.hyperv.spinlocks.spinlocks": "must be at least 4096"},
            id="too few retries",
        ),
        pytest.param(
            {"vendorid": {"vendorid": "a long, long name"}},
            {"features.hyperv.vendorid.vendorid": "must have 1 to 12 characters and no comma"},
            id="vendor ID too long",
        ),
        pytest.param(
            {"vendorid": {}},
            {"features.hyperv.vendorid.vendorid": "must have 1 to 12 characters and no comma"},
            id="empty vendor ID",
        ),
        pytest.param(
            {"vpindex": {}, "tlbflush": {"direct": {}, "extended": {}}},
            {
                "features.hyperv.tlbflush.direct": "is not supported by the libvirt of this host",
                "features.hyperv.tlbflush.extended": "is not supported by the libvirt of this host",
            },
            id="options that libvirt does not support",
        ),
    ],
)
def test_enlightenment_with_a_missing_dependency_is_refused(asked: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest({"features": {"hyperv": asked}})) == refusals


def test_hyperv_is_refused_on_other_architectures() -> None:
    host = replace(ACCELERATED, architecture="arm64", machine_types=frozenset({"virt"}))
    refusals = list_refusals(design_guest({"features": {"hypervPassthrough": {}}}, host=host))
    assert refusals == {"features.hypervPassthrough": "is supported only for amd64 guests"}
