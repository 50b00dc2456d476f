"""Validation of Hyper-V enlightenments and their dependencies."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings, domain

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

AT = f"{D}.features.hyperv"
ON: JsonObject = {"enabled": True}
OFF: JsonObject = {"enabled": False}


def hyperv(*, cpu: JsonObject | None = None, **features: Any) -> JsonObject:
    return domain(features={"hyperv": features}, cpu=cpu or {})


def vmx(policy: str) -> JsonObject:
    return {"features": [{"name": "vmx", "policy": policy}]}


INVALID: dict[str, tuple[JsonObject, Findings]] = {
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
    "timers without a dependency of synic": (
        hyperv(synictimer={}, vpindex=OFF),
        [(f"{AT}.synictimer", f"'{AT}.synictimer' requires '{AT}.vpindex'")],
    ),
    "reset without synic": (hyperv(reset={}, synic=OFF), [(f"{AT}.reset", f"'{AT}.reset' requires '{AT}.synic'")]),
    "passthrough and a named enlightenment": (
        domain(features={"hyperv": {"relaxed": {}}, "hypervPassthrough": {}}),
        [(AT, "Cannot explicitly set hyperV features if HypervPassthrough is being used. Please use either")],
    ),
    "too few spinlock retries": (
        hyperv(spinlocks={"spinlocks": 4095}),
        [(f"{AT}.spinlocks.spinlocks", "must be greater than or equal to 4096")],
    ),
    "vendor ID too long": (
        hyperv(vendorid={"vendorid": "a" * 13}),
        [(f"{AT}.vendorid.vendorid", "must have at most 12 characters")],
    ),
    "vendor ID with a comma": (hyperv(vendorid={"vendorid": "a,b"}), [(f"{AT}.vendorid.vendorid", "no comma")]),
    "evmcs with vmx disabled": (
        hyperv(evmcs={}, cpu=vmx("disable")),
        [(f"{D}.cpu.features[0].policy", "vmx cpu feature has to be set to require policy")],
    ),
}

VALID: dict[str, JsonObject] = {
    "unset dependencies": hyperv(evmcs={}, ipi={}, synictimer={}, tlbflush={}, reset={}),
    "disabled features with disabled dependencies": hyperv(
        evmcs=OFF, vapic=OFF, ipi=OFF, vpindex=OFF, cpu=vmx("disable")
    ),
    "minimum of spinlock retries": hyperv(spinlocks={"spinlocks": 4096}),
    "retries of disabled spinlocks": hyperv(spinlocks={"enabled": False, "spinlocks": 1}),
    "vendor ID": hyperv(vendorid={"vendorid": "a" * 12}),
    "disabled passthrough": domain(features={"hyperv": {}, "hypervPassthrough": OFF}),
    "evmcs with vmx required": hyperv(evmcs={}, cpu=vmx("require")),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_hyperv_setting_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_valid_hyperv_settings_are_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional, tree, [])
