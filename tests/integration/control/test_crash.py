"""Killed between any two writes, and started again, the controllers come to the same end."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from tests.controlled import PATIENCE_SECONDS, Place, instancetype_tree, placed, preference_tree, settle, vm_tree
from tests.worlds import run

from virtshape.api.apps import ControllerRevision
from virtshape.api.cdi import DataVolume
from virtshape.api.codec import to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.namespace import Namespace
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.api.meta import ObjectMeta
from virtshape.client.errors import UnreachableError
from virtshape.control.capture import is_settled, pinned_names
from virtshape.control.phases import phase_of

DISK = {
    "metadata": {"name": "root"},
    "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
}
VOLUMES = {"volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}
DEATHS = [(writes, late) for writes in range(1, 15) for late in (False, True)]


async def kill_after(place: Place, writes: int, *, late: bool) -> None:
    """Let the controllers make so many writes."""
    with contextlib.suppress(UnreachableError):  # some die before they have begun
        async with place.controlling_until(writes, late=late) as mortal:
            await asyncio.wait_for(mortal.died.wait(), PATIENCE_SECONDS)


async def check_running(place: Place) -> VirtualMachineInstance:
    async with place.controlling() as controllers:
        await place.wait_for("Running")
        await settle(controllers)
        vm, vmi = await place.vm(), await place.vmi()
        assert is_settled(vm)
        names = pinned_names(vm)
        assert await place.revisions() == sorted([*names.values(), "start"])
        assert vm.status is not None
        assert (vm.status.created, vm.status.state_change_requests) == (True, None)
        volume = await place.client.get(DataVolume, "root", "default")
        assert volume.status is not None
        assert volume.status.phase == "Succeeded"
        return vmi


@pytest.mark.parametrize(("writes", "late"), DEATHS)
def test_a_start_survives_a_crash(tmp_path: Path, writes: int, late: bool) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place:
            await place.create(
                instancetype_tree(), preference_tree(), vm_tree(template=VOLUMES, dataVolumeTemplates=[DISK])
            )
            await kill_after(place, writes, late=late)
            await check_running(place)

    run(scenario())


@pytest.mark.parametrize(("writes", "late"), DEATHS[:12])
def test_a_deletion_survives_a_crash(tmp_path: Path, writes: int, late: bool) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place:
            await place.create(
                instancetype_tree(), preference_tree(), vm_tree(template=VOLUMES, dataVolumeTemplates=[DISK])
            )
            await check_running(place)
            await place.client.delete(VirtualMachine, "vm1", "default")
            await kill_after(place, writes, late=late)
            async with place.controlling():
                await place.wait_until_gone(VirtualMachine)
                await place.wait_until_gone(VirtualMachineInstance)
                await place.wait_until_gone(DataVolume, "root")
                await place.wait_until_gone(PersistentVolumeClaim, "root")
                await place.wait_for_revisions()

    run(scenario())


@pytest.mark.parametrize(("writes", "late"), DEATHS[:12])
def test_a_restart_survives_a_crash(tmp_path: Path, writes: int, late: bool) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place:
            await place.create(
                instancetype_tree(), preference_tree(), vm_tree(template=VOLUMES, dataVolumeTemplates=[DISK])
            )
            before = await check_running(place)
            metadata = before.metadata or ObjectMeta()
            vm = await place.vm()
            assert vm.status is not None
            vm.status.state_change_requests = [
                VirtualMachineStateChangeRequest("Stop", uid=metadata.uid),
                VirtualMachineStateChangeRequest("Start"),
            ]
            await place.client.update_status(vm)
            await kill_after(place, writes, late=late)
            after = await check_running(place)
            assert (after.metadata or ObjectMeta()).uid != metadata.uid
            assert to_tree(after.spec) == to_tree(before.spec)

    run(scenario())


def test_many_vms_killed_again_and_again_are_all_there_and_then_all_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place:
            await place.create(instancetype_tree(), preference_tree())
            await place.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
            for number in range(30):
                tree = vm_tree(f"vm{number}")
                tree["metadata"]["namespace"] = "team"
                await place.create(tree)
            for round_ in range(5):
                await kill_after(place, 35 + 7 * round_, late=bool(round_ % 2))
            async with place.controlling() as controllers:
                await settle(controllers)
                instances = (await place.client.list(VirtualMachineInstance, "team")).items
                assert [phase_of(one) for one in instances] == ["Running"] * 30
                assert len((await place.client.list(ControllerRevision, "team")).items) == 90
            await place.client.delete(Namespace, "team")
            for round_ in range(5):
                await kill_after(place, 25 + 7 * round_, late=bool(round_ % 2))
            async with place.controlling():
                await place.wait_until_gone(Namespace, "team")
            for kind in (VirtualMachine, VirtualMachineInstance, ControllerRevision):
                assert not (await place.client.list(kind)).items

    run(scenario())
