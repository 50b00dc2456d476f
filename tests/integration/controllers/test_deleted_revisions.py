"""VMs whose stored revision was deleted: what they report, how they stop, and how an upgrade repairs them."""

from pathlib import Path

import pytest
from tests.integration.controllers.test_references import configure
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
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import STOP, VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.controllers.manager import COMPONENT, Controllers
from virtshape.controllers.vm.upgrade import write_release

HALT = {"spec": {"runStrategy": "Halted"}}
COMMAND = "virtctl upgrade vm1 -n default"


async def run_vm(system: ControlledSystem, controllers: Controllers, strategy: str = "Always") -> None:
    await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy=strategy))
    await system.wait_for("Stopped" if strategy == "Halted" else "Running")
    await system.wait_until_idle(controllers)


async def delete_revision(system: ControlledSystem, role: str = "instancetype") -> str:
    """Delete the revision that the VM names in its status; return its name."""
    status = (await system.vm()).status
    ref = getattr(status, f"{role}_ref")
    name: str = ref.controller_revision_ref.name
    await system.client.delete(ControllerRevision, name, "default")
    return name


async def wait_for_failure(system: ControlledSystem, reason: str = "FailedFindInstancetype") -> VirtualMachine:
    async def probe() -> VirtualMachine | None:
        vm = await system.vm()
        failure = find_condition(vm.status.conditions if vm.status else None, "Failure")
        return vm if failure is not None and failure.reason == reason else None

    return await eventually(probe, f"the VM does not report {reason}")


async def wait_until_repaired(system: ControlledSystem) -> VirtualMachine:
    async def probe() -> VirtualMachine | None:
        vm = await system.vm()
        assert vm.status is not None
        has_failure = find_condition(vm.status.conditions, "Failure") is not None
        return None if has_failure or vm.status.desired_generation != vm.metadata.generation else vm

    return await eventually(probe, "the VM still reports a failure")


async def upgrade(system: ControlledSystem, role: str = "instancetype") -> None:
    """Send the patch of `virtctl upgrade`."""
    patch = write_release(["preference" if role == "preference" else "instancetype"])
    await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)


@pytest.mark.parametrize(
    ("role", "reason", "label"),
    [
        ("instancetype", "FailedFindInstancetype", "instance type"),
        ("preference", "FailedFindPreference", "preference"),
    ],
)
@pytest.mark.parametrize("strategy", ["Halted", "Always"])
@pytest.mark.parametrize("names", ["Spec", "Status"])
async def test_deleted_revision_is_reported_with_the_upgrade_command(
    tmp_path: Path, role: str, reason: str, label: str, strategy: str, names: str
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await configure(system, revisionName=names)
        await run_vm(system, controllers, strategy)
        name = await delete_revision(system, role)
        vm = await wait_for_failure(system, reason)
        expected = (
            f'controllerrevisions.apps "{name}" not found: the copy of the {label} that this VM uses does not exist; '
            f"to use the current {label}, run: {COMMAND}"
        )
        assert vm.status is not None
        condition = find_condition(vm.status.conditions, "Failure")
        assert condition is not None
        assert condition.message == expected
        assert vm.status.printable_status == ("Stopped" if strategy == "Halted" else "Running")

        async def find_event() -> bool | None:
            found = [(event.reason, event.message, event.type) for event in await system.list_events(COMPONENT)]
            return True if (reason, expected, "Warning") in found else None

        await eventually(find_event, "there is no event")
        await upgrade(system, role)
        vm = await wait_until_repaired(system)
        assert name in await system.revisions()  # the object has not changed, so its new revision has the same name
        assert vm.status is not None
        assert vm.status.printable_status == ("Stopped" if strategy == "Halted" else "Running")


async def test_restarted_controllers_report_a_deleted_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        async with system.run_controllers() as controllers:
            await run_vm(system, controllers, "Halted")
        await delete_revision(system)
        async with system.run_controllers():
            await wait_for_failure(system)


async def test_vm_with_a_deleted_revision_continues_to_run_and_can_be_stopped(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await run_vm(system, controllers)
        uid = (await system.vmi()).metadata.uid
        await delete_revision(system)
        await wait_for_failure(system)
        assert (await system.vmi()).metadata.uid == uid
        await system.client.patch(VirtualMachine, "vm1", "default", patch=HALT)
        await system.wait_until_gone(VirtualMachineInstance)
        await wait_for_failure(system)


async def test_restart_of_a_vm_with_a_deleted_revision_waits_for_an_upgrade(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await run_vm(system, controllers)
        uid = (await system.vmi()).metadata.uid or ""
        await delete_revision(system)
        vm = await wait_for_failure(system)
        assert vm.status is not None
        vm.status.state_change_requests = [VirtualMachineStateChangeRequest(STOP, uid=uid)]
        await system.client.update_status(vm)
        await system.wait_until_idle(controllers)
        assert (await system.vmi()).metadata.uid == uid
        await upgrade(system)

        async def find_new() -> bool | None:
            vmi = await system.find(VirtualMachineInstance)
            return True if vmi is not None and vmi.metadata.uid != uid else None

        await eventually(find_new, "the guest is not restarted")
        await system.wait_for("Running")


async def test_deleted_vm_does_not_wait_for_its_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await run_vm(system, controllers)
        await delete_revision(system)
        await wait_for_failure(system)
        await system.client.delete(VirtualMachine, "vm1", "default")
        await system.wait_until_gone(VirtualMachine)
        await system.wait_until_gone(VirtualMachineInstance)


async def test_upgrade_after_a_deleted_revision_uses_the_current_instancetype(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await run_vm(system, controllers, "Halted")
        await system.client.patch(VirtualMachineClusterInstancetype, "small", patch={"spec": {"cpu": {"guest": 7}}})
        lost = await delete_revision(system)
        await wait_for_failure(system)
        await upgrade(system)
        await wait_until_repaired(system)
        assert lost not in await system.revisions()
        await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Always"}})
        vm = await system.wait_for("Running")
        assert vm.status is not None
        assert vm.status.effective is not None
        assert vm.status.effective.vcpus == 7


async def test_vm_recovers_when_its_deleted_revision_is_restored(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await run_vm(system, controllers, "Halted")
        status = (await system.vm()).status
        assert status is not None
        assert status.instancetype_ref is not None
        assert status.instancetype_ref.controller_revision_ref is not None
        name = status.instancetype_ref.controller_revision_ref.name or ""
        kept = await system.client.get(ControllerRevision, name, "default")
        await delete_revision(system)
        await wait_for_failure(system)
        kept.metadata.resource_version = kept.metadata.uid = kept.metadata.creation_timestamp = None
        await system.client.create(kept)
        await wait_until_repaired(system)
