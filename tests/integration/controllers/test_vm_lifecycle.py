"""Lifecycle of a VM, from creation to deletion."""

from pathlib import Path

from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.codec import to_tree
from virtshape.api.core.node import Node
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.controllers.manager import COMPONENT
from virtshape.controllers.vmi.phases import phase_of


async def ask(system: ControlledSystem, *requests: VirtualMachineStateChangeRequest) -> None:
    patch = {"status": {"stateChangeRequests": to_tree(list(requests))}}
    await system.client.patch(VirtualMachine, "vm1", "default", patch=patch, subresource="status")


async def restart(system: ControlledSystem) -> VirtualMachineInstance:
    """Restart the VM and return its new instance."""
    before = await system.vmi()
    uid = before.metadata.uid
    await ask(system, VirtualMachineStateChangeRequest("Stop", uid=uid), VirtualMachineStateChangeRequest("Start"))

    async def probe() -> VirtualMachineInstance | None:
        vmi = await system.find(VirtualMachineInstance)
        is_new = vmi is not None and vmi.metadata.uid != uid
        return vmi if is_new and vmi is not None and phase_of(vmi) == "Running" else None

    return await eventually(probe, "no new instance runs")


async def test_vm_uses_its_revisions_across_restarts_until_it_is_deleted(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        vm = await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        check_pinned(vm)
        first = await system.vmi()
        assert first.status is not None
        assert (first.status.phase, first.status.node_name) == ("Running", "simulated")
        assert len(await system.revisions()) == 3

        small = await system.client.get(VirtualMachineClusterInstancetype, "small")
        assert small.spec.cpu is not None
        small.spec.cpu.guest = 8
        await system.client.update(small)
        second = await restart(system)
        assert second.spec == first.spec
        assert (await system.vm()).spec.instancetype == vm.spec.instancetype

        await system.client.delete(VirtualMachine, "vm1", "default")
        await system.wait_until_gone(VirtualMachine)
        await system.wait_until_gone(VirtualMachineInstance)
        await system.wait_for_revisions()


def check_pinned(vm: VirtualMachine) -> None:
    assert vm.status is not None
    assert vm.spec.instancetype is not None
    assert vm.spec.preference is not None
    for matcher, ref, kind in (
        (vm.spec.instancetype, vm.status.instancetype_ref, "VirtualMachineClusterInstancetype"),
        (vm.spec.preference, vm.status.preference_ref, "VirtualMachineClusterPreference"),
    ):
        assert ref is not None
        assert ref.controller_revision_ref is not None
        assert matcher.revision_name
        assert matcher.revision_name.startswith(f"vm1-{matcher.name}-")
        assert ref.controller_revision_ref.name == matcher.revision_name
        assert (ref.name, ref.kind) == (matcher.name, kind)
    status = vm.status
    assert status.effective is not None
    assert (status.effective.vcpus, status.effective.memory, status.effective.topology) == (2, "2Gi", "1x2x1")
    assert (status.created, status.ready, status.run_strategy) == (True, True, "Always")
    assert status.observed_generation == status.desired_generation == vm.metadata.generation


async def test_removed_revision_name_is_replaced_and_requires_a_restart(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        small = await system.client.get(VirtualMachineClusterInstancetype, "small")
        assert small.spec.cpu is not None
        small.spec.cpu.guest = 4
        await system.client.update(small)
        await system.wait_until_idle(controllers)
        patch = [{"op": "remove", "path": "/spec/instancetype/revisionName"}]
        await system.client.patch(VirtualMachine, "vm1", "default", patch=patch, how="json")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.spec.instancetype is not None
        assert (vm.spec.instancetype.revision_name or "").endswith("-2")
        assert "virtshape.io/recapture" not in (vm.metadata.annotations or {})
        assert vm.status is not None
        assert find_condition(vm.status.conditions, "RestartRequired") is not None
        vmi = await restart(system)
        assert vmi.spec.domain.cpu is not None
        assert vmi.spec.domain.cpu.cores == 4
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        assert find_condition(vm.status.conditions, "RestartRequired") is None


async def test_halted_and_restarted_vm_gets_a_new_instance(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Halted"}})
        await system.wait_for("Stopped")
        await system.wait_until_gone(VirtualMachineInstance)
        await system.wait_until_idle(controllers)
        assert await system.find(VirtualMachineInstance) is None
        await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Always"}})
        await system.wait_for("Running")

        async def probe() -> bool | None:
            return True if (await system.revisions()).count("start") == 1 else None

        await eventually(probe, "the revision of the previous start must be deleted")


async def test_manual_vm_starts_and_stops_on_request(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Manual"))
        await system.wait_for("Stopped")
        await system.wait_until_idle(controllers)
        await ask(system, VirtualMachineStateChangeRequest("Start", data={"paused": "true"}))
        vm = await system.wait_for("Paused")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        assert vm.status.state_change_requests is None
        vmi = await system.vmi()
        await ask(system, VirtualMachineStateChangeRequest("Stop", uid=vmi.metadata.uid))
        await system.wait_until_gone(VirtualMachineInstance)
        await system.wait_for("Stopped")


async def test_paused_start_of_a_halted_vm_sets_run_strategy_always(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Halted"))
        await system.wait_for("Stopped")
        await system.wait_until_idle(controllers)
        await ask(system, VirtualMachineStateChangeRequest("Start", data={"paused": "true"}))
        vm = await system.wait_for("Paused")
        assert vm.spec.run_strategy == "Always"


async def test_template_change_of_a_running_vm_requires_a_restart(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        patch = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        assert find_condition(vm.status.conditions, "RestartRequired") is not None
        assert (vm.status.desired_generation or 0) > (vm.status.observed_generation or 0)


async def test_instance_without_a_launcher_is_unschedulable(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        async with system.run_controllers("none") as controllers:
            await system.wait_for("ErrorUnschedulable")
            await system.wait_until_idle(controllers)
            vmi = await system.vmi()
            assert vmi.status is not None
            assert vmi.status.phase == "Scheduling"
            condition = find_condition(vmi.status.conditions, "PodScheduled")
            assert condition is not None
            assert condition.message == "no node runs instances: no launcher is running"
        async with system.run_controllers("simulate"):
            await system.wait_for("Running")
            node = await system.client.get(Node, "simulated")
            assert (node.metadata.labels or {})["virtshape.io/simulated"] == "true"


async def test_instance_that_does_not_fit_a_node_waits_for_resources(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(
            preference_tree(),
            instancetype_tree("huge", 1, "800Ti"),
            vm_tree("one", instancetype={"name": "huge"}),
        )
        await system.wait_for("Running", "one")
        await system.create(vm_tree("two", instancetype={"name": "huge"}))
        await system.wait_for("ErrorUnschedulable", "two")
        vmi = await system.vmi("two")
        assert vmi.status is not None
        condition = find_condition(vmi.status.conditions, "PodScheduled")
        assert condition is not None
        assert condition.message == ("0/1 nodes are available: simulated has 224Ti of memory left, 800Ti needed")
        await system.client.delete(VirtualMachine, "one", "default")
        await system.wait_for("Running", "two")


async def test_vm_lifecycle_is_recorded_as_events(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        events = await system.list_events(COMPONENT)
        reported = {(one.involved_object.kind, one.reason, one.count) for one in events}
        assert reported == {
            ("VirtualMachine", "SuccessfulCapture", 1),
            ("VirtualMachine", "SuccessfulCreate", 1),
            ("VirtualMachineInstance", "Scheduled", 1),
            ("VirtualMachineInstance", "Started", 1),
        }
