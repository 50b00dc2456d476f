"""Revisions that the VMs of a namespace share: their owners, their lifetime, and the existing copies that are used."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.integration.controllers.test_crash import crash_at_every_write
from tests.integration.controllers.test_deleted_revisions import upgrade, wait_for_failure, wait_until_repaired
from tests.integration.controllers.test_references import configure
from tests.support.build import build_vm
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.instancetype.v1beta2 import CPUInstancetype, VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import OwnerReference
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import SHARED_REVISION_LABEL, START_REVISION_PREFIX
from virtshape.controllers.manager import Controllers
from virtshape.controllers.vm import sharedrevisions
from virtshape.controllers.vm.revisions import list_pinned_revisions
from virtshape.controllers.vm.sharedrevisionobjects import build_shared_revision, name_shared_revision
from virtshape.resolve.revisions import canonicalize

LARGE = {"spec": {"instancetype": {"name": "large", "revisionName": None}}}


async def create_types(system: ControlledSystem) -> None:
    await configure(system, revisionSharing="Namespace")
    await system.create(instancetype_tree(), instancetype_tree("large", guest=4), preference_tree())


async def create_vms(system: ControlledSystem, *names: str, **spec: Any) -> None:
    for name in names:
        await system.create(vm_tree(name, **{"runStrategy": "Halted", **spec}))


async def list_owners(system: ControlledSystem, namespace: str = "default") -> dict[str, list[str]]:
    """Return the sorted owner names of each revision by the name of the revision; start revisions are omitted."""
    found = (await system.client.list(ControllerRevision, namespace)).items
    return {
        one.metadata.name or "": sorted(owner.name for owner in one.metadata.owner_references or ())
        for one in found
        if not (one.metadata.name or "").startswith(START_REVISION_PREFIX)
    }


async def wait_for_owners(system: ControlledSystem, expected: dict[str, list[str]]) -> None:
    seen: dict[str, list[str]] = {}

    async def look() -> bool | None:
        seen.clear()
        seen.update(await list_owners(system))
        return True if seen == expected else None

    try:
        await eventually(look, "the owners are not the expected ones")
    except AssertionError as error:
        error.add_note(f"expected {expected}, found {seen}")
        raise


async def name_of(system: ControlledSystem, name: str = "small", number: int = 1) -> str:
    """Return the name of a shared revision of an instance type."""
    return name_shared_revision(await system.client.get(VirtualMachineClusterInstancetype, name), number)


async def pinned(system: ControlledSystem, name: str) -> str:
    return list_pinned_revisions(await system.vm(name))["instancetype"]


async def wait_until_pinned(system: ControlledSystem, *names: str) -> list[str]:
    async def look() -> list[str] | None:
        vms = [await system.vm(name) for name in names]
        found = [list_pinned_revisions(vm).get("instancetype") for vm in vms]
        done = all(vm.status and vm.status.desired_generation == vm.metadata.generation for vm in vms)
        return [one for one in found if one] if done and all(found) else None

    return await eventually(look, f"{names} have no revisions")


async def wait_until_gone(system: ControlledSystem, *names: str) -> None:
    for name in names:
        await system.wait_until_gone(VirtualMachine, name)


FLAVOR_GROUP = "flavor.kubevirt.io/v1alpha1"
KINDS: dict[str, tuple[list[JsonObject], JsonObject]] = {
    "cluster-wide": ([instancetype_tree(), preference_tree()], {}),
    "namespaced": (
        [
            {**tree, "kind": kind, "metadata": {**tree["metadata"], "namespace": "default"}}
            for tree, kind in (
                (instancetype_tree(), "VirtualMachineInstancetype"),
                (preference_tree(), "VirtualMachinePreference"),
            )
        ],
        {
            "instancetype": {"name": "small", "kind": "VirtualMachineInstancetype"},
            "preference": {"name": "linux", "kind": "VirtualMachinePreference"},
        },
    ),
    "flavor": (
        [
            {**instancetype_tree(), "apiVersion": FLAVOR_GROUP, "kind": "VirtualMachineClusterFlavor"},
            {**preference_tree(), "apiVersion": FLAVOR_GROUP, "kind": "VirtualMachineClusterPreference"},
        ],
        {"instancetype": None, "flavor": {"name": "small"}},
    ),
}


@pytest.mark.parametrize(("objects", "spec"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("names", ["Spec", "Status"])
async def test_vms_of_a_namespace_share_one_revision_of_each_object(
    tmp_path: Path, objects: list[JsonObject], spec: JsonObject, names: str
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await configure(system, revisionSharing="Namespace", revisionName=names)
        await system.create(*objects)
        for vm in ("vm1", "vm2", "vm3"):
            await system.create(vm_tree(vm, **spec))
        for vm in ("vm1", "vm2", "vm3"):
            running = await system.wait_for("Running", vm)
            assert running.status is not None
            assert running.status.effective is not None
            assert running.status.effective.vcpus == 2
        await system.wait_until_idle(controllers)
        found = (await system.client.list(ControllerRevision, "default", labels=SHARED_REVISION_LABEL)).items
        assert len(found) == 2
        assert set(list_pinned_revisions(await system.vm()).values()) == {one.metadata.name for one in found}
        vms = [await system.vm(vm) for vm in ("vm1", "vm2", "vm3")]
        for one in found:
            owners = sorted(one.metadata.owner_references or [], key=lambda owner: owner.name)
            assert owners == [
                OwnerReference(vm.metadata.name or "", "kubevirt.io/v1", "VirtualMachine", vm.metadata.uid or "")
                for vm in vms
            ]
        starts = [name for name in await system.revisions() if name == "start"]
        assert len(starts) == 3


async def test_shared_revision_is_deleted_with_its_last_vm(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1", "vm2", "vm3")
        shared = (await wait_until_pinned(system, "vm1", "vm2", "vm3"))[0]
        for name in ("vm1", "vm2"):
            await system.client.delete(VirtualMachine, name, "default")
        await wait_until_gone(system, "vm1", "vm2")
        await eventually(lambda: _has_owners(system, shared, ["vm3"]), "the owners are not removed")
        await system.client.delete(VirtualMachine, "vm3", "default")
        await wait_until_gone(system, "vm3")
        await system.wait_for_revisions()


async def _has_owners(system: ControlledSystem, name: str, owners: list[str]) -> bool | None:
    return True if (await list_owners(system)).get(name) == owners else None


async def test_namespaces_have_separate_copies_of_a_shared_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await system.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        other = vm_tree("vm2", runStrategy="Halted")
        other["metadata"]["namespace"] = "team"
        await system.create(other)
        await create_vms(system, "vm1")
        await wait_until_pinned(system, "vm1")

        async def look() -> bool | None:
            found = [await list_owners(system, namespace) for namespace in ("default", "team")]
            return True if [set(map(tuple, one.values())) for one in found] == [{("vm1",)}, {("vm2",)}] else None

        await eventually(look, "the namespaces do not have their own copies")


async def test_new_vm_of_a_changed_instancetype_uses_another_shared_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1", "vm2")
        before = await wait_until_pinned(system, "vm1", "vm2")
        await system.client.patch(VirtualMachineClusterInstancetype, "small", patch={"spec": {"cpu": {"guest": 7}}})
        await create_vms(system, "vm3")
        (after,) = await wait_until_pinned(system, "vm3")
        assert await wait_until_pinned(system, "vm1", "vm2") == before
        assert (await list_owners(system))[after] == ["vm3"]
        assert after == await name_of(system)


async def test_vm_that_moves_to_another_instancetype_releases_its_old_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1", "vm2")
        await wait_until_pinned(system, "vm1", "vm2")
        owners = await list_owners(system)
        small, large = await name_of(system), await name_of(system, "large")
        (linux,) = owners.keys() - {small}
        both = ["vm1", "vm2"]
        await system.client.patch(VirtualMachine, "vm1", "default", patch=LARGE)
        await wait_for_owners(system, {small: ["vm2"], large: ["vm1"], linux: both})
        await system.client.patch(VirtualMachine, "vm2", "default", patch=LARGE)
        await wait_for_owners(system, {large: both, linux: both})
        domain = {"memory": {"guest": "1Gi"}}
        own_size = {"instancetype": None, "preference": None, "template": {"spec": {"domain": domain}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": own_size})
        await wait_for_owners(system, {large: ["vm2"], linux: ["vm2"]})
        await configure(system, referencePolicy="expandAll")
        await wait_for_owners(system, {})


async def test_revision_sharing_setting_affects_only_vms_without_revisions(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await create_types(system)
        await configure(system, revisionSharing="PerVM")
        await create_vms(system, "own1")
        await wait_until_pinned(system, "own1")
        await configure(system, revisionSharing="Namespace")
        await create_vms(system, "vm1", "vm2")
        await wait_until_pinned(system, "vm1", "vm2")
        await configure(system, revisionSharing="PerVM")
        await create_vms(system, "own2")
        await wait_until_pinned(system, "own2")
        await system.wait_until_idle(controllers)
        shared = await name_of(system)
        names = [await pinned(system, vm) for vm in ("own1", "own2", "vm1", "vm2")]
        assert names == [f"own1-{shared}", f"own2-{shared}", shared, shared]
        assert (await list_owners(system))[shared] == ["vm1", "vm2"]
        await system.client.patch(
            VirtualMachine, "vm1", "default", patch={"spec": {"instancetype": {"revisionName": None}}}
        )
        await eventually(lambda: _has_owners(system, shared, ["vm2"]), "vm1 still owns the shared revision")
        assert await pinned(system, "vm1") == f"vm1-{shared}"


async def test_second_shared_revision_is_created_when_the_first_has_too_many_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharedrevisions, "MAX_OWNERS", 3)
    async with open_controlled_system(tmp_path) as system:
        await create_types(system)
        vms = [f"vm{number}" for number in range(7)]
        await create_vms(system, *vms)
        async with system.run_controllers() as controllers:
            await wait_until_pinned(system, *vms)
            await system.wait_until_idle(controllers)
            names = [await name_of(system, number=number) for number in (1, 2, 3)]
            owners = await list_owners(system)
            assert sorted(vm for name in names for vm in owners[name]) == vms
            assert [len(owners[name]) for name in names] == [3, 3, 1]
            for name in names:
                assert {await pinned(system, vm) for vm in owners[name]} == {name}
            await system.client.delete(VirtualMachine, owners[names[0]][0], "default")
            await eventually(lambda: _has_owners(system, names[0], owners[names[0]][1:]), "the owner is not removed")
            await create_vms(system, "next")
            assert await wait_until_pinned(system, "next") == [names[0]]


async def plant(system: ControlledSystem, *, guest: int, **metadata: Any) -> str:
    """Create a revision with the name of the shared revision and with this number of vCPUs; return its name."""
    source = await system.client.get(VirtualMachineClusterInstancetype, "small")
    changed = replace(source, spec=replace(source.spec, cpu=CPUInstancetype(guest=guest)))
    planted = build_shared_revision([build_vm(namespace="default")], changed, name_shared_revision(source))
    planted.metadata = replace(planted.metadata, owner_references=None, **metadata)
    await system.client.create(canonicalize(planted))
    return planted.metadata.name or ""


PLANTED: dict[str, tuple[int, JsonObject, bool]] = {
    "the same content": (2, {}, True),
    "other content": (64, {}, False),
    "no label": (2, {"labels": {"instancetype.kubevirt.io/object-name": "small"}}, False),
    "no labels at all": (2, {"labels": None}, False),
}


@pytest.mark.parametrize(("guest", "metadata", "is_used"), PLANTED.values(), ids=PLANTED)
async def test_existing_revision_is_used_only_if_it_is_a_copy_of_the_object(
    tmp_path: Path, guest: int, metadata: JsonObject, is_used: bool
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await create_types(system)
        planted = await plant(system, guest=guest, **metadata)
        await system.create(vm_tree("vm1"), vm_tree("vm2"))
        for vm in ("vm1", "vm2"):
            running = await system.wait_for("Running", vm)
            assert running.status is not None
            assert running.status.effective is not None
            assert running.status.effective.vcpus == 2
        await system.wait_until_idle(controllers)
        owners = await list_owners(system)
        used = await pinned(system, "vm1")
        assert used == (planted if is_used else await name_of(system, number=2))
        assert owners[used] == ["vm1", "vm2"]
        assert owners[planted] == (["vm1", "vm2"] if is_used else [])


async def test_vm_that_refers_to_a_shared_revision_becomes_an_owner(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1")
        (shared,) = await wait_until_pinned(system, "vm1")
        await configure(system, revisionSharing="PerVM")
        await create_vms(system, "vm2", instancetype={"name": "small", "revisionName": shared})
        await wait_until_pinned(system, "vm2")
        await eventually(lambda: _has_owners(system, shared, ["vm1", "vm2"]), "vm2 is not an owner")
        await system.client.delete(VirtualMachine, "vm1", "default")
        await wait_until_gone(system, "vm1")
        await eventually(lambda: _has_owners(system, shared, ["vm2"]), "vm2 does not keep the revision")


async def test_owner_removed_from_a_shared_revision_by_a_client_is_added_again(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await create_types(system)
        await create_vms(system, "vm1", "vm2")
        shared = (await wait_until_pinned(system, "vm1", "vm2"))[0]
        await system.wait_until_idle(controllers)
        revision = await system.client.get(ControllerRevision, shared, "default")
        left = [owner for owner in revision.metadata.owner_references or () if owner.name != "vm1"]
        patch = {"metadata": {"ownerReferences": to_tree(left)}}
        await system.client.patch(ControllerRevision, shared, "default", patch=patch)
        await system.client.patch(VirtualMachine, "vm1", "default", patch={"metadata": {"labels": {"a": "b"}}})
        await eventually(lambda: _has_owners(system, shared, ["vm1", "vm2"]), "vm1 is not an owner again")


async def test_deleted_shared_revision_of_an_unchanged_object_is_stored_again(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1", "vm2")
        shared = (await wait_until_pinned(system, "vm1", "vm2"))[0]
        before = await system.client.get(ControllerRevision, shared, "default")
        await system.client.delete(ControllerRevision, shared, "default")
        await eventually(lambda: _has_owners(system, shared, ["vm1", "vm2"]), "the revision is not stored again")
        after = await system.client.get(ControllerRevision, shared, "default")
        assert after.metadata.uid != before.metadata.uid
        assert after.data["spec"] == before.data["spec"]


async def test_deleted_shared_revision_of_a_changed_object_is_reported(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1", "vm2")
        shared = (await wait_until_pinned(system, "vm1", "vm2"))[0]
        await system.client.patch(VirtualMachineClusterInstancetype, "small", patch={"spec": {"cpu": {"guest": 7}}})
        await system.client.delete(ControllerRevision, shared, "default")
        await wait_for_failure(system)
        await upgrade(system)
        vm = await wait_until_repaired(system)
        assert list_pinned_revisions(vm)["instancetype"] == await name_of(system)


async def test_orphaned_shared_revision_is_adopted_by_the_next_vm(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await create_types(system)
        await create_vms(system, "vm1")
        (shared,) = await wait_until_pinned(system, "vm1")
        await system.client.delete(VirtualMachine, "vm1", "default", propagation="Orphan")
        await wait_until_gone(system, "vm1")
        assert (await list_owners(system))[shared] == []
        await create_vms(system, "vm2")
        assert await wait_until_pinned(system, "vm2") == [shared]
        await eventually(lambda: _has_owners(system, shared, ["vm2"]), "vm2 is not an owner")


async def wait_until_all_are_pinned(system: ControlledSystem, controllers: Controllers) -> None:
    await wait_until_pinned(system, "vm1", "vm2", "vm3")
    await system.wait_until_idle(controllers)


async def share(system: ControlledSystem) -> None:
    async with system.run_controllers() as controllers:
        await wait_until_all_are_pinned(system, controllers)


async def test_creation_of_a_shared_revision_survives_a_controller_crash_at_any_write(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        await create_types(system)
        await create_vms(system, "vm1", "vm2", "vm3")
        died = await system.crash_at_write(write, lambda controllers: wait_until_all_are_pinned(system, controllers))
        await share(system)
        assert list((await list_owners(system)).values()) == [["vm1", "vm2", "vm3"]] * 2
        return died

    await crash_at_every_write(scenario, tmp_path)


async def test_move_from_a_shared_revision_survives_a_controller_crash_at_any_write(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        await create_types(system)
        await create_vms(system, "vm1", "vm2", "vm3")
        await share(system)
        small, large = await name_of(system), await name_of(system, "large")
        (linux,) = (await list_owners(system)).keys() - {small}
        for vm in ("vm1", "vm2"):
            await system.client.patch(VirtualMachine, vm, "default", patch=LARGE)
        died = await system.crash_at_write(write, lambda controllers: wait_until_all_are_pinned(system, controllers))
        async with system.run_controllers():
            await wait_for_owners(system, {small: ["vm3"], large: ["vm1", "vm2"], linux: ["vm1", "vm2", "vm3"]})
        return died

    await crash_at_every_write(scenario, tmp_path)


async def test_deletion_of_a_shared_revision_survives_a_controller_crash_at_any_write(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        await create_types(system)
        await create_vms(system, "vm1", "vm2", "vm3")
        await share(system)
        for vm in ("vm1", "vm2", "vm3"):
            await system.client.delete(VirtualMachine, vm, "default")
        died = await system.crash_at_write(write, lambda _: wait_for_owners(system, {}))
        async with system.run_controllers():
            await wait_for_owners(system, {})
        return died

    await crash_at_every_write(scenario, tmp_path)
