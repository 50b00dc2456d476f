"""Validation of Hyper-V enlightenments and their dependencies."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Told, domain, expect

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

AT = f"{D}.features.hyperv"
ON: JsonObject = {"enabled": True}
OFF: JsonObject = {"enabled": False}


def hyperv(*, cpu: JsonObject | None = None, **features: Any) -> JsonObject:
    return domain(features={"hyperv": features}, cpu=cpu or {})


def vmx(policy: str) -> JsonObject:
    return {"features": [{"name": "vmx", "policy": policy}]}


BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "evmcs without vapic": (
        hyperv(evmcs={}, vapic=OFF),
        [(f"{AT}.evmcs", f"'{AT}.evmcs' requires '{AT}.vapic', which was disabled.")],
    ),
    "ipi without vpindex": (hyperv(ipi=ON, vpindex=OFF), [(f"{AT}.ipi", f"'{AT}.ipi' requires '{AT}.vpindex'")]),
    "tlbflush without vpindex": (
        hyperv(tlbflush={"direct": {}}, vpindex=OFF),
        [(f"{AT}.tlbflush", f"'{AT}.tlbflush' requires '{AT}.vpindex'")],
    ),
    "synic without vpindex": (
        hyperv(synic={}, vpindex=OFF),
        [(f"{AT}.synic", f"'{AT}.synic' requires '{AT}.vpindex'")],
    ),
    "timers without synic": (
        hyperv(synictimer={}, synic=OFF),
        [(f"{AT}.synictimer", f"'{AT}.synictimer' requires '{AT}.synic'")],
    ),
    "timers without what synic needs": (
        hyperv(synictimer={}, vpindex=OFF),
        [(f"{AT}.synictimer", f"'{AT}.synictimer' requires '{AT}.vpindex'")],
    ),
    "reset without synic": (hyperv(reset={}, synic=OFF), [(f"{AT}.reset", f"'{AT}.reset' requires '{AT}.synic'")]),
    "all of them by name and without": (
        domain(features={"hyperv": {"relaxed": {}}, "hypervPassthrough": {}}),
        [(AT, "Cannot explicitly set hyperV features if HypervPassthrough is being used. Please use either")],
    ),
    "too few attempts": (
        hyperv(spinlocks={"spinlocks": 4095}),
        [(f"{AT}.spinlocks.spinlocks", "must be greater than or equal to 4096")],
    ),
    "a vendor too long": (
        hyperv(vendorid={"vendorid": "a" * 13}),
        [(f"{AT}.vendorid.vendorid", "must have at most 12 characters")],
    ),
    "a vendor with a comma": (hyperv(vendorid={"vendorid": "a,b"}), [(f"{AT}.vendorid.vendorid", "no comma")]),
    "nesting switched off below evmcs": (
        hyperv(evmcs={}, cpu=vmx("disable")),
        [(f"{D}.cpu.features[0].policy", "vmx cpu feature has to be set to require policy")],
    ),
}

KEPT: dict[str, JsonObject] = {
    "what others rely on left out": hyperv(evmcs={}, ipi={}, synictimer={}, tlbflush={}, reset={}),
    "what relies on others switched off": hyperv(evmcs=OFF, vapic=OFF, ipi=OFF, vpindex=OFF, cpu=vmx("disable")),
    "as many attempts as there must be": hyperv(spinlocks={"spinlocks": 4096}),
    "attempts that do not count": hyperv(spinlocks={"enabled": False, "spinlocks": 1}),
    "a vendor": hyperv(vendorid={"vendorid": "a" * 12}),
    "passthrough switched off": domain(features={"hyperv": {}, "hypervPassthrough": OFF}),
    "nesting below evmcs": hyperv(evmcs={}, cpu=vmx("require")),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_optional, tree, told)


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    expect(check_optional, tree, [])
