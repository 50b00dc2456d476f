"""The policy about references switched under a hundred VMs, running and stopped."""

from pathlib import Path

from tests.integration.controllers.test_references import configure
from tests.support.controlled import Place, instancetype_tree, placed, preference_tree, vm_tree
from tests.support.worlds import run

from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.client.resources import metadata_of
from virtshape.controllers.manager import Controllers
from virtshape.controllers.runtime.conditions import find_condition

SIZE = 100
RUNNING = SIZE // 2


async def list_vms(place: Place) -> dict[str, VirtualMachine]:
    return {metadata_of(vm).name or "": vm for vm in (await place.client.list(VirtualMachine, "default")).items}


async def list_instances(place: Place) -> dict[str, str]:
    """The names and uids of all instances."""
    found = (await place.client.list(VirtualMachineInstance, "default")).items
    return {metadata_of(vmi).name or "": metadata_of(vmi).uid or "" for vmi in found}


async def switch(place: Place, controllers: Controllers, policy: str) -> dict[str, VirtualMachine]:
    """Switch the policy; the VMs after everybody has seen it."""
    await configure(place, referencePolicy=policy)
    await place.settle(controllers)
    return await list_vms(place)


def is_expanded(vm: VirtualMachine) -> bool:
    cpu = vm.spec.template.spec.domain.cpu if vm.spec.template.spec else None
    has_references = vm.spec.instancetype is not None or vm.spec.preference is not None
    assert has_references is (cpu is None)
    assert vm.status is not None
    assert (vm.status.instancetype_ref is not None) is has_references
    assert find_condition(vm.status.conditions, "RestartRequired") is None
    assert vm.status.effective is not None
    assert (vm.status.effective.vcpus, vm.status.effective.topology) == (2, "1x2x1")
    return not has_references


async def count_revisions(place: Place) -> tuple[int, int]:
    """How many there are of what VMs refer to, and of VMs' own specs."""
    names = await place.revisions()
    starts = names.count("start")
    return len(names) - starts, starts


def test_the_policy_is_switched_under_a_hundred_vms(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with placed(tmp_path) as place, place.controlling() as controllers:
            await place.create(instancetype_tree(), preference_tree())
            for number in range(SIZE):
                strategy = "Always" if number < RUNNING else "Halted"
                await place.create(vm_tree(f"vm{number:03}", runStrategy=strategy))
            await place.settle(controllers)
            before = await list_instances(place)
            assert len(before) == RUNNING

            vms = await switch(place, controllers, "expand")
            assert not any(is_expanded(vm) for vm in vms.values())
            await place.create(vm_tree("newcomer", runStrategy="Halted"))
            await place.settle(controllers)
            vms = await list_vms(place)
            assert [name for name, vm in vms.items() if is_expanded(vm)] == ["newcomer"]
            assert await count_revisions(place) == (2 * SIZE, RUNNING)

            vms = await switch(place, controllers, "expandAll")
            assert all(is_expanded(vm) for vm in vms.values())
            assert await count_revisions(place) == (0, RUNNING)
            assert await list_instances(place) == before

            small = await place.client.get(VirtualMachineClusterInstancetype, "small")
            assert small.spec.cpu is not None
            small.spec.cpu.guest = 8
            await place.client.update(small)
            vms = await switch(place, controllers, "reference")
            assert len(vms) == SIZE + 1
            assert all(is_expanded(vm) for vm in vms.values())
            assert await list_instances(place) == before
            last = f"vm{SIZE - 1:03}"
            await place.client.patch(VirtualMachine, last, "default", patch={"spec": {"runStrategy": "Always"}})
            await place.wait_for("Running", last)
            vmi = await place.vmi(last)
            assert vmi.spec.domain.cpu is not None
            assert vmi.spec.domain.cpu.cores == 2

    run(scenario())
