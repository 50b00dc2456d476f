"""Status of guests, derived from their pods."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.instances import build_vmi
from tests.unit.controllers.pods.build import READY, RUNNING, build_pod, ended, waiting

from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import VirtualMachineInstanceNetworkInterface, VolumeStatus
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.build import GUEST_USER, build_launcher_pod
from virtshape.controllers.pods.status import add_report, read_missing_pod, read_pod
from virtshape.controllers.vmi.gueststatus import GuestStatus

EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
LOST = {"type": "Ready", "status": "False", "reason": "NodeLost", "message": "Kubelet stopped posting"}
TERMINATION_MESSAGE = '{"reason":"GuestPanicked","message":"the guest has panicked"}'
NEW = build_vmi("Pending")
UP = build_vmi("Pending", "Scheduled", "Running")

STATES: dict[str, tuple[Pod, VirtualMachineInstance, tuple[str, ...]]] = {
    "new": (build_pod(), NEW, ("placing", "", "", "")),
    "unschedulable": (build_pod(conditions=[UNSCHEDULABLE]), NEW, ("placing", "Unschedulable", "0/3 nodes", "")),
    "placed": (build_pod(node="n1", state=waiting("ContainerCreating")), NEW, ("starting", "", "", "")),
    "image pull failure": (
        build_pod(node="n1", state=waiting("ErrImagePull", "no such image")),
        NEW,
        ("waiting", "ErrImagePull", "no such image", ""),
    ),
    "starting": (build_pod("Running", node="n1", state=RUNNING), NEW, ("starting", "", "", "")),
    "running": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, conditions=[READY]),
        NEW,
        ("running", "", "", ""),
    ),
    "startup probe not passed": (
        build_pod("Running", node="n1", state=RUNNING, started=False),
        NEW,
        ("starting", "", "", ""),
    ),
    "started and not ready": (
        build_pod("Running", node="n1", state=RUNNING, started=True),
        NEW,
        ("running", "", "", "the guest's container is not ready"),
    ),
    "paused by a user": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, annotations={"virtshape.io/paused": "true"}),
        UP,
        ("paused", "PausedByUser", "", ""),
    ),
    "paused start": (
        build_pod("Running", node="n1", state=RUNNING, ready=True),
        build_vmi("Running", startStrategy="Paused"),
        ("paused", "PausedByUser", "", ""),
    ),
    "unpaused": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, annotations={"virtshape.io/paused": "false"}),
        build_vmi("Running", startStrategy="Paused"),
        ("running", "", "", ""),
    ),
    "no longer ready": (
        build_pod("Running", node="n1", state=RUNNING),
        UP,
        ("running", "", "", "the guest's container is not ready"),
    ),
    "unreachable node": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, conditions=[LOST]),
        UP,
        ("running", "", "", "node n1 does not respond"),
    ),
    "terminating": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, is_deleting=True),
        UP,
        ("running", "", "", "the guest's pod is being deleted"),
    ),
    "shut down": (
        build_pod("Succeeded", node="n1", state=ended(0)),
        UP,
        ("succeeded", "", "the guest has shut down", ""),
    ),
    "shut down after an eviction": (
        build_pod("Succeeded", node="n1", state=ended(0), conditions=[EVICTED]),
        UP,
        ("failed", "Evicted", "pod virt-launcher-vm1-1 was evicted: drained", ""),
    ),
    "shut down after a deletion": (
        build_pod("Succeeded", node="n1", state=ended(0), is_deleting=True),
        UP,
        ("failed", "PodDeleted", "pod virt-launcher-vm1-1 was deleted", ""),
    ),
    "failed with a termination message": (
        build_pod("Failed", node="n1", state=ended(1, message=TERMINATION_MESSAGE)),
        UP,
        ("failed", "GuestPanicked", "the guest has panicked", ""),
    ),
    "failed with plain text": (
        build_pod("Failed", node="n1", state=ended(1, message="exec: not found\n")),
        UP,
        ("failed", "Failed", "exec: not found", ""),
    ),
    "failed without a message": (
        build_pod("Failed", node="n1", state=ended(137, reason="Error")),
        UP,
        ("failed", "Error", "the launcher exited with status 137", ""),
    ),
    "out of memory": (
        build_pod("Failed", node="n1", state=ended(137, reason="OOMKilled", message=TERMINATION_MESSAGE)),
        UP,
        ("failed", "OOMKilled", "the guest's pod exceeded its memory limit and was killed", ""),
    ),
    "evicted": (
        build_pod("Failed", node="n1", reason="Evicted", message="The node was low on resource: memory."),
        UP,
        ("failed", "Evicted", "The node was low on resource: memory.", ""),
    ),
}


@pytest.mark.parametrize(("pod", "vmi", "reported"), STATES.values(), ids=STATES.keys())
def test_guest_status_is_derived_from_the_pod(pod: Pod, vmi: VirtualMachineInstance, reported: tuple[str, ...]) -> None:
    guest = read_pod(pod, vmi)
    assert (guest.state, guest.reason, guest.message, guest.unready) == reported
    assert guest.pods == {"p1": (pod.spec.node_name if pod.spec else None) or ""}


GONE: dict[str, tuple[Pod | None, tuple[str, str, str]]] = {
    "unseen": (None, ("failed", "PodLost", "the guest's pod no longer exists")),
    "deleted": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, is_deleting=True),
        ("failed", "PodDeleted", "pod virt-launcher-vm1-1 was deleted"),
    ),
    "force deleted": (
        build_pod("Running", node="n1", state=RUNNING, ready=True),
        ("failed", "PodDeleted", "pod virt-launcher-vm1-1 was deleted"),
    ),
    "evicted": (
        build_pod("Running", node="n1", state=RUNNING, ready=True, is_deleting=True, conditions=[EVICTED]),
        ("failed", "Evicted", "pod virt-launcher-vm1-1 was evicted: drained"),
    ),
    "failed before": (
        build_pod("Failed", node="n1", state=ended(137, reason="OOMKilled")),
        ("failed", "OOMKilled", "the guest's pod exceeded its memory limit and was killed"),
    ),
}


@pytest.mark.parametrize(("last", "reported"), GONE.values(), ids=GONE.keys())
def test_guest_without_its_pod_has_failed(last: Pod | None, reported: tuple[str, str, str]) -> None:
    guest = read_missing_pod(UP, last)
    assert (guest.state, guest.reason, guest.message, guest.pods) == (*reported, {})


ADDRESSES: dict[str, tuple[dict[str, Any], list[str] | None]] = {
    "both families": (
        {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}, {"ip": "fd00::3"}]},
        ["10.1.2.3", "fd00::3"],
    ),
    "one": ({"podIP": "10.1.2.3"}, ["10.1.2.3"]),
    "none yet": ({}, None),
}


@pytest.mark.parametrize(("status", "addresses"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_pod_network_interface_has_the_pod_addresses(status: JsonObject, addresses: list[str] | None) -> None:
    vmi = build_vmi(
        "Running",
        networks=[{"name": "default", "pod": {}}],
        domain={"devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
    )
    guest = read_pod(build_pod("Running", node="n1", state=RUNNING, ready=True, **status), vmi)
    assert [one.ip_addresses for one in guest.interfaces] == ([addresses] if addresses else [])


def test_guest_has_the_image_and_user_of_its_pod() -> None:
    vmi = build_vmi(domain={"memory": {"guest": "1Gi"}})
    guest = read_pod(build_launcher_pod(vmi, None, "registry/launcher@sha256:1"), vmi)
    assert (guest.image, guest.user) == ("registry/launcher@sha256:1", GUEST_USER)


def test_launcher_report_adds_details_but_does_not_replace_pod_addresses() -> None:
    nic = VirtualMachineInstanceNetworkInterface
    guest = GuestStatus(
        "running", interfaces=(nic(name="default", ip_address="10.1.2.3", ip_addresses=["10.1.2.3"]),), node="n1"
    )
    reported = GuestStatus(
        "running",
        machine="pc-q35-7.2",
        substitutions=("spec.domain.cpu: emulated",),
        interfaces=(
            nic(name="default", ip_address="10.0.2.15", interface_name="eth0", queue_count=1),
            nic(interface_name="docker0"),
        ),
        volumes=(VolumeStatus("root", "vda"),),
        ports=("tcp 80 of default is 10.1.2.3:80",),
        agent=True,
        logins="",
        node="elsewhere",
    )
    combined = add_report(guest, reported)
    assert combined == replace(
        reported,
        interfaces=(
            nic(
                name="default",
                interface_name="eth0",
                queue_count=1,
                ip_address="10.1.2.3",
                ip_addresses=["10.1.2.3"],
            ),
            nic(interface_name="docker0"),
        ),
        node="n1",
    )


def test_unready_guest_is_explained_by_its_launcher() -> None:
    guest = GuestStatus("running", unready="the guest's container is not ready")
    assert add_report(guest, GuestStatus("running", unready="port 80: refused")).unready == "port 80: refused"
    assert add_report(guest, GuestStatus("running")).unready == "the guest's container is not ready"
    assert add_report(GuestStatus("running"), GuestStatus("running", unready="outdated")).unready == ""
