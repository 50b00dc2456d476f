"""Preconditions of guest actions."""

from typing import Any

import pytest
from tests.support.instances import build_vmi_in_phase

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.guestactions import require_guest_action

RUNNING = "Running"


ACPI: JsonObject = {"devices": {}, "features": {"acpi": {}}}
GUESTS: dict[str, tuple[Any, str, int, str]] = {
    "pause before it runs": (build_vmi_in_phase("Scheduling"), "pause", 409, "VMI is not running"),
    "pause twice": (build_vmi_in_phase(RUNNING, paused=True), "pause", 409, "VMI is already paused"),
    "pause with a liveness probe": (build_vmi_in_phase(RUNNING, livenessProbe={}), "pause", 403, "LivenessProbe"),
    "unpause while running": (build_vmi_in_phase(RUNNING), "unpause", 409, "VMI is not paused"),
    "reboot while paused": (build_vmi_in_phase(RUNNING, paused=True), "softreboot", 409, "VMI is paused"),
    "reboot without agent and ACPI": (
        build_vmi_in_phase(RUNNING),
        "softreboot",
        409,
        "neither have the agent connected",
    ),
    "reset of a failed guest": (build_vmi_in_phase("Failed"), "reset", 409, "VMI is not running"),
}


@pytest.mark.parametrize(("vmi", "action", "code", "message"), GUESTS.values(), ids=GUESTS)
def test_guest_action_in_wrong_state_is_rejected(vmi: Any, action: str, code: int, message: str) -> None:
    with pytest.raises(StatusError, match=message) as refused:
        require_guest_action(vmi, action)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("vmi", "action"),
    [
        (build_vmi_in_phase(RUNNING), "pause"),
        (build_vmi_in_phase(RUNNING, paused=True), "unpause"),
        (build_vmi_in_phase(RUNNING, domain=ACPI), "softreboot"),
        (build_vmi_in_phase(RUNNING), "reset"),
    ],
)
def test_valid_guest_action_is_accepted(vmi: Any, action: str) -> None:
    require_guest_action(vmi, action)
