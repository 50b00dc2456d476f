"""
A real control plane as the backend of controller tests, in place of the standalone server.

The controllers run in the test process with simulated guests. The cluster does the rest, such as garbage collection.
Each test starts with an empty cluster.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tests.cluster.components.installation import SYSTEM, Installation
from tests.cluster.components.kubelet import run_fake_kubelet
from tests.cluster.components.nodes import NODE, run_fake_nodes
from tests.support.controllers import ControlledSystem, WrapClient
from tests.support.controlplane import ControlPlane
from tests.support.podscenarios import run_pod_controllers

from virtshape.api.codec import from_tree
from virtshape.api.core.node import Node
from virtshape.api.core.persistentvolume import PersistentVolume, VolumeNodeAffinity
from virtshape.api.model import JsonObject, Model
from virtshape.api.storage import StorageClass
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.protocol import Client
from virtshape.client.rest import RestClient
from virtshape.controllers.manager import Controllers
from virtshape.controllers.storage.protocol import Storage
from virtshape.controllers.vmi.launcher import SimulatedLauncher
from virtshape.controllers.vmi.nodefit import NO_LAUNCHER
from virtshape.standalone.guestruntimes import LauncherName
from virtshape.standalone.storage.layout import PROVISIONER
from virtshape.standalone.storage.local import open_storage
from virtshape.supervise.supervisor import Supervisor

T = TypeVar("T", bound=Model)
TIMEOUT = 240.0
NAMESPACE = "default"
LEFT = (
    f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines",
    f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances",
    f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datavolumes",
    f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datasources",
    f"/api/v1/namespaces/{NAMESPACE}/pods",
    f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions",
    f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    f"/apis/instancetype.kubevirt.io/v1beta2/namespaces/{NAMESPACE}/virtualmachineinstancetypes",
    f"/apis/instancetype.kubevirt.io/v1beta2/namespaces/{NAMESPACE}/virtualmachinepreferences",
    "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterinstancetypes",
    "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterpreferences",
    "/apis/flavor.kubevirt.io/v1alpha1/virtualmachineclusterflavors",
    "/apis/flavor.kubevirt.io/v1alpha1/virtualmachineclusterflavorpreferences",
    "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts",
)
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
STORAGE_CLASS: JsonObject = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": PROVISIONER,
}
ANYWHERE: JsonObject = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}
MERGE = {"Content-Type": "application/merge-patch+json"}


class NodeAffinityClient:
    """A client that adds node affinity to volumes, because a cluster rejects local volumes without it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def create(self, item: T, **options: Any) -> T:
        if isinstance(item, PersistentVolume) and item.spec is not None:
            item.spec.node_affinity = from_tree({"required": {"nodeSelectorTerms": [ANYWHERE]}}, VolumeNodeAffinity)
        return await self._client.create(item, **options)


class ClusterSystem(ControlledSystem):
    """A control plane and a client for its default namespace."""

    def __init__(
        self, plane: ControlPlane, client: RestClient, directory: Path, connect: Callable[[], RestClient]
    ) -> None:
        super().__init__(None, client, directory)
        self._plane = plane
        self._connect = connect

    def connect_as_system(self) -> RestClient:
        """Return a client with the identity of the controllers."""
        return self._connect()

    @contextlib.asynccontextmanager
    async def run_controllers(
        self, launcher: LauncherName = "simulate", *, wrap: WrapClient = lambda client: client
    ) -> AsyncIterator[Controllers]:
        """Run the controllers; `wrap` may replace their client."""
        client, supervisor = wrap(self.connect_as_system()), Supervisor()
        async with contextlib.AsyncExitStack() as stack:
            if launcher == "simulate":
                controllers = Controllers(client, SimulatedLauncher(), supervisor=supervisor)
            else:
                storage = await stack.enter_async_context(self._open_storage())
                controllers = Controllers(
                    NodeAffinityClient(client), supervisor=supervisor, storage=storage, no_launcher_reason=NO_LAUNCHER
                )
            await stack.enter_async_context(controllers.running())
            yield controllers

    @contextlib.asynccontextmanager
    async def run_controllers_with_guests(self) -> AsyncIterator[Controllers]:
        """Run the controllers with guests in pods on a fake node."""
        async with run_fake_kubelet() as (_, status):
            with run_fake_nodes(self._plane):
                await self.client.patch(Node, NODE, patch={"status": status}, subresource="status")
                async with run_pod_controllers(self.connect_as_system()) as controllers:
                    yield controllers

    @contextlib.asynccontextmanager
    async def _open_storage(self) -> AsyncIterator[Storage]:
        """Provide the storage and the default storage class of the standalone server."""
        assert self.directory is not None
        await self.create(STORAGE_CLASS)
        try:
            async with open_storage(self.directory, Supervisor()) as storage:
                yield storage
        finally:
            await self.client.delete(StorageClass, STORAGE_CLASS["metadata"]["name"])


@contextlib.asynccontextmanager
async def open_cluster_system(installation: Installation, directory: Path) -> AsyncIterator[ClusterSystem]:
    """Yield the control plane of an installation, emptied and without running controllers."""
    plane = installation.plane
    clean(plane)
    account = plane.write_kubeconfig(f"system:serviceaccount:{SYSTEM}:virtshape-controller", "system:masters")
    clients: list[RestClient] = []

    def connect(kubeconfig: Path = account, manager: str = "virt-controller") -> RestClient:
        clients.append(RestClient(HttpTransport(get_access(path=str(kubeconfig))), manager=manager))
        return clients[-1]

    try:
        yield ClusterSystem(plane, connect(plane.kubeconfig, "tester"), directory, connect)
    finally:
        for client in clients:
            await client.close()


def clean(plane: ControlPlane) -> None:
    """Delete all objects of earlier tests, and remove their finalizers."""
    deadline = time.monotonic() + TIMEOUT
    plane.request("DELETE", "/api/v1/namespaces/team")
    while left := [one for path in LEFT for one in _clear(plane, path)] + list(_clear_namespace(plane)):
        assert time.monotonic() < deadline, f"objects were not deleted: {left}"
        time.sleep(0.05)
    plane.request("DELETE", EVENTS)


def _clear(plane: ControlPlane, path: str) -> Iterator[str]:
    """Delete all objects at a path and remove their finalizers; yield the path of each object that was found."""
    code, listing = plane.request("GET", path)
    if code == 429:  # new kinds are not served immediately
        yield path
        return
    assert code == 200, listing
    if listing["items"]:
        plane.request("DELETE", path, {"propagationPolicy": "Background", "gracePeriodSeconds": 0})
    for item in listing["items"]:
        if item["metadata"].get("finalizers"):
            plane.request("PATCH", f"{path}/{item['metadata']['name']}", {"metadata": {"finalizers": None}}, **MERGE)
        yield f"{path}/{item['metadata']['name']}"


def _clear_namespace(plane: ControlPlane) -> Iterator[str]:
    """Delete the VMs and instances in the namespace `team`; yield the path of each one found, then `team`."""
    if plane.request("GET", "/api/v1/namespaces/team")[0] != 404:
        for resource in ("virtualmachines", "virtualmachineinstances"):
            yield from _clear(plane, f"/apis/kubevirt.io/v1/namespaces/team/{resource}")
        yield "team"
