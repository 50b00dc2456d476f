"""Preconditions of guest actions."""

from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.guests import require_guest_action
from virtshape.apiserver.subresources.running import (
    Change,
)

RUNNING = "Running"


def build_vmi(phase: str | None, *, paused: bool = False, **change_spec: Any) -> VirtualMachineInstance | None:
    if phase is None:
        return None
    conditions = [{"type": "Paused", "status": "True"}] if paused else None
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm1", "uid": "u1"},
        "spec": {"domain": {"devices": {}}, **change_spec},
        "status": {"phase": phase, "conditions": conditions},
    }
    return from_tree(tree, VirtualMachineInstance)


def change_spec(**values: Any) -> Change:
    return Change("spec", values)


ACPI: JsonObject = {"devices": {}, "features": {"acpi": {}}}
GUESTS: dict[str, tuple[Any, str, int, str]] = {
    "pause before it runs": (build_vmi("Scheduling"), "pause", 409, "VMI is not running"),
    "pause twice": (build_vmi(RUNNING, paused=True), "pause", 409, "VMI is already paused"),
    "pause with a liveness probe": (build_vmi(RUNNING, livenessProbe={}), "pause", 403, "LivenessProbe"),
    "unpause while running": (build_vmi(RUNNING), "unpause", 409, "VMI is not paused"),
    "reboot while paused": (build_vmi(RUNNING, paused=True), "softreboot", 409, "VMI is paused"),
    "reboot without agent and ACPI": (build_vmi(RUNNING), "softreboot", 409, "neither have the agent connected"),
    "reset of a failed guest": (build_vmi("Failed"), "reset", 409, "VMI is not running"),
}


@pytest.mark.parametrize(("vmi", "action", "code", "message"), GUESTS.values(), ids=GUESTS)
def test_guest_action_in_wrong_state_is_rejected(vmi: Any, action: str, code: int, message: str) -> None:
    with pytest.raises(StatusError, match=message) as refused:
        require_guest_action(vmi, action)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("vmi", "action"),
    [
        (build_vmi(RUNNING), "pause"),
        (build_vmi(RUNNING, paused=True), "unpause"),
        (build_vmi(RUNNING, domain=ACPI), "softreboot"),
        (build_vmi(RUNNING), "reset"),
    ],
)
def test_valid_guest_action_is_accepted(vmi: Any, action: str) -> None:
    require_guest_action(vmi, action)
