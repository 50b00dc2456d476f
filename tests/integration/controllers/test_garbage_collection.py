"""Garbage collection: background, foreground and orphan deletion, and deletion of namespaces."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.codec import to_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.core.namespace import Namespace
from virtshape.api.kubevirt.conditions import find_condition, is_condition_true
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.ownerreferences import make_owner_reference, make_shared_owner_reference
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of


async def create_map(system: ControlledSystem, name: str, *owners: ConfigMap, blocking: bool = True) -> ConfigMap:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": metadata_of(owner).name,
            "uid": metadata_of(owner).uid,
            "blockOwnerDeletion": blocking,
        }
        for owner in owners
    ]
    metadata: JsonObject = {"name": name, "namespace": "default", "ownerReferences": references or None}
    await system.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    return await system.client.get(ConfigMap, name, "default")


async def test_background_deletion_deletes_dependents(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        owner = await create_map(system, "owner")
        await create_map(system, "grandchild", await create_map(system, "child", owner))
        assert await system.client.delete(ConfigMap, "owner", "default", propagation="Background") is None
        await system.wait_until_gone(ConfigMap, "child")
        await system.wait_until_gone(ConfigMap, "grandchild")


async def test_foreground_deletion_deletes_dependents_first(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        owner = await create_map(system, "owner")
        await create_map(system, "grandchild", await create_map(system, "child", owner))
        await system.client.delete(ConfigMap, "owner", "default", propagation="Foreground")
        async with system.run_controllers():
            await system.wait_until_gone(ConfigMap, "owner")
            assert await system.find(ConfigMap, "child") is None
            assert await system.find(ConfigMap, "grandchild") is None


async def test_orphan_deletion_removes_owner_references_instead_of_dependents(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_map(system, "child", await create_map(system, "owner"))
        await system.client.delete(ConfigMap, "owner", "default", propagation="Orphan")
        await system.wait_until_gone(ConfigMap, "owner")
        child = await system.client.get(ConfigMap, "child", "default")
        assert metadata_of(child).owner_references is None


class AdoptingClient:
    """A client that calls `adopt`, which adds another owner, just before it first deletes the object `child`."""

    def __init__(self, client: Client, adopt: Callable[[], Awaitable[object]]) -> None:
        self._client = client
        self._adopt = adopt
        self.deletions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def delete(self, kind: type[Model], name: str, *given: Any, **named: Any) -> Any:
        if kind is ConfigMap and name == "child":
            self.deletions += 1
            if self.deletions == 1:
                await self._adopt()
        return await self._client.delete(kind, name, *given, **named)


async def test_object_that_gets_another_owner_during_garbage_collection_is_kept(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        first, second = await create_map(system, "first"), await create_map(system, "second")
        child = await create_map(system, "child", first, blocking=False)
        further = to_tree(make_shared_owner_reference(second))
        patch = {"metadata": {"uid": child.metadata.uid, "ownerReferences": [further]}}
        clients: list[AdoptingClient] = []

        async def adopt() -> None:
            await system.client.patch(ConfigMap, "child", "default", patch=patch, how="strategic")

        def wrap(client: Client) -> AdoptingClient:
            clients.append(AdoptingClient(client, adopt))
            return clients[-1]

        async with system.run_controllers(wrap=wrap):
            await system.client.delete(ConfigMap, "first", "default")

            async def look() -> bool | None:
                owners = (await system.client.get(ConfigMap, "child", "default")).metadata.owner_references or ()
                return True if [owner.name for owner in owners] == ["second"] else None

            await eventually(look, "the reference to the first owner is not removed")
        assert sum(client.deletions for client in clients) == 1


async def test_dependent_with_a_remaining_owner_is_not_deleted(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        stays = await create_map(system, "stays")
        await create_map(system, "child", await create_map(system, "goes"), stays)
        await system.client.delete(ConfigMap, "goes", "default")

        async def probe() -> ConfigMap | None:
            child = await system.client.get(ConfigMap, "child", "default")
            return child if len(metadata_of(child).owner_references or ()) == 1 else None

        child = await eventually(probe, "the reference to the deleted owner is not removed")
        assert [owner.name for owner in metadata_of(child).owner_references or ()] == ["stays"]


async def test_dependents_of_owners_deleted_during_downtime_are_collected(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await create_map(system, "child", await create_map(system, "owner"))
        await system.client.delete(ConfigMap, "owner", "default")
        async with system.run_controllers():
            await system.wait_until_gone(ConfigMap, "child")


async def test_orphaned_instance_is_adopted_by_a_new_vm(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        await system.client.delete(VirtualMachine, "vm1", "default", propagation="Orphan")
        await system.wait_until_gone(VirtualMachine)
        left = await system.vmi()
        assert metadata_of(left).owner_references is None

        await system.create(vm_tree())
        vm = await system.wait_for("Running")
        taken = metadata_of(await system.vmi())
        assert [owner.uid for owner in taken.owner_references or ()] == [metadata_of(vm).uid]
        assert taken.uid == metadata_of(left).uid
        assert vm.status is not None
        assert is_condition_true(vm.status.conditions, "RestartRequired")  # the firmware UUID differs
        await system.client.delete(VirtualMachine, "vm1", "default")
        await system.wait_until_gone(VirtualMachineInstance)


async def test_instance_with_another_controller_is_reported_and_not_adopted(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        owner = to_tree(make_owner_reference(await create_map(system, "owner")))
        metadata: JsonObject = {"name": "vm1", "namespace": "default", "ownerReferences": [owner]}
        domain: JsonObject = {"devices": {}, "memory": {"guest": "1Gi"}}
        instance = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": metadata}
        await system.create({**instance, "spec": {"domain": domain}})
        await system.create(instancetype_tree(), preference_tree(), vm_tree())

        async def probe() -> str | None:
            vm = await system.vm()
            reported = find_condition(vm.status.conditions if vm.status else None, "Failure")
            return reported.reason if reported is not None else None

        assert await eventually(probe, "no event was written") == "FailedCreate"
        assert to_tree(metadata_of(await system.vmi()).owner_references) == [owner]


async def test_foreground_deletion_deletes_the_vm_after_its_instance(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        await system.client.delete(VirtualMachine, "vm1", "default", propagation="Foreground")
        await system.wait_until_gone(VirtualMachine)
        assert await system.find(VirtualMachineInstance) is None
        assert await system.revisions() == []


async def test_deletion_of_a_namespace_deletes_its_objects(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(instancetype_tree(), preference_tree())
        await system.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        for number in range(5):
            tree = vm_tree(f"vm{number}")
            tree["metadata"]["namespace"] = "team"
            await system.create(tree)
        await system.client.delete(Namespace, "team")
        await system.wait_until_gone(Namespace, "team")
        assert not (await system.client.list(VirtualMachine)).items
        assert not (await system.client.list(VirtualMachineInstance)).items
