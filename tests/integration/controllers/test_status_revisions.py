"""Revision names in the status only: names that the controller or clients write, and upgrades by users."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.integration.controllers.test_references import configure, old_payload
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.apps import ControllerRevision
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.virtualmachine import ControllerRevisionRef, VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.ownerreferences import make_owner_reference
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import AUTHENTICATED, User
from virtshape.client.rest import RestClient
from virtshape.controllers.manager import Controllers
from virtshape.controllers.vm.upgrade import write_release, write_spec_release, write_status_release
from virtshape.standalone.inprocesstransport import connect

RBAC = "rbac.authorization.k8s.io"
RECAPTURE = "virtshape.io/recapture"
LABELS = {
    "instancetype.kubevirt.io/object-name": "small",
    "instancetype.kubevirt.io/object-version": "v1beta1",
}


async def start_stopped(system: ControlledSystem, controllers: Controllers) -> str:
    """Create a stopped VM whose status names its revisions; return the name of the instance type's revision."""
    await configure(system, revisionName="Status")
    await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Halted"))
    await system.wait_for("Stopped")
    await system.wait_until_idle(controllers)
    return find_revision_name(await system.vm())


def find_revision_name(vm: VirtualMachine) -> str:
    ref = vm.status.instancetype_ref if vm.status else None
    return (ref.controller_revision_ref.name if ref and ref.controller_revision_ref else None) or ""


async def name_in_status(
    system: ControlledSystem, data: Any, labels: dict[str, str] | None = None, name: str = "named"
) -> None:
    """Store a revision that the VM owns, and name it in the VM's status."""
    vm = await system.vm()
    revision: JsonObject = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 0, "data": data}
    await system.create({**revision, "metadata": {"name": name, "namespace": "default", "labels": labels or {}}})
    stored = await system.client.get(ControllerRevision, name, "default")
    owned = replace(stored.metadata, owner_references=[make_owner_reference(vm)])
    await system.client.update(replace(stored, metadata=owned))
    assert vm.status is not None
    assert vm.status.instancetype_ref is not None
    vm.status.instancetype_ref.controller_revision_ref = ControllerRevisionRef(name)
    await system.client.update_status(vm)


async def count_vcpus_after_start(system: ControlledSystem, controllers: Controllers) -> int | None:
    await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Always"}})
    await system.wait_for("Running")
    await system.wait_until_idle(controllers)
    cpu = (await system.vmi()).spec.domain.cpu
    return cpu.cores if cpu else None


async def test_spec_is_never_written_and_the_vm_keeps_its_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        assert captured.startswith("vm1-small-")
        vm = await system.vm()
        assert vm.metadata.generation == 1
        await system.client.patch(VirtualMachineClusterInstancetype, "small", patch={"spec": {"cpu": {"guest": 7}}})
        assert await count_vcpus_after_start(system, controllers) == 2
        vm = await system.vm()
        assert vm.spec.instancetype is not None
        assert vm.spec.preference is not None
        assert (vm.spec.instancetype.revision_name, vm.spec.preference.revision_name) == (None, None)
        assert find_revision_name(vm) == captured


async def test_change_of_the_instancetype_name_creates_a_new_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await start_stopped(system, controllers)
        await system.create(instancetype_tree("large", 8))
        await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"instancetype": {"name": "large"}}})
        assert await count_vcpus_after_start(system, controllers) == 8
        vm = await system.vm()
        assert find_revision_name(vm).startswith("vm1-large-")
        assert vm.spec.instancetype is not None
        assert vm.spec.instancetype.revision_name is None
        assert vm.metadata.annotations is None


async def test_current_revision_named_in_the_status_by_a_client_is_used(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await start_stopped(system, controllers)
        await name_in_status(system, old_payload("v1beta1"), LABELS)
        assert await count_vcpus_after_start(system, controllers) == 3
        assert find_revision_name(await system.vm()) == "named"


@pytest.mark.parametrize(
    ("version", "labels"),
    [("", {}), ("v1alpha1", LABELS), ("v1alpha2", LABELS), ("v1beta1", {})],
    ids=["spec alone", "v1alpha1", "v1alpha2", "no labels"],
)
async def test_outdated_revision_named_in_the_status_by_a_client_is_replaced(
    tmp_path: Path, version: str, labels: dict[str, str]
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await start_stopped(system, controllers)
        stated = {**labels, "instancetype.kubevirt.io/object-version": version} if labels else {}
        await name_in_status(system, old_payload(version), stated)
        await system.wait_until_gone(ControllerRevision, "named")
        name = find_revision_name(await system.vm())
        assert name.startswith("vm1-small-v1beta1-")
        upgraded = await system.client.get(ControllerRevision, name, "default")
        assert upgraded.data["apiVersion"] == "instancetype.kubevirt.io/v1beta1"
        assert (upgraded.metadata.labels or {})["instancetype.kubevirt.io/object-version"] == "v1beta1"
        assert await count_vcpus_after_start(system, controllers) == 3
        vm = await system.vm()
        assert vm.spec.instancetype is not None
        assert vm.spec.instancetype.revision_name is None


async def test_revision_of_another_object_in_the_status_is_not_used(tmp_path: Path) -> None:
    other = {**LABELS, "instancetype.kubevirt.io/object-name": "other"}
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await start_stopped(system, controllers)
        await name_in_status(system, old_payload("v1beta1"), other)
        assert await count_vcpus_after_start(system, controllers) == 2
        assert find_revision_name(await system.vm()) == "named"


async def test_revision_name_removed_from_the_status_is_replaced_by_a_new_one(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        await system.client.patch(VirtualMachineClusterInstancetype, "small", patch={"spec": {"cpu": {"guest": 7}}})
        patch = write_spec_release(["instancetype"])
        released = await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)
        further = write_status_release(released, ["instancetype"])
        assert further is not None
        await system.client.patch(VirtualMachine, "vm1", "default", patch=further, subresource="status")
        await wait_for_other_revision(system, captured)
        assert await count_vcpus_after_start(system, controllers) == 7


async def wait_for_other_revision(system: ControlledSystem, earlier: str) -> VirtualMachine:
    """Wait until the status names a new revision and the recapture annotation is removed; return the VM."""

    async def probe() -> VirtualMachine | None:
        vm = await system.vm()
        is_new = find_revision_name(vm) not in ("", earlier)
        return vm if is_new and RECAPTURE not in (vm.metadata.annotations or {}) else None

    return await eventually(probe, "the VM has no new revision, or still has the annotation")


async def connect_as_editor(system: ControlledSystem) -> RestClient:
    """Return a client of a user who has only the role `kubevirt.io:edit`, and only in the namespace default."""
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "edit", "namespace": "default"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "kubevirt.io:edit"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "eve"}],
    }
    await system.create(binding)
    return connect(system.server, User("eve", (AUTHENTICATED,)))


async def grow(system: ControlledSystem) -> None:
    await system.client.patch(VirtualMachineClusterInstancetype, "small", patch={"spec": {"cpu": {"guest": 7}}})


async def test_user_with_the_edit_role_can_upgrade_a_vm(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        preference_ref = getattr((await system.vm()).status, "preference_ref", None)
        await grow(system)
        editor = await connect_as_editor(system)
        status = {"status": {"instancetypeRef": None}}
        with pytest.raises(StatusError) as refused:
            await editor.patch(VirtualMachine, "vm1", "default", patch=status, subresource="status")
        assert refused.value.code == 403
        patch = write_release(["instancetype", "preference"])
        await editor.patch(VirtualMachine, "vm1", "default", patch=patch, dry_run=True)
        await system.wait_until_idle(controllers)
        assert find_revision_name(await system.vm()) == captured
        await editor.patch(VirtualMachine, "vm1", "default", patch=patch)
        vm = await wait_for_other_revision(system, captured)
        assert vm.metadata.generation == 1
        assert vm.spec.instancetype is not None
        assert vm.spec.instancetype.revision_name is None
        assert vm.status is not None
        assert vm.status.preference_ref == preference_ref  # the preference has not changed
        assert await count_vcpus_after_start(system, controllers) == 7


async def test_upgraded_vm_reports_its_new_size(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        await grow(system)
        await system.client.patch(VirtualMachine, "vm1", "default", patch=write_release(["instancetype"]))
        await wait_for_other_revision(system, captured)
        await system.wait_until_idle(controllers)
        assert await read_size(system) == 7


async def read_size(system: ControlledSystem) -> int | None:
    status = (await system.vm()).status
    return status.effective.vcpus if status and status.effective else None


@pytest.mark.parametrize("place", ["Spec", "Status"])
async def test_upgraded_running_vm_reports_its_new_size_and_that_it_needs_a_restart(tmp_path: Path, place: str) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await configure(system, revisionName=place)
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        assert find_condition(vm.status.conditions, "RestartRequired") is None
        captured = find_revision_name(vm)
        await grow(system)
        await system.client.patch(VirtualMachine, "vm1", "default", patch=write_release(["instancetype"]))
        await wait_for_other_revision(system, captured)
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        restart = find_condition(vm.status.conditions, "RestartRequired")
        assert restart is not None
        assert "restart it to apply this" in (restart.message or "")
        assert await read_size(system) == 7


async def test_user_with_the_edit_role_can_replace_a_deleted_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        await grow(system)
        await system.client.delete(ControllerRevision, captured, "default")
        editor = await connect_as_editor(system)
        await editor.patch(VirtualMachine, "vm1", "default", patch=write_release(["instancetype"]))
        await wait_for_other_revision(system, captured)
        assert await count_vcpus_after_start(system, controllers) == 7


async def test_upgrade_to_a_conflicting_instancetype_is_rejected(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        conflicting = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "hdd"}}}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=conflicting)
        selector = {"spec": {"nodeSelector": {"disk": "ssd"}}}
        await system.client.patch(VirtualMachineClusterInstancetype, "small", patch=selector)
        with pytest.raises(StatusError, match="nodeSelector conflicts with selected instance type"):
            await system.client.patch(VirtualMachine, "vm1", "default", patch=write_release(["instancetype"]))
        await system.wait_until_idle(controllers)
        assert find_revision_name(await system.vm()) == captured


@pytest.mark.parametrize("roles", ["", "preference", "instancetypes", "../instancetype,status", ",,"])
async def test_recapture_annotation_with_other_values_keeps_the_revision(tmp_path: Path, roles: str) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        await grow(system)
        annotated = {"metadata": {"annotations": {RECAPTURE: roles, "own": "1"}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=annotated)
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert (vm.metadata.annotations, find_revision_name(vm)) == ({"own": "1"}, captured)


@pytest.mark.parametrize("place", ["Spec", "Status"])
async def test_vm_uses_the_same_revision_after_the_revision_name_setting_changes(tmp_path: Path, place: str) -> None:
    before, after = ("Status", "Spec") if place == "Spec" else ("Spec", "Status")
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        captured = await start_stopped(system, controllers)
        if before == "Spec":
            await configure(system, revisionName="Spec")
            await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Manual"}})
            await system.wait_until_idle(controllers)
        await configure(system, revisionName=after)
        assert await count_vcpus_after_start(system, controllers) == 2
        vm = await system.vm()
        assert vm.spec.instancetype is not None
        assert vm.spec.instancetype.revision_name == captured
        assert find_revision_name(vm) == captured
