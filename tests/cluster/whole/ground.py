"""
A real control plane as the ground that tests of controllers stand on, in place of our own server.

The controllers run in the test's process, as on our own server, with guests that are played; what a cluster does by
itself, such as collecting garbage, is left to it. Each test finds the ground empty.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cluster.components.site import SYSTEM, Site
from tests.cluster.plane import Plane
from tests.controlled import Mortal, Place

from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import find_access
from virtshape.client.protocol import Client
from virtshape.client.rest import RestClient
from virtshape.control.controllers import Controllers
from virtshape.control.fit import NO_LAUNCHER
from virtshape.control.launcher import SimulatedLauncher
from virtshape.serve.runtime import LauncherName

PATIENCE = 60.0
NAMESPACE = "default"
LEFT = (
    f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines",
    f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances",
    f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datavolumes",
    f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datasources",
    f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims",
    f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions",
    f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    f"/apis/instancetype.kubevirt.io/v1beta2/namespaces/{NAMESPACE}/virtualmachineinstancetypes",
    "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterinstancetypes",
    "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterpreferences",
    "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts",
)
MERGE = {"Content-Type": "application/merge-patch+json"}


class ClusterPlace(Place):
    """A plane, asked through one client, in its default namespace."""

    def __init__(self, client: RestClient, connect: Callable[[], RestClient]) -> None:
        super().__init__(None, client)
        self._connect = connect

    def connect_as_system(self) -> RestClient:
        """A client with the controllers' own name."""
        return self._connect()

    def controlling(self, launcher: LauncherName = "simulate") -> Any:
        """The controllers at work."""
        return self._run(self.connect_as_system(), launcher)

    @contextlib.asynccontextmanager
    async def controlling_until(self, writes: int, *, late: bool) -> AsyncIterator[Mortal]:
        """The controllers at work for so many writes."""
        mortal = Mortal(self.connect_as_system(), writes, late=late)
        async with self._run(mortal, "simulate"):
            yield mortal

    @contextlib.asynccontextmanager
    async def _run(self, client: Client | Mortal, launcher: LauncherName) -> AsyncIterator[Controllers]:
        played = SimulatedLauncher() if launcher == "simulate" else None
        controllers = Controllers(client, played, absence="" if played else NO_LAUNCHER)
        async with controllers.running():
            yield controllers


@contextlib.asynccontextmanager
async def placed(site: Site) -> AsyncIterator[ClusterPlace]:
    """The plane of an installation, empty, without controllers yet."""
    plane = site.plane
    clean(plane)
    account = plane.write_kubeconfig(f"system:serviceaccount:{SYSTEM}:virtshape-controller", "system:masters")
    clients: list[RestClient] = []

    def connect(kubeconfig: Path = account, manager: str = "virt-controller") -> RestClient:
        clients.append(RestClient(HttpTransport(find_access(path=str(kubeconfig))), manager=manager))
        return clients[-1]

    try:
        yield ClusterPlace(connect(plane.kubeconfig, "tester"), connect)
    finally:
        for client in clients:
            await client.close()


def clean(plane: Plane) -> None:
    """Leave nothing of the tests before, whoever would have to let go of it."""
    deadline = time.monotonic() + PATIENCE
    plane.ask("DELETE", "/api/v1/namespaces/team")
    while left := [one for path in LEFT for one in _clear(plane, path)] + list(_find_namespace(plane)):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.05)


def _clear(plane: Plane, path: str) -> Iterator[str]:
    """Have all objects at a path gone; those that are there yet."""
    code, listing = plane.ask("GET", path)
    if code == 429:  # kinds that are new are not served at once
        yield path
        return
    assert code == 200, listing
    if listing["items"]:
        plane.ask("DELETE", path, {"propagationPolicy": "Background", "gracePeriodSeconds": 0})
    for item in listing["items"]:
        if item["metadata"].get("finalizers"):
            plane.ask("PATCH", f"{path}/{item['metadata']['name']}", {"metadata": {"finalizers": None}}, **MERGE)
        yield f"{path}/{item['metadata']['name']}"


def _find_namespace(plane: Plane) -> Iterator[str]:
    """The namespace that some tests make, if it is there yet; instances in it are let go of."""
    if plane.ask("GET", "/api/v1/namespaces/team")[0] != 404:
        for resource in ("virtualmachines", "virtualmachineinstances"):
            yield from _clear(plane, f"/apis/kubevirt.io/v1/namespaces/team/{resource}")
        yield "team"
