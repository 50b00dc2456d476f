"""
The servers that every Client must get on with: our own, reached in two ways, and a real kube-apiserver.

Each is empty but for what every cluster has, and knows our kinds.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.cluster.controlplane import ControlPlane
from tests.support.systems import Transport, open_system

from virtshape.api.core.config import ConfigMap
from virtshape.apiserver.discovery.definitions import write_definition
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import find_access
from virtshape.client.rest import RestClient
from virtshape.cluster.manifests.crds import list_names
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.manifests.rbac import build_user_roles

REAL = "kube-apiserver"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
LEFTOVERS = (
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/kube-public/configmaps",
    "/apis/kubevirt.io/v1/namespaces/default/virtualmachines",
    "/apis/instancetype.kubevirt.io/v1beta2/namespaces/default/virtualmachineinstancetypes",
)


class Served(NamedTuple):
    """A client with all rights, and a way to have its server forget all but the newest state."""

    client: RestClient
    forget: Callable[[], Awaitable[None]]


Serve = Callable[[Path], AbstractAsyncContextManager[Served]]


@asynccontextmanager
async def serve_own(form: Transport, directory: Path) -> AsyncIterator[Served]:
    """Our own server, for as long as the block lasts."""
    async with open_system(form, directory) as system:
        store = system.system.store

        async def forget() -> None:
            await store.compact(store.revision - 1)

        yield Served(system.client, forget)


@asynccontextmanager
async def use_plane(plane: ControlPlane) -> AsyncIterator[Served]:
    """A real server that runs already, without what was left there."""
    for path in LEFTOVERS:
        code, answer = plane.request("DELETE", path)
        assert code == 200, answer
    client = RestClient(HttpTransport(find_access(path=str(plane.kubeconfig))), manager="tester")

    async def forget() -> None:
        plane.compact(int((await client.list(ConfigMap)).revision) - 1)
        plane.apiserver.stop()  # while it runs it remembers by itself
        plane.start_apiserver()

    try:
        yield Served(client, forget)
    finally:
        await client.close()


def install_kinds(plane: ControlPlane) -> None:
    """Have a real server know our kinds and roles, with versions that differ in nothing but their name."""
    names = list_names(Options())
    for name in names:
        code, answer = plane.request("POST", DEFINITIONS, write_definition(name))
        assert code == 201, answer
    for role in build_user_roles(Options()):
        if role["kind"] == "ClusterRole":
            code, answer = plane.request("POST", ROLES, role)
            assert code == 201, answer
    for name in names:
        plane.apiserver.wait(lambda name=name: _is_served(plane, name))  # type: ignore[misc]


def _is_served(plane: ControlPlane, name: str) -> bool:
    code, definition = plane.request("GET", f"{DEFINITIONS}/{name}")
    assert code == 200, definition
    version, plural = definition["spec"]["versions"][0]["name"], definition["spec"]["names"]["plural"]
    return plane.request("GET", f"/apis/{definition['spec']['group']}/{version}/{plural}")[0] == 200
