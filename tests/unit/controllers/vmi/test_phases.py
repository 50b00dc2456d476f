"""Phases of an instance: transitions, times and conditions."""

from typing import get_args

import pytest
from tests.support.instances import EARLIER, STAMP, build_vmi

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.phases import Phase, phase_of, set_guest_status, set_phase

NOT_READY: JsonObject = {
    "type": "Ready",
    "status": "False",
    "reason": "GuestNotRunning",
    "message": "Guest VM is not reported as running",
    "lastTransitionTime": STAMP,
}


NOT_MIGRATABLE = {
    "type": "LiveMigratable",
    "status": "False",
    "reason": "NotMigratable",
    "message": "virtshape does not support live migration: restart the VM to move it",
    "lastTransitionTime": STAMP,
}


def test_new_instance_becomes_pending() -> None:
    assert phase_of(build_vmi()) == ""
    assert to_tree(set_phase(build_vmi(), "Pending", STAMP)) == {
        "phase": "Pending",
        "conditions": [NOT_READY],
        "phaseTransitionTimestamps": [{"phase": "Pending", "phaseTransitionTimestamp": STAMP}],
    }


def test_unschedulable_instance_has_a_condition() -> None:
    vmi = build_vmi("Pending", "Scheduling")
    status = to_tree(set_phase(vmi, "Scheduling", STAMP, reason="Unschedulable", message="no room"))
    assert status["conditions"][1] == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "lastTransitionTime": STAMP,
    }
    assert [stamp["phase"] for stamp in status["phaseTransitionTimestamps"]] == ["Pending", "Scheduling"]


def test_running_instance_reports_its_size() -> None:
    domain = {"cpu": {"sockets": 2, "cores": 1, "threads": 1}, "memory": {"guest": "1Gi"}, "machine": {"type": "q35"}}
    vmi = build_vmi("Scheduled", conditions=[{"type": "PodScheduled", "status": "False"}], domain=domain)
    assert to_tree(set_phase(vmi, "Running", STAMP, node="n1")) == {
        "phase": "Running",
        "nodeName": "n1",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": STAMP}, NOT_MIGRATABLE],
        "migrationMethod": "LiveMigration",
        "phaseTransitionTimestamps": [
            {"phase": "Scheduled", "phaseTransitionTimestamp": EARLIER},
            {"phase": "Running", "phaseTransitionTimestamp": STAMP},
        ],
        "currentCPUTopology": {"sockets": 2, "cores": 1, "threads": 1},
        "memory": {"guestAtBoot": "1Gi", "guestRequested": "1Gi", "guestCurrent": "1Gi"},
        "machine": {"type": "q35"},
    }


def test_paused_instance_is_running_and_not_ready() -> None:
    status = set_guest_status(build_vmi("Running"), GuestStatus("paused"), STAMP)
    assert {one.type: one.status for one in status.conditions or ()} == {
        "Ready": "False",
        "Paused": "True",
        "LiveMigratable": "False",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [("Running", "Scheduling"), ("Scheduled", "Pending"), ("Succeeded", "Running"), ("Failed", "Succeeded")],
)
def test_instance_never_returns_to_an_earlier_phase(before: Phase, after: Phase) -> None:
    vmi = build_vmi(before)
    assert set_phase(vmi, after, STAMP) is vmi.status


@pytest.mark.parametrize("before", ["Unknown", "Dreaming"])
def test_unknown_instance_phase_is_replaced(before: str) -> None:
    assert set_phase(build_vmi("Scheduled", before), "Running", STAMP).phase == "Running"


@pytest.mark.parametrize("phase", get_args(Phase))
def test_setting_the_same_phase_again_changes_nothing(phase: Phase) -> None:
    vmi = build_vmi()
    vmi.status = set_phase(vmi, phase, EARLIER)
    assert set_phase(vmi, phase, STAMP) == vmi.status


GUESTS: dict[str, tuple[Phase, GuestStatus, JsonObject]] = {
    "paused by its user": ("Running", GuestStatus("paused"), {"Paused": ("True", "VMI was paused by user")}),
    "paused by a disk error": (
        "Running",
        GuestStatus("paused", "the disk is full", reason="IOError"),
        {"Paused": ("True", "the disk is full")},
    ),
    "with an agent": ("Running", GuestStatus("running", agent=True), {"AgentConnected": ("True", None)}),
    "refused": (
        "Scheduled",
        GuestStatus("refused", "spec.domain.launchSecurity: no SEV here", reason="NotPossibleHere"),
        {"Synchronized": ("False", "spec.domain.launchSecurity: no SEV here")},
    ),
    "waiting": ("Scheduled", GuestStatus("waiting", "no claim c1"), {"Synchronized": ("False", "no claim c1")}),
    "with substitutions": (
        "Running",
        GuestStatus("running", substitutions=("a: b", "c: d")),
        {"StandIn": ("True", "a: b; c: d")},
    ),
    "with open ports": ("Running", GuestStatus("running", ports=("a", "b")), {"PortsOpen": ("True", "a; b")}),
    "with ports of its pod": (
        "Running",
        GuestStatus("running", ports=("a",), pods={"p": "n1"}),
        {"PortsOpen": ("True", "a")},
    ),
    "with logins": ("Running", GuestStatus("running", logins=""), {"AccessCredentialsSynchronized": ("True", None)}),
    "without logins": (
        "Running",
        GuestStatus("running", logins="no user x"),
        {"AccessCredentialsSynchronized": ("False", "no user x")},
    ),
    "of another size": (
        "Running",
        GuestStatus("running", resize_error="no room"),
        {"RestartRequired": ("True", "no room")},
    ),
}


@pytest.mark.parametrize(("phase", "guest", "conditions"), GUESTS.values(), ids=GUESTS.keys())
def test_guest_status_is_reported_as_conditions(phase: Phase, guest: GuestStatus, conditions: JsonObject) -> None:
    vmi = build_vmi("Scheduled")
    vmi.status = set_guest_status(vmi, guest, STAMP)
    assert vmi.status.phase == phase
    reported = {one.type: (one.status, one.message) for one in vmi.status.conditions or ()}
    assert {name: value for name, value in reported.items() if name not in ("Ready", "LiveMigratable")} == conditions
    assert ("LiveMigratable" in reported) is (phase == "Running")
    later = set_guest_status(vmi, GuestStatus("running"), STAMP)
    assert {one.type for one in later.conditions or ()} == {"Ready", "LiveMigratable"}


ENDS = {
    "shut down": (GuestStatus("succeeded", "the guest has shut down"), "GuestShutDown", "the guest has shut down"),
    "failed": (GuestStatus("failed", "QEMU was killed by SIGKILL", "QemuKilled"), "QemuKilled", "QEMU was killed"),
    "failed without a reason": (GuestStatus("failed"), "Failed", "the guest has failed"),
}


@pytest.mark.parametrize(("guest", "reason", "message"), ENDS.values(), ids=ENDS.keys())
def test_ready_condition_of_a_finished_instance_has_the_reason_of_its_end(
    guest: GuestStatus, reason: str, message: str
) -> None:
    conditions = set_guest_status(build_vmi("Running"), guest, STAMP).conditions
    ready = find_condition(conditions, "Ready")
    assert ready is not None
    assert (ready.type, ready.status, ready.reason) == ("Ready", "False", reason)
    assert (ready.message or "").startswith(message)


def test_instance_reports_the_current_guest_size() -> None:
    domain = {"cpu": {"sockets": 2}, "memory": {"guest": "2Gi"}}
    vmi = build_vmi("Scheduled", domain={"cpu": {"sockets": 1}, "memory": {"guest": "1Gi"}})
    vmi.status = set_guest_status(vmi, GuestStatus("running"), STAMP)
    grown = build_vmi("Running", domain=domain)
    grown.status = vmi.status
    guest = GuestStatus("running", topology=CPUTopology(sockets=2), memory=Quantity("1536Mi"), machine="pc-q35-7.2")
    status = to_tree(set_guest_status(grown, guest, STAMP))
    assert status["currentCPUTopology"] == {"sockets": 2}
    assert status["memory"] == {"guestAtBoot": "1Gi", "guestRequested": "2Gi", "guestCurrent": "1536Mi"}
    assert status["machine"] == {"type": "pc-q35-7.2"}


@pytest.mark.parametrize(
    ("volumes", "method"),
    [
        ([], "LiveMigration"),
        (
            [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}, {"name": "e", "dataVolume": {"name": "e"}}],
            "LiveMigration",
        ),
        (
            [
                {"name": "d", "persistentVolumeClaim": {"claimName": "d"}},
                {"name": "e", "emptyDisk": {"capacity": "1Gi"}},
            ],
            "BlockMigration",
        ),
        ([{"name": "d", "containerDisk": {"image": "i"}}], "BlockMigration"),
    ],
    ids=["no disks", "claims", "a claim and an empty disk", "a container disk"],
)
def test_migration_method_depends_on_the_volumes(volumes: list[JsonObject], method: str) -> None:
    assert set_phase(build_vmi("Scheduled", volumes=volumes), "Running", STAMP).migration_method == method


def test_running_instance_reports_launcher_and_guest() -> None:
    status = set_guest_status(build_vmi("Scheduled"), GuestStatus("running", image="launcher:1", user=107), STAMP)
    assert (status.launcher_container_image_version, status.runtime_user) == ("launcher:1", 107)
    assert to_tree(status)["guestOSInfo"] == {}
    starting = set_guest_status(build_vmi("Scheduled"), GuestStatus("starting"), STAMP)
    assert (starting.guest_os_info, starting.migration_method, starting.runtime_user) == (None, None, None)


def test_running_guest_whose_qemu_does_not_respond_is_not_ready() -> None:
    guest = GuestStatus("running", unready="no answer", unresponsive="QEMU is stopped")
    status = set_guest_status(build_vmi("Scheduled"), guest, STAMP)
    ready = find_condition(status.conditions, "Ready")
    assert ready is not None
    assert (status.phase, ready.status, ready.reason, ready.message) == (
        "Running",
        "False",
        "GuestNotResponding",
        "QEMU is stopped",
    )
