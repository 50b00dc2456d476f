"""
Controllers that are killed between any two writes and restarted reach the same result.

A crash after a write, but before its response, is not tested separately: it leaves the same state as a crash before
the next write.
"""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.integration.controllers.test_references import configure, old_payload
from tests.integration.controllers.test_status_revisions import find_revision_name, name_in_status, start_stopped
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.apps import ControllerRevision
from virtshape.api.cdi import DataVolume
from virtshape.api.codec import to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.namespace import Namespace
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.client.resources import metadata_of
from virtshape.controllers.manager import Controllers
from virtshape.controllers.vm.revisions import has_current_revisions, list_pinned_revisions
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.phases import phase_of

DISK = {
    "metadata": {"name": "root"},
    "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
}
VOLUMES = {"volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}
STRIDE = 1
"""The number of writes between two injected crashes."""

Scenario = Callable[[ControlledSystem, int], Awaitable[bool]]
"""Runs a scenario with a crash at this write and checks the result; returns False if the scenario has fewer writes."""


async def crash_at_every_write(scenario: Scenario, directory: Path) -> None:
    """Run a scenario with a crash at each write in turn, until it finishes without a crash."""
    for write in itertools.count(1, STRIDE):
        if not await _run_scenario(scenario, directory / str(write), write):
            break
    assert write > 1, "no crash was injected"


async def _run_scenario(scenario: Scenario, directory: Path, write: int) -> bool:
    directory.mkdir(mode=0o700)
    try:
        async with open_controlled_system(directory) as system:
            return await scenario(system, write)
    except BaseException as error:
        error.add_note(f"the controllers crashed at write {write}")
        raise


async def create_vm(system: ControlledSystem) -> None:
    await system.create(instancetype_tree(), preference_tree(), vm_tree(template=VOLUMES, dataVolumeTemplates=[DISK]))


async def check_running(system: ControlledSystem) -> VirtualMachineInstance:
    async with system.run_controllers() as controllers:
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        vm, vmi = await system.vm(), await system.vmi()
        assert has_current_revisions(vm)
        await system.wait_for_revisions(*list_pinned_revisions(vm).values(), "start")
        assert vm.status is not None
        assert (vm.status.created, vm.status.state_change_requests) == (True, None)
        volume = await system.client.get(DataVolume, "root", "default")
        assert volume.status is not None
        assert volume.status.phase == "Succeeded"
        return vmi


async def wait_until_all_is_gone(system: ControlledSystem) -> None:
    await system.wait_until_gone(VirtualMachine)
    await system.wait_until_gone(VirtualMachineInstance)
    await system.wait_until_gone(DataVolume, "root")
    await system.wait_until_gone(PersistentVolumeClaim, "root")
    await system.wait_for_revisions()


async def test_vm_start_survives_a_controller_crash_at_any_write(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        async def finish(controllers: Controllers) -> None:
            await system.wait_for("Running")
            await system.wait_until_idle(controllers)

        await create_vm(system)
        crashed = await system.crash_at_write(write, finish)
        await check_running(system)
        return crashed

    await crash_at_every_write(scenario, tmp_path)


async def test_revision_names_in_the_status_survive_a_controller_crash(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        async def finish(controllers: Controllers) -> None:
            await system.wait_for("Running")
            await system.wait_until_idle(controllers)

        await configure(system, revisionName="Status")
        await create_vm(system)
        crashed = await system.crash_at_write(write, finish)
        patch = {"spec": {"cpu": {"guest": 7}}}
        vmi_exists = await system.find(VirtualMachineInstance) is not None
        if vmi_exists:  # the VM uses the revision that its instance was started with
            await system.client.patch(VirtualMachineClusterInstancetype, "small", patch=patch)
        async with system.run_controllers() as controllers:
            await finish(controllers)
            vm, vmi = await system.vm(), await system.vmi()
        assert has_current_revisions(vm, in_spec=False)
        assert vm.spec.instancetype is not None
        assert vm.spec.instancetype.revision_name is None
        assert vm.status is not None
        assert vm.status.effective is not None
        assert vm.status.effective.vcpus == measure(vmi.spec).vcpus == 2
        return crashed

    await crash_at_every_write(scenario, tmp_path)


async def test_revision_upgrade_in_the_status_survives_a_controller_crash(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        async with system.run_controllers() as controllers:
            await start_stopped(system, controllers)
        await name_in_status(system, old_payload("v1alpha2"))

        async def finish(controllers: Controllers) -> None:
            await system.wait_until_gone(ControllerRevision, "named")
            await system.wait_until_idle(controllers)

        crashed = await system.crash_at_write(write, finish)
        async with system.run_controllers() as controllers:
            await finish(controllers)
            name = find_revision_name(await system.vm())
        assert name.startswith("vm1-small-v1beta1-")
        assert await system.find(ControllerRevision, name) is not None
        return crashed

    await crash_at_every_write(scenario, tmp_path)


async def test_vm_deletion_survives_a_controller_crash_at_any_write(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        await create_vm(system)
        await check_running(system)
        await system.client.delete(VirtualMachine, "vm1", "default")
        crashed = await system.crash_at_write(write, lambda _: wait_until_all_is_gone(system))
        async with system.run_controllers():
            await wait_until_all_is_gone(system)
        return crashed

    await crash_at_every_write(scenario, tmp_path)


async def test_vm_restart_survives_a_controller_crash_at_any_write(tmp_path: Path) -> None:
    async def scenario(system: ControlledSystem, write: int) -> bool:
        async def finish(controllers: Controllers) -> None:
            await eventually(is_another, "there is no new instance")
            await system.wait_for("Running")
            await system.wait_until_idle(controllers)

        async def is_another() -> bool | None:
            vmi = await system.find(VirtualMachineInstance)
            return True if vmi is not None and metadata_of(vmi).uid != uid else None

        await create_vm(system)
        before = await check_running(system)
        uid = metadata_of(before).uid
        requests = [{"action": "Stop", "uid": uid}, {"action": "Start"}]
        patch = {"status": {"stateChangeRequests": requests}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=patch, subresource="status")
        crashed = await system.crash_at_write(write, finish)
        after = await check_running(system)
        assert metadata_of(after).uid != uid
        assert to_tree(after.spec) == to_tree(before.spec)
        return crashed

    await crash_at_every_write(scenario, tmp_path)


async def are_running(system: ControlledSystem, count: int) -> bool | None:
    """Return True if there are `count` instances and all are running."""
    instances = (await system.client.list(VirtualMachineInstance, "team")).items
    return True if [phase_of(one) for one in instances] == ["Running"] * count else None


async def test_repeated_crashes_neither_lose_nor_leak_vms(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree(), preference_tree())
        await system.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        for number in range(30):
            tree = vm_tree(f"vm{number}")
            tree["metadata"]["namespace"] = "team"
            await system.create(tree)

        async def finish(controllers: Controllers) -> None:
            await eventually(lambda: are_running(system, 30), "not all VMs are running")
            await system.wait_until_idle(controllers)

        assert all([await system.crash_at_write(35 + 7 * round_, finish) for round_ in range(5)])
        async with system.run_controllers() as controllers:
            await finish(controllers)
            assert await are_running(system, 30)
            assert len((await system.client.list(ControllerRevision, "team")).items) == 90
        await system.client.delete(Namespace, "team")
        for round_ in range(5):
            await system.crash_at_write(10 + 4 * round_, lambda _: system.wait_until_gone(Namespace, "team"))
        async with system.run_controllers():
            await system.wait_until_gone(Namespace, "team")
        for kind in (VirtualMachine, VirtualMachineInstance, ControllerRevision):
            assert not (await system.client.list(kind)).items
