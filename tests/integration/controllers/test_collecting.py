"""Garbage collection: background, foreground and orphan deletion, and deletion of namespaces."""

from pathlib import Path

from tests.support.controllers import (
    ControlledSystem,
    eventually,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)

from virtshape.api.codec import to_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.core.namespace import Namespace
from virtshape.api.kubevirt.conditions import find_condition, is_condition_true
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.ownerreferences import make_owner_reference
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


async def test_orphan_deletion_keeps_dependents_without_owner(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_map(system, "child", await create_map(system, "owner"))
        await system.client.delete(ConfigMap, "owner", "default", propagation="Orphan")
        await system.wait_until_gone(ConfigMap, "owner")
        child = await system.client.get(ConfigMap, "child", "default")
        assert metadata_of(child).owner_references is None


async def test_dependent_with_a_remaining_owner_is_kept(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        stays = await create_map(system, "stays")
        await create_map(system, "child", await create_map(system, "goes"), stays)
        await system.client.delete(ConfigMap, "goes", "default")

        async def look() -> ConfigMap | None:
            child = await system.client.get(ConfigMap, "child", "default")
            return child if len(metadata_of(child).owner_references or ()) == 1 else None

        child = await eventually(look, "the owner that is gone is still named")
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
        assert is_condition_true(vm.status.conditions, "RestartRequired")  # the new VM's guest has another identity
        await system.client.delete(VirtualMachine, "vm1", "default")
        await system.wait_until_gone(VirtualMachineInstance)


async def test_instance_with_another_controller_is_kept_and_reported(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        owner = to_tree(make_owner_reference(await create_map(system, "owner")))
        metadata: JsonObject = {"name": "vm1", "namespace": "default", "ownerReferences": [owner]}
        domain: JsonObject = {"devices": {}, "memory": {"guest": "1Gi"}}
        instance = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": metadata}
        await system.create({**instance, "spec": {"domain": domain}})
        await system.create(instancetype_tree(), preference_tree(), vm_tree())

        async def look() -> str | None:
            vm = await system.vm()
            reported = find_condition(vm.status.conditions if vm.status else None, "Failure")
            return reported.reason if reported is not None else None

        assert await eventually(look, "no event was written") == "FailedCreate"
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
