"""VMs of a retired instance type: existing VMs start, restart and can be edited; new VMs are refused."""

from pathlib import Path

import pytest
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError

RETIREMENT: JsonObject = {
    "metadata": {
        "labels": {"virtshape.io/lifecycle": "retired"},
        "annotations": {"virtshape.io/replacement": "large"},
    },
    "spec": {"memory": {"guest": "7Gi"}},
}


async def retire(system: ControlledSystem) -> None:
    """Retire the instance type and change its memory, which must not affect existing VMs."""
    name = instancetype_tree()["metadata"]["name"]
    await system.client.patch(VirtualMachineClusterInstancetype, name, patch=RETIREMENT)


async def test_vm_of_a_retired_instancetype_restarts_from_its_revision(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        async with system.run_controllers() as controllers:
            await system.create(instancetype_tree(), preference_tree(), vm_tree())
            await system.wait_for("Running")
            await system.wait_until_idle(controllers)
            memory = (await system.vmi()).spec.domain.memory
            await retire(system)
        async with system.run_controllers():
            first = (await system.vmi()).metadata.uid
            await system.client.delete(VirtualMachineInstance, "vm1", "default")

            async def find_restarted() -> VirtualMachineInstance | None:
                found = await system.find(VirtualMachineInstance)
                return found if found is not None and found.metadata.uid != first else None

            restarted = await eventually(find_restarted, "the VM is not restarted")
            assert restarted.spec.domain.memory == memory
            await system.wait_for("Running")
            edit = {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}}
            await system.client.patch(VirtualMachine, "vm1", "default", patch=edit)
            with pytest.raises(StatusError, match="is retired: new VMs cannot use it; use large instead"):
                await system.create(vm_tree(name="vm2"))
