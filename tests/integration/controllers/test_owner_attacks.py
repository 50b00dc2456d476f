"""Owner references written by a user of one namespace do not affect other namespaces."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.controllers import ControlledSystem, open_controlled_system
from tests.support.objects import object_from_tree
from tests.support.waiting import eventually

from virtshape.api.core.config import ConfigMap
from virtshape.api.core.namespace import Namespace
from virtshape.api.model import JsonObject
from virtshape.api.rbac import ClusterRole
from virtshape.apiserver.auth.authentication import AUTHENTICATED, User
from virtshape.client.resources import metadata_of
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocesstransport import connect

RBAC = "rbac.authorization.k8s.io"


def refer(owner: ConfigMap) -> JsonObject:
    metadata = metadata_of(owner)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": metadata.name,
        "uid": metadata.uid,
        "blockOwnerDeletion": True,
    }


async def create_map(
    client: RestClient, namespace: str, name: str, *owners: ConfigMap, finalizers: tuple[str, ...] = ()
) -> ConfigMap:
    metadata: JsonObject = {"name": name, "namespace": namespace, "ownerReferences": [refer(owner) for owner in owners]}
    metadata["finalizers"] = list(finalizers)
    await client.create(object_from_tree({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    return await client.get(ConfigMap, name, namespace)


async def make_user(system: ControlledSystem, namespace: str) -> RestClient:
    """Return a client of a user with the role edit in a new namespace, and nowhere else."""
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "edit", "namespace": namespace},
        "roleRef": reference,
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": namespace}],
    }
    await system.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, binding)
    return connect(system.server, User(namespace, (AUTHENTICATED,)), manager=namespace)


@asynccontextmanager
async def two_users(directory: Path) -> AsyncIterator[tuple[ControlledSystem, RestClient, RestClient]]:
    async with open_controlled_system(directory) as system, system.run_controllers():
        yield system, await make_user(system, "dev"), await make_user(system, "prod")


async def test_owner_reference_to_another_namespace_does_not_block_deletion(tmp_path: Path) -> None:
    async with two_users(tmp_path) as (system, dev, prod):
        victim = await create_map(prod, "prod", "victim")
        await create_map(dev, "dev", "leech", victim, finalizers=("example.com/never",))
        await prod.delete(ConfigMap, "victim", "prod", propagation="Foreground")

        async def probe() -> bool | None:
            return True if await system.find(ConfigMap, "victim", "prod") is None else None

        await eventually(probe, "an object of another namespace blocks the deletion")


async def test_namespace_with_owner_cycles_is_deleted(tmp_path: Path) -> None:
    async with two_users(tmp_path) as (system, dev, _):
        first = await create_map(dev, "dev", "first")
        second = await create_map(dev, "dev", "second", first)
        itself = await create_map(dev, "dev", "itself")
        for one, owner in (("first", second), ("itself", itself)):
            patch = {"metadata": {"ownerReferences": [refer(owner)]}}
            await dev.patch(ConfigMap, one, "dev", patch=patch)
        for one in ("first", "itself"):
            await dev.delete(ConfigMap, one, "dev", propagation="Foreground")
        await system.client.delete(Namespace, "dev")

        async def probe() -> bool | None:
            return True if await system.find(Namespace, "dev", "") is None else None

        await eventually(probe, "the namespace is still Terminating")


async def test_cluster_wide_object_with_a_namespaced_owner_is_not_collected(tmp_path: Path) -> None:
    async with two_users(tmp_path) as (system, dev, _):
        owner = await create_map(dev, "dev", "owner")
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "kept"}}
        role["metadata"] = {"name": "kept", "ownerReferences": [refer(owner)]}
        await system.create(role)
        child = await create_map(dev, "dev", "child", owner)
        await dev.delete(ConfigMap, "owner", "dev")

        async def probe() -> bool | None:
            return True if await system.find(ConfigMap, metadata_of(child).name or "", "dev") is None else None

        await eventually(probe, "the dependent in the same namespace is still there")
        assert await system.find(ClusterRole, "kept", "") is not None
