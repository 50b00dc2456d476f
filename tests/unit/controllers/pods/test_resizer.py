"""Resizing guests in pods: the pod is resized first, then the guest; a failure is reported with its reason."""

from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import encode, from_tree
from virtshape.api.core.container import ResourceRequirements
from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import INSTANCE_VARIABLE
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.controllers.pods.resize import ResizeProgress, build_resize_patch, read_resize_progress
from virtshape.controllers.pods.resizer import NODE_SECONDS, PodResizer
from virtshape.controllers.pods.status import find_made_spec
from virtshape.controllers.vmi.gueststatus import GuestStatus

GIBIBYTE = 1024**3
SMALL = {"cpu": "100m", "memory": "1Gi"}
LARGE = {"cpu": "300m", "memory": "2Gi"}
RUNNING = GuestStatus("running")
INFEASIBLE = {
    "type": "PodResizePending",
    "status": "True",
    "reason": "Infeasible",
    "message": "Node didn't have enough capacity: memory",
    "observedGeneration": 2,
}
RESTART = "; restart the VM to apply its new size"


def build_instance(sockets: int, memory: str, resources: JsonObject | None = None) -> VirtualMachineInstance:
    domain = {"cpu": {"sockets": sockets}, "memory": {"guest": memory}, "resources": resources}
    return build_vmi("Running", domain=domain)


def require(requests: dict[str, str], limits: dict[str, str] | None = None) -> ResourceRequirements:
    return from_tree({"requests": requests, "limits": limits}, ResourceRequirements)


def build_pod(
    requests: dict[str, str], applied: dict[str, str] | None = None, *, conditions: tuple[JsonObject, ...] = ()
) -> Pod:
    """Build the pod of a guest that started with one vCPU and 1Gi; its status has `applied`, by default `requests`."""
    made = encode(build_instance(1, "1Gi")).decode()
    container = {"name": "compute", "env": [{"name": INSTANCE_VARIABLE, "value": made}]}
    status = {"name": "compute", "image": "i", "imageID": "", "restartCount": 0, "ready": True}
    status["resources"] = {"requests": applied or requests}
    tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "virt-launcher-vm1-1", "namespace": "default", "uid": "p1", "generation": 2},
        "spec": {"nodeName": "n1", "containers": [{**container, "resources": {"requests": requests}}]},
        "status": {"phase": "Running", "conditions": list(conditions), "containerStatuses": [status]},
    }
    return from_tree(tree, Pod)


class Cluster:
    """A fake cluster that records pod patches and resize requests, and fails them with `error` or `refusal` if set."""

    def __init__(self, error: StatusError | None = None, refusal: str | StatusError = "") -> None:
        self.error = error
        self.refusal = refusal
        self.patches: list[tuple[str, JsonObject]] = []
        self.requests: list[tuple[int, int]] = []
        self.now = 0.0
        self.resizer = PodResizer(self, self.resize_guest, lambda: self.now)  # type: ignore[arg-type]  # only patches

    async def patch(self, _kind: type[Pod], _name: str, _namespace: str, **options: Any) -> None:
        self.patches.append((options["subresource"], options["patch"]))
        if self.error is not None:
            raise self.error

    async def resize_guest(self, _pod: Pod, *, vcpus: int, memory: int) -> str:
        self.requests.append((vcpus, memory))
        if isinstance(self.refusal, StatusError):
            raise self.refusal
        return self.refusal

    async def sync(self, vmi: VirtualMachineInstance, pod: Pod) -> GuestStatus:
        made = find_made_spec(pod)
        assert made is not None

        async def build_resources() -> ResourceRequirements:
            return require(LARGE)

        return await self.resizer.sync(RUNNING, vmi, pod, made, build_resources)


async def test_guest_with_the_size_of_its_instance_is_not_resized() -> None:
    cluster = Cluster()
    guest = await cluster.sync(build_instance(1, "1Gi"), build_pod(SMALL))
    assert (guest.topology, guest.memory, guest.is_settled) == (CPUTopology(sockets=1), Quantity("1Gi"), True)
    assert (cluster.patches, cluster.requests) == ([], [])


async def test_pod_is_resized_before_its_guest() -> None:
    cluster, vmi = Cluster(), build_instance(3, "2Gi")
    guest = await cluster.sync(vmi, build_pod(SMALL))
    change = {"spec": {"containers": [{"name": "compute", "resources": {"requests": LARGE}}]}}
    assert (cluster.patches, cluster.requests) == ([("resize", change)], [])
    waiting = await cluster.sync(vmi, build_pod(LARGE, SMALL))
    assert guest == waiting == GuestStatus("running", is_settled=False)
    assert cluster.requests == []
    done = await cluster.sync(vmi, build_pod(LARGE))
    assert cluster.requests == [(3, 2 * GIBIBYTE)]
    assert done == GuestStatus("running", topology=CPUTopology(sockets=3), memory=Quantity("2Gi"))
    assert await cluster.sync(vmi, build_pod(LARGE)) == done
    assert (len(cluster.patches), len(cluster.requests)) == (1, 1)


async def test_only_the_changed_part_of_the_size_is_requested() -> None:
    cluster = Cluster()
    await cluster.sync(build_instance(3, "1Gi"), build_pod(LARGE))
    await cluster.sync(build_instance(3, "2Gi"), build_pod(LARGE))
    assert cluster.requests == [(3, 0), (0, 2 * GIBIBYTE)]


async def test_changed_resource_requests_resize_only_the_pod() -> None:
    cluster, vmi = Cluster(), build_instance(1, "1Gi", {"requests": {"cpu": "300m"}})
    assert await cluster.sync(vmi, build_pod(SMALL)) == GuestStatus("running", is_settled=False)
    done = await cluster.sync(vmi, build_pod(LARGE))
    assert done == GuestStatus("running", topology=CPUTopology(sockets=1), memory=Quantity("1Gi"))
    assert (len(cluster.patches), cluster.requests) == (1, [])


ERRORS = {
    "old cluster": (
        StatusError(404, "NotFound", "the server could not find the requested resource"),
        "the API server cannot resize pods, which needs Kubernetes 1.33 or newer",
    ),
    "quota": (
        StatusError(403, "Forbidden", "exceeded quota: small"),
        "the pod cannot be resized: exceeded quota: small",
    ),
}


@pytest.mark.parametrize(("error", "reason"), ERRORS.values(), ids=ERRORS.keys())
async def test_refused_pod_resize_is_reported_and_retried(error: StatusError, reason: str) -> None:
    cluster, vmi = Cluster(error), build_instance(3, "1Gi")
    expected = GuestStatus("running", resize_error=reason + RESTART, is_settled=False)
    assert await cluster.sync(vmi, build_pod(SMALL)) == expected
    cluster.error = None
    assert (await cluster.sync(vmi, build_pod(SMALL))).resize_error == ""
    assert (len(cluster.patches), cluster.requests) == (2, [])


async def test_infeasible_pod_resize_is_reported_with_the_condition_message() -> None:
    cluster = Cluster()
    guest = await cluster.sync(build_instance(3, "1Gi"), build_pod(LARGE, SMALL, conditions=(INFEASIBLE,)))
    assert guest.resize_error == f"Infeasible: Node didn't have enough capacity: memory{RESTART}"
    assert cluster.requests == []


async def test_node_that_does_not_resize_a_pod_is_reported_after_a_minute() -> None:
    cluster, vmi, pod = Cluster(), build_instance(3, "1Gi"), build_pod(LARGE, SMALL)
    assert (await cluster.sync(vmi, pod)).resize_error == ""
    cluster.now = NODE_SECONDS
    assert (await cluster.sync(vmi, pod)).resize_error == f"node n1 has not resized the pod within 60 seconds{RESTART}"


async def test_size_refused_by_the_launcher_is_not_requested_again() -> None:
    cluster, vmi = Cluster(refusal="no room"), build_instance(3, "1Gi")
    for _ in range(2):
        assert (await cluster.sync(vmi, build_pod(LARGE))).resize_error == f"no room{RESTART}"
    assert cluster.requests == [(3, 0)]
    cluster.refusal = ""
    assert (await cluster.sync(build_instance(2, "1Gi"), build_pod(LARGE))).topology == CPUTopology(sockets=2)


async def test_failed_resize_request_to_the_launcher_is_retried() -> None:
    cluster, vmi = Cluster(refusal=StatusError(500, "InternalError", "no such container")), build_instance(3, "1Gi")
    guest = await cluster.sync(vmi, build_pod(LARGE))
    assert guest.resize_error == f"the request to resize the guest failed: no such container{RESTART}"
    cluster.refusal = ""
    assert (await cluster.sync(vmi, build_pod(LARGE))).topology == CPUTopology(sockets=3)


def test_only_cpu_and_memory_are_patched() -> None:
    wanted = require({**LARGE, "ephemeral-storage": "50M"}, {"memory": "3Gi", "devices.kubevirt.io/kvm": "1"})
    resources = {"requests": LARGE, "limits": {"memory": "3Gi"}}
    patch = build_resize_patch(build_pod(SMALL), wanted)
    assert patch == {"spec": {"containers": [{"name": "compute", "resources": resources}]}}


def test_equal_quantities_in_another_notation_are_not_patched() -> None:
    assert build_resize_patch(build_pod({"cpu": "0.3", "memory": "2048Mi"}), require(LARGE)) is None


CONDITIONS: dict[str, tuple[JsonObject, ResizeProgress]] = {
    "of an earlier spec": ({**INFEASIBLE, "observedGeneration": 1}, ResizeProgress(is_done=False)),
    "in progress": (
        {"type": "PodResizeInProgress", "status": "True", "observedGeneration": 2},
        ResizeProgress(is_done=False),
    ),
    "failed": (
        {
            "type": "PodResizeInProgress",
            "status": "True",
            "reason": "Error",
            "message": "runc failed",
            "observedGeneration": 2,
        },
        ResizeProgress(is_done=False, problem="runc failed"),
    ),
}


@pytest.mark.parametrize(("condition", "progress"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_resize_progress_is_read_from_the_pod_conditions(condition: JsonObject, progress: ResizeProgress) -> None:
    assert read_resize_progress(build_pod(LARGE, SMALL, conditions=(condition,)), require(LARGE)) == progress
