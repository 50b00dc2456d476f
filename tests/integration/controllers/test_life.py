"""The life of a VM, from its creation to its deletion, with everything that belongs to it."""

from pathlib import Path

from tests.support.controlled import Place, eventually, instancetype_tree, placed, preference_tree, vm_tree
from tests.support.worlds import run

from virtshape.api.codec import to_tree
from virtshape.api.core.node import Node
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.controllers.manager import COMPONENT
from virtshape.controllers.runtime.conditions import find_condition
from virtshape.controllers.vmi.phases import phase_of


async def ask(place: Place, *requests: VirtualMachineStateChangeRequest) -> None:
    patch = {"status": {"stateChangeRequests": to_tree(list(requests))}}
    await place.client.patch(VirtualMachine, "vm1", "default", patch=patch, subresource="status")


async def restart(place: Place) -> VirtualMachineInstance:
    """Restart the VM; the instance that it then has."""
    before = await place.vmi()
    assert before.metadata is not None
    uid = before.metadata.uid
    await ask(place, VirtualMachineStateChangeRequest("Stop", uid=uid), VirtualMachineStateChangeRequest("Start"))

    async def look() -> VirtualMachineInstance | None:
        vmi = await place.find(VirtualMachineInstance)
        is_new = vmi is not None and vmi.metadata is not None and vmi.metadata.uid != uid
        return vmi if is_new and vmi is not None and phase_of(vmi) == "Running" else None

    return await eventually(look, "no new instance runs")


def test_a_vm_lives_and_dies(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree())
            vm = await place.wait_for("Running")
            await place.settle(controllers)
            vm = await place.vm()
            check_pinned(vm)
            first = await place.vmi()
            assert first.status is not None
            assert (first.status.phase, first.status.node_name) == ("Running", "simulated")
            assert len(await place.revisions()) == 3

            small = await place.client.get(VirtualMachineClusterInstancetype, "small")
            assert small.spec.cpu is not None
            small.spec.cpu.guest = 8
            await place.client.update(small)
            second = await restart(place)
            assert second.spec == first.spec
            assert (await place.vm()).spec.instancetype == vm.spec.instancetype

            await place.client.delete(VirtualMachine, "vm1", "default")
            await place.wait_until_gone(VirtualMachine)
            await place.wait_until_gone(VirtualMachineInstance)
            await place.wait_for_revisions()

    run(scenario())


def check_pinned(vm: VirtualMachine) -> None:
    assert vm.metadata is not None
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


def test_a_removed_revision_is_captured_anew_and_asks_for_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree())
            await place.wait_for("Running")
            small = await place.client.get(VirtualMachineClusterInstancetype, "small")
            assert small.spec.cpu is not None
            small.spec.cpu.guest = 4
            await place.client.update(small)
            await place.settle(controllers)
            patch = [{"op": "remove", "path": "/spec/instancetype/revisionName"}]
            await place.client.patch(VirtualMachine, "vm1", "default", patch=patch, how="json")
            await place.settle(controllers)
            vm = await place.vm()
            assert vm.spec.instancetype is not None
            assert (vm.spec.instancetype.revision_name or "").endswith("-2")
            assert vm.metadata is not None
            assert "virtshape.io/recapture" not in (vm.metadata.annotations or {})
            assert vm.status is not None
            assert find_condition(vm.status.conditions, "RestartRequired") is not None
            vmi = await restart(place)
            assert vmi.spec.domain.cpu is not None
            assert vmi.spec.domain.cpu.cores == 4
            await place.settle(controllers)
            vm = await place.vm()
            assert vm.status is not None
            assert find_condition(vm.status.conditions, "RestartRequired") is None

    run(scenario())


def test_halting_a_vm_stops_it_and_starting_it_again_gives_a_new_instance(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree())
            await place.wait_for("Running")
            await place.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Halted"}})
            await place.wait_for("Stopped")
            await place.wait_until_gone(VirtualMachineInstance)
            await place.settle(controllers)
            assert await place.find(VirtualMachineInstance) is None
            await place.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Always"}})
            await place.wait_for("Running")

            async def look() -> bool | None:
                return True if (await place.revisions()).count("start") == 1 else None

            await eventually(look, "the start before is not forgotten, though nobody needs it any more")

    run(scenario())


def test_a_manual_vm_starts_and_stops_when_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Manual"))
            await place.wait_for("Stopped")
            await place.settle(controllers)
            await ask(place, VirtualMachineStateChangeRequest("Start", data={"paused": "true"}))
            vm = await place.wait_for("Paused")
            await place.settle(controllers)
            vm = await place.vm()
            assert vm.status is not None
            assert vm.status.state_change_requests is None
            vmi = await place.vmi()
            assert vmi.metadata is not None
            await ask(place, VirtualMachineStateChangeRequest("Stop", uid=vmi.metadata.uid))
            await place.wait_until_gone(VirtualMachineInstance)
            await place.wait_for("Stopped")

    run(scenario())


def test_a_halted_vm_that_is_asked_to_start_paused_runs_for_good(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Halted"))
            await place.wait_for("Stopped")
            await place.settle(controllers)
            await ask(place, VirtualMachineStateChangeRequest("Start", data={"paused": "true"}))
            vm = await place.wait_for("Paused")
            assert vm.spec.run_strategy == "Always"

    run(scenario())


def test_a_change_of_the_template_asks_a_running_vm_for_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree())
            await place.wait_for("Running")
            await place.settle(controllers)
            patch = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}}
            await place.client.patch(VirtualMachine, "vm1", "default", patch=patch)
            await place.settle(controllers)
            vm = await place.vm()
            assert vm.status is not None
            assert find_condition(vm.status.conditions, "RestartRequired") is not None
            assert (vm.status.desired_generation or 0) > (vm.status.observed_generation or 0)

    run(scenario())


def test_without_a_launcher_an_instance_waits_and_says_why(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place:
            await place.create(instancetype_tree(), preference_tree(), vm_tree())
            async with place.controlling("none") as controllers:
                await place.wait_for("ErrorUnschedulable")
                await place.settle(controllers)
                vmi = await place.vmi()
                assert vmi.status is not None
                assert vmi.status.phase == "Scheduling"
                condition = find_condition(vmi.status.conditions, "PodScheduled")
                assert condition is not None
                assert condition.message == "no node runs instances: no launcher is at work"
            async with place.controlling("simulate"):
                await place.wait_for("Running")
                node = await place.client.get(Node, "simulated")
                assert node.metadata is not None
                assert (node.metadata.labels or {})["virtshape.io/simulated"] == "true"

    run(scenario())


def test_what_does_not_fit_waits_for_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling():
            await place.create(
                preference_tree(),
                instancetype_tree("huge", 1, "800Ti"),
                vm_tree("one", instancetype={"name": "huge"}),
            )
            await place.wait_for("Running", "one")
            await place.create(vm_tree("two", instancetype={"name": "huge"}))
            await place.wait_for("ErrorUnschedulable", "two")
            vmi = await place.vmi("two")
            assert vmi.status is not None
            condition = find_condition(vmi.status.conditions, "PodScheduled")
            assert condition is not None
            assert condition.message == ("0/1 nodes are available: simulated has 224Ti of memory left, 800Ti needed")
            await place.client.delete(VirtualMachine, "one", "default")
            await place.wait_for("Running", "two")

    run(scenario())


def test_events_tell_the_story(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree(), vm_tree())
            await place.wait_for("Running")
            await place.settle(controllers)
            events = await place.list_events(COMPONENT)
            told = {(one.involved_object.kind, one.reason, one.count) for one in events}
            assert told == {
                ("VirtualMachine", "SuccessfulCapture", 1),
                ("VirtualMachine", "SuccessfulCreate", 1),
                ("VirtualMachineInstance", "Scheduled", 1),
                ("VirtualMachineInstance", "Started", 1),
            }

    run(scenario())
