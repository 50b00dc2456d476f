"""
Servers for contract tests of clients: the standalone server over two transports, and a real kube-apiserver.

Each has only the default objects of a cluster, and serves our kinds.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.controlplane import ControlPlane
from tests.support.systems import Transport, open_system

from virtshape.api.core.config import ConfigMap
from virtshape.apiserver.discovery.definitions import write_definition
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
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


class ContractServer(NamedTuple):
    """A client with all permissions on a server, and a function that compacts the server's history."""

    client: RestClient
    compact: Callable[[], Awaitable[None]]


Serve = Callable[[Path], AbstractAsyncContextManager[ContractServer]]


@asynccontextmanager
async def serve_standalone(form: Transport, directory: Path) -> AsyncIterator[ContractServer]:
    """Run the standalone server until the block ends."""
    async with open_system(form, directory) as system:
        store = system.system.store

        async def compact() -> None:
            await store.compact(store.revision - 1)

        yield ContractServer(system.client, compact)


@asynccontextmanager
async def use_plane(plane: ControlPlane) -> AsyncIterator[ContractServer]:
    """Use a running control plane, without objects from earlier tests."""
    for path in LEFTOVERS:  # a restarted server may reject requests with 429 at first
        plane.apiserver.wait(lambda path=path: plane.request("DELETE", path)[0] == 200)  # type: ignore[misc]
    client = RestClient(HttpTransport(get_access(path=str(plane.kubeconfig))), manager="tester")

    async def compact() -> None:
        plane.compact(int((await client.list(ConfigMap)).revision) - 1)
        plane.apiserver.stop()  # the API server has a watch cache, which a restart clears
        plane.start_apiserver()
        # This list needs the watch cache, as watches do: they are rejected with 429 until the cache is filled.
        cached = f"{LEFTOVERS[0]}?resourceVersion=1&resourceVersionMatch=NotOlderThan"
        plane.apiserver.wait(lambda: plane.request("GET", cached)[0] == 200)

    try:
        yield ContractServer(client, compact)
    finally:
        await client.close()


def install_kinds(plane: ControlPlane) -> None:
    """Install our CRDs and roles on a real server, without conversion between versions."""
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
