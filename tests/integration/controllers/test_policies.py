"""The reference policy is switched for a hundred VMs, running and stopped."""

from pathlib import Path

from tests.integration.controllers.test_references import configure
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)

from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.client.resources import metadata_of
from virtshape.controllers.manager import Controllers

SIZE = 100
RUNNING = SIZE // 2


async def list_vms(system: ControlledSystem) -> dict[str, VirtualMachine]:
    return {metadata_of(vm).name or "": vm for vm in (await system.client.list(VirtualMachine, "default")).items}


async def list_instances(system: ControlledSystem) -> dict[str, str]:
    """Return the names and uids of all instances."""
    found = (await system.client.list(VirtualMachineInstance, "default")).items
    return {metadata_of(vmi).name or "": metadata_of(vmi).uid or "" for vmi in found}


async def switch(system: ControlledSystem, controllers: Controllers, policy: str) -> dict[str, VirtualMachine]:
    """Switch the policy and return the VMs after all controllers have processed it."""
    await configure(system, referencePolicy=policy)
    await system.wait_until_idle(controllers)
    return await list_vms(system)


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


async def count_revisions(system: ControlledSystem) -> tuple[int, int]:
    """Return the number of revisions of referenced objects and of VM specs."""
    names = await system.revisions()
    starts = names.count("start")
    return len(names) - starts, starts


async def test_reference_policy_of_a_hundred_vms_is_switched_without_restarts(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree())
        for number in range(SIZE):
            strategy = "Always" if number < RUNNING else "Halted"
            await system.create(vm_tree(f"vm{number:03}", runStrategy=strategy))
        await system.wait_until_idle(controllers)
        before = await list_instances(system)
        assert len(before) == RUNNING

        vms = await switch(system, controllers, "expand")
        assert not any(is_expanded(vm) for vm in vms.values())
        await system.create(vm_tree("newcomer", runStrategy="Halted"))
        await system.wait_until_idle(controllers)
        vms = await list_vms(system)
        assert [name for name, vm in vms.items() if is_expanded(vm)] == ["newcomer"]
        assert await count_revisions(system) == (2 * SIZE, RUNNING)

        vms = await switch(system, controllers, "expandAll")
        assert all(is_expanded(vm) for vm in vms.values())
        assert await count_revisions(system) == (0, RUNNING)
        assert await list_instances(system) == before

        small = await system.client.get(VirtualMachineClusterInstancetype, "small")
        assert small.spec.cpu is not None
        small.spec.cpu.guest = 8
        await system.client.update(small)
        vms = await switch(system, controllers, "reference")
        assert len(vms) == SIZE + 1
        assert all(is_expanded(vm) for vm in vms.values())
        assert await list_instances(system) == before
        last = f"vm{SIZE - 1:03}"
        await system.client.patch(VirtualMachine, last, "default", patch={"spec": {"runStrategy": "Always"}})
        await system.wait_for("Running", last)
        vmi = await system.vmi(last)
        assert vmi.spec.domain.cpu is not None
        assert vmi.spec.domain.cpu.cores == 2
