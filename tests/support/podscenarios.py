"""
Scenarios of guests in pods that run on any API server: a real one, or ours in this process.

The test acts as kubelet and scheduler: it binds pods and writes their status.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from msgspec.structs import replace
from tests.support.controllers import instancetype_tree, preference_tree, vm_tree
from tests.support.objects import object_from_tree
from tests.support.waiting import NamespaceObjects, eventually

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.podspec import Pod
from virtshape.api.core.podstatus import PodStatus
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import VirtualMachineInstanceGuestOSInfo
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.launcherpod import CLAIM_SIZES_VARIABLE, parse_claim_sizes
from virtshape.api.model import JsonObject, Model
from virtshape.api.ownerreferences import is_controlled_by
from virtshape.api.status import StatusError
from virtshape.client.informer import Informers
from virtshape.client.rest import RestClient
from virtshape.controllers.manager import Controllers, make_informers
from virtshape.controllers.pods.build import GUEST_USER
from virtshape.controllers.pods.launcher import PodLauncher
from virtshape.supervise.supervisor import Supervisor

T = TypeVar("T", bound=Model)
R = TypeVar("R")
IMAGE = "launcher:1"
NODE = "n1"
LABELS = "kubevirt.io=virt-launcher"


class PodDriver(NamespaceObjects):
    """Acts as scheduler and kubelet in one namespace."""

    async def prepare(self) -> None:
        """Create a node and the objects that VMs refer to."""
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        for tree in (instancetype_tree(), preference_tree(), node):
            with suppress(StatusError):
                await self.client.create(object_from_tree(tree))

    async def create_vm(self, name: str = "vm1", **spec: Any) -> None:
        """Create a VM."""
        tree = vm_tree(name, **spec)
        tree["metadata"]["namespace"] = self.namespace
        await self.client.create(object_from_tree(tree))

    async def list_pods(self, labels: str = LABELS) -> list[Pod]:
        """Return all guest pods."""
        return list((await self.client.list(Pod, self.namespace, labels=labels)).items)

    async def wait_for_pod(self, *, unlike: Pod | None = None) -> Pod:
        """Wait until exactly one pod other than `unlike` exists, and return it."""

        async def probe() -> Pod | None:
            pods = [pod for pod in await self.list_pods() if unlike is None or _uid(pod) != _uid(unlike)]
            return pods[0] if len(pods) == 1 else None

        return await eventually(probe, "there is not exactly one pod")

    async def wait_for_phase(self, phase: str, name: str = "vm1", *, unlike: str = "") -> VirtualMachineInstance:
        """Wait until an instance with a uid other than `unlike` is in this phase, and return it."""

        async def probe() -> VirtualMachineInstance | None:
            vmi = await self.find(VirtualMachineInstance, name)
            is_meant = vmi is not None and vmi.status is not None and vmi.status.phase == phase and _uid(vmi) != unlike
            return vmi if is_meant else None

        return await eventually(probe, f"no instance {name} is {phase}")

    async def bind(self, pod: Pod) -> Pod:
        """Bind a pod to the node, as a scheduler does."""
        name = pod.metadata.name or ""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": self.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
        }
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/binding"
        try:
            await self.client.request("POST", path, json.dumps(binding).encode())
        except StatusError as error:  # our server has no binding subresource and accepts the node name in an update
            if error.code not in (404, 405):
                raise
            current = await self.client.get(Pod, name, self.namespace)
            assert current.spec is not None
            await self.client.update(replace(current, spec=replace(current.spec, node_name=NODE)))
        return await self.client.get(Pod, name, self.namespace)

    async def set_pod_status(
        self, pod: Pod, phase: str, state: JsonObject | None = None, *, ready: bool = False, **more: Any
    ) -> Pod:
        """Write the status of a pod, as a kubelet does."""
        current = await self.client.get(Pod, pod.metadata.name or "", self.namespace)
        container = {
            "name": "compute",
            "image": IMAGE,
            "imageID": "",
            "restartCount": 0,
            "ready": ready,
            "state": state,
        }
        status = {
            **(to_tree(current.status) if current.status else {}),
            "phase": phase,
            "containerStatuses": [container] if state is not None else None,
            **more,
        }
        return await self.client.update_status(replace(current, status=from_tree(status, PodStatus)))

    async def run_guest(self, pod: Pod) -> Pod:
        """Bind a pod and report its guest as running."""
        pod = await self.bind(pod)
        running = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
        return await self.set_pod_status(
            pod, "Running", running, ready=True, podIP="10.1.2.3", podIPs=[{"ip": "10.1.2.3"}]
        )

    async def end_guest(self, pod: Pod, phase: str, code: int, **more: Any) -> None:
        """Report that a pod has terminated."""
        await self.set_pod_status(pod, phase, {"terminated": {"exitCode": code, **more}})

    async def finish_deletion(self, pod: Pod) -> None:
        """Remove a pod whose deletion was requested, as a kubelet does."""
        name, uid = pod.metadata.name or "", pod.metadata.uid or ""

        async def probe() -> bool | None:
            found = await self.find(Pod, name)
            if found is None or _uid(found) != uid:
                return True
            if found.metadata.deletion_timestamp is None:
                return None
            with suppress(StatusError):
                await self.client.delete(Pod, name, self.namespace, uid=uid, grace_seconds=0)
            return True

        await eventually(probe, f"the deletion of pod {name} was not requested")


@asynccontextmanager
async def run_pod_controllers(client: RestClient) -> Any:
    """Run the controllers of a cluster with this client."""
    informers: Informers = make_informers(client)
    launcher = PodLauncher(client, informers, IMAGE)
    controllers = Controllers(client, launcher, supervisor=Supervisor(), informers=informers, on_cluster=True)
    async with controllers.running():
        yield controllers


def _uid(item: Model) -> str:
    metadata = getattr(item, "metadata", None)
    return (metadata.uid if metadata is not None else None) or ""


def _condition(vmi: VirtualMachineInstance, name: str) -> tuple[str, str | None, str | None] | None:
    found = [one for one in (vmi.status.conditions if vmi.status else None) or () if one.type == name]
    return (found[0].status, found[0].reason, found[0].message) if found else None


def check_instance_status(vmi: VirtualMachineInstance, pod: Pod) -> None:
    """Check that a guest in a pod has the status in the last example of the design document for flavors."""
    annotations, status = vmi.metadata.annotations or {}, vmi.status
    assert annotations["kubevirt.io/latest-observed-api-version"] == "v1"
    assert annotations["kubevirt.io/storage-observed-api-version"] == "v1"
    assert status is not None
    assert pod.spec is not None
    assert status.launcher_container_image_version == pod.spec.containers[0].image
    assert status.runtime_user == GUEST_USER
    assert status.migration_method == "LiveMigration"
    assert status.migration_transport is None  # live migration is not supported
    assert status.guest_os_info == VirtualMachineInstanceGuestOSInfo()
    assert [one.phase for one in status.phase_transition_timestamps or ()] == [
        *("Pending", "Scheduling", "Scheduled", "Running"),
    ]
    assert (_condition(vmi, "LiveMigratable") or ())[:2] == ("False", "NotMigratable")
    assert (status.virtual_machine_revision_name or "").startswith("revision-start-vm-")


async def start_and_stop(driver: PodDriver) -> None:
    """Check that a started VM gets an instance, a pod and a running guest, and that stopping it removes them."""
    await driver.create_vm()
    pod = await driver.wait_for_pod()
    vmi = await driver.wait_for_phase("Scheduling")
    assert vmi.status is not None
    assert vmi.status.active_pods == {_uid(pod): ""}
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes fit"}
    await driver.set_pod_status(pod, "Pending", conditions=[unschedulable])
    await driver.wait_for("ErrorUnschedulable")
    pod = await driver.run_guest(pod)
    vmi = await driver.wait_for_phase("Running")
    assert vmi.status is not None
    assert (vmi.status.node_name, vmi.status.active_pods) == (NODE, {_uid(pod): NODE})
    assert [one.ip_address for one in vmi.status.interfaces or ()] == ["10.1.2.3"]
    assert _condition(vmi, "Ready") == ("True", None, None)
    check_instance_status(vmi, pod)
    vm = await driver.wait_for("Running")
    assert vm.status is not None
    assert vm.status.ready is True
    await driver.client.patch(VirtualMachine, "vm1", driver.namespace, patch={"spec": {"runStrategy": "Halted"}})
    await driver.finish_deletion(pod)
    await driver.wait_until_gone(VirtualMachineInstance)
    await driver.wait_for("Stopped")
    assert await driver.list_pods() == []


async def replace_failed_pod(driver: PodDriver) -> None:
    """Check that a guest that ran out of memory fails, and that a VM with `Always` starts a new one."""
    await driver.create_vm()
    pod = await driver.run_guest(await driver.wait_for_pod())
    first = await driver.wait_for_phase("Running")
    await driver.end_guest(pod, "Failed", 137, reason="OOMKilled")
    await driver.finish_deletion(pod)
    second = await driver.wait_for_pod(unlike=pod)
    await driver.run_guest(second)
    await driver.wait_for_phase("Running", unlike=_uid(first))
    assert len(await driver.list_pods()) == 1


async def fail_deleted_pod(driver: PodDriver) -> None:
    """Check that the instance of a deleted pod fails and never gets another pod."""
    await driver.create_vm(runStrategy="Once")
    pod = await driver.run_guest(await driver.wait_for_pod())
    await driver.wait_for_phase("Running")
    await driver.client.delete(Pod, pod.metadata.name or "", driver.namespace, grace_seconds=0)
    vmi = await driver.wait_for_phase("Failed")
    assert vmi.status is not None
    assert vmi.status.reason == "PodDeleted"
    await driver.wait_for("Stopped")
    await asyncio.sleep(0.3)
    assert await driver.list_pods() == []


async def rerun_on_failure(driver: PodDriver) -> None:
    """Check that `RerunOnFailure` restarts a failed guest, but not a succeeded one."""
    await driver.create_vm(runStrategy="RerunOnFailure")
    pod = await driver.run_guest(await driver.wait_for_pod())
    await driver.wait_for_phase("Running")
    await driver.end_guest(pod, "Failed", 1, message='{"reason":"GuestPanicked","message":"the guest has panicked"}')
    await driver.finish_deletion(pod)
    again = await driver.run_guest(await driver.wait_for_pod(unlike=pod))
    await driver.wait_for_phase("Running")
    await driver.end_guest(again, "Succeeded", 0)
    await driver.finish_deletion(again)
    await driver.wait_until_gone(VirtualMachineInstance)
    await driver.wait_for("Stopped")


async def lose_node(driver: PodDriver) -> None:
    """Check that a guest on an unreachable node is not started elsewhere until its pod is deleted."""
    await driver.create_vm()
    pod = await driver.run_guest(await driver.wait_for_pod())
    first = await driver.wait_for_phase("Running")
    running = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
    lost = {"type": "Ready", "status": "False", "reason": "NodeLost"}
    await driver.set_pod_status(pod, "Running", running, ready=True, conditions=[lost])

    async def probe() -> bool | None:
        vmi = await driver.find(VirtualMachineInstance)
        condition = _condition(vmi, "Ready") if vmi is not None else None
        return True if condition == ("False", "GuestNotReachable", f"node {NODE} does not respond") else None

    await eventually(probe, "the unreachable node is not reported")
    await asyncio.sleep(0.3)
    assert [_uid(one) for one in await driver.list_pods()] == [_uid(pod)]
    await driver.client.delete(Pod, pod.metadata.name or "", driver.namespace, grace_seconds=0)
    await driver.run_guest(await driver.wait_for_pod(unlike=pod))
    await driver.wait_for_phase("Running", unlike=_uid(first))


async def pause_and_unpause(driver: PodDriver) -> None:
    """Check that a guest is reported as paused while its pod has the annotation for paused guests."""
    await driver.create_vm()
    pod = await driver.run_guest(await driver.wait_for_pod())
    await driver.wait_for_phase("Running")
    name = pod.metadata.name or ""
    for value, status in (("true", "Paused"), ("false", "Running")):
        patch = {"metadata": {"annotations": {"virtshape.io/paused": value}}}
        await driver.client.patch(Pod, name, driver.namespace, patch=patch)
        await driver.wait_for(status)


async def delete_vm(driver: PodDriver) -> None:
    """Check that deleting a VM deletes its guest first."""
    await driver.create_vm()
    pod = await driver.run_guest(await driver.wait_for_pod())
    await driver.wait_for_phase("Running")
    await driver.client.delete(VirtualMachine, "vm1", driver.namespace)
    await driver.finish_deletion(pod)
    for kind in (VirtualMachineInstance, VirtualMachine):
        await driver.wait_until_gone(kind)


async def refuse_unsupported(driver: PodDriver) -> None:
    """Check that an unsupported feature is reported and no pod is created."""
    devices = {"devices": {"interfaces": [{"name": "lan", "bridge": {}}]}}
    networks = [{"name": "lan", "multus": {"networkName": "lan"}}]
    await driver.create_vm(template={"domain": devices, "networks": networks})

    async def probe() -> bool | None:
        vmi = await driver.find(VirtualMachineInstance)
        condition = _condition(vmi, "Synchronized") if vmi is not None else None
        return True if condition is not None and condition[1] == "NotPossibleHere" else None

    await eventually(probe, "the unsupported feature is not reported")
    assert await driver.list_pods() == []


async def keep_persistent_state(driver: PodDriver) -> None:
    """Check that TPM and firmware state have a separate claim, which the next pod uses too."""
    await driver.create_vm(template={"domain": {"devices": {"tpm": {"persistent": True}}}})
    pod = await driver.run_guest(await driver.wait_for_pod())
    first = await driver.wait_for_phase("Running")
    (name,) = _list_claims(pod)
    claim, vm = await driver.find(PersistentVolumeClaim, name), await driver.find(VirtualMachine)
    assert claim is not None
    assert vm is not None
    assert is_controlled_by(claim.metadata, vm)
    await driver.end_guest(pod, "Failed", 137, reason="OOMKilled")
    await driver.finish_deletion(pod)
    second = await driver.run_guest(await driver.wait_for_pod(unlike=pod))
    await driver.wait_for_phase("Running", unlike=_uid(first))
    assert _list_claims(second) == [name]
    again = await driver.find(PersistentVolumeClaim, name)
    assert again is not None
    assert _uid(again) == _uid(claim)


async def size_claim(driver: PodDriver) -> None:
    """Check that an instance waits for its claim, and that its pod states the size of the claim."""
    claim = {"persistentVolumeClaim": {"claimName": "data"}}
    await driver.create_vm(template={"volumes": [{"name": "disk", **claim}]})
    await driver.wait_for("ErrorPvcNotFound")
    assert await driver.list_pods() == []
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    about = {"name": "data", "namespace": driver.namespace}
    tree = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about, "spec": spec}
    await driver.client.create(object_from_tree(tree))
    pod = await driver.wait_for_pod()
    assert pod.spec is not None
    variables = {one.name: one.value for one in pod.spec.containers[0].env or ()}
    assert parse_claim_sizes(variables[CLAIM_SIZES_VARIABLE] or "") == {"disk": 1024**3}


def _list_claims(pod: Pod) -> list[str]:
    assert pod.spec is not None
    volumes = [one.persistent_volume_claim for one in pod.spec.volumes or ()]
    return [one.claim_name for one in volumes if one is not None]


SCENARIOS: dict[str, Callable[[PodDriver], Awaitable[None]]] = {
    "start and stop": start_and_stop,
    "failed pod": replace_failed_pod,
    "deleted pod": fail_deleted_pod,
    "rerun on failure": rerun_on_failure,
    "lost node": lose_node,
    "pause": pause_and_unpause,
    "VM deletion": delete_vm,
    "unsupported feature": refuse_unsupported,
    "persistent state": keep_persistent_state,
    "claim": size_claim,
}
