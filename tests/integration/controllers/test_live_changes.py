"""Changes to running guests: live updates of vCPUs and memory, pause and reset."""

from pathlib import Path
from typing import Any

import pytest
from tests.integration.controllers.test_references import configure
from tests.support.controllers import ControlledSystem, instancetype_tree, open_controlled_system, vm_tree
from tests.support.waiting import eventually

from virtshape.api.kubevirt.conditions import find_condition, is_condition_true
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError

ROOM: JsonObject = {
    "spec": {
        "domain": {
            "cpu": {"sockets": 1, "maxSockets": 4},
            "memory": {"guest": "1Gi", "maxGuest": "4Gi"},
            "devices": {},
        }
    }
}


def sized_vm() -> JsonObject:
    tree = vm_tree(template=ROOM)
    tree["spec"] = {"runStrategy": "Always", "template": ROOM}
    return tree


async def resize(system: ControlledSystem, *, sockets: int, memory: str) -> None:
    domain = {"cpu": {"sockets": sockets}, "memory": {"guest": memory}}
    patch = {"spec": {"template": {"spec": {"domain": domain}}}}
    await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)


@pytest.mark.parametrize(
    ("sockets", "memory"), [(2, "2Gi"), (1, "1Gi")], ids=["below the new size", "to the original size"]
)
async def test_vm_grows_live_and_requires_a_restart_to_shrink(tmp_path: Path, sockets: int, memory: str) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(sized_vm())
        await system.wait_for("Running")
        before = await system.vmi()
        await resize(system, sockets=3, memory="2Gi")

        async def probe() -> VirtualMachineInstance | None:
            vmi: Any = await system.vmi()
            return vmi if vmi.status.current_cpu_topology.sockets == 3 else None

        vmi: Any = await eventually(probe, "the instance has not grown")
        assert vmi.metadata.uid == before.metadata.uid
        seen = vmi.status.memory
        assert (seen.guest_at_boot, seen.guest_requested, seen.guest_current) == ("1Gi", "2Gi", "2Gi")
        await system.wait_until_idle(controllers)
        vm: Any = await system.vm()
        assert find_condition(vm.status.conditions, "RestartRequired") is None
        assert (vm.status.effective.vcpus, vm.status.effective.memory) == (3, "2Gi")

        await resize(system, sockets=sockets, memory=memory)

        async def asks() -> bool | None:
            vm: Any = await system.vm()
            return is_condition_true(vm.status.conditions, "RestartRequired") or None

        await eventually(asks, "no restart is required")
        vmi = await system.vmi()
        assert vmi.spec.domain.cpu.sockets == 3


async def switch(system: ControlledSystem, name: str) -> None:
    patch = {"spec": {"instancetype": {"name": name}}}
    await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)


async def wait_for_restart_reason(system: ControlledSystem) -> str:
    async def probe() -> str | None:
        vm: Any = await system.vm()
        required = find_condition(vm.status.conditions, "RestartRequired")
        return required.message if required is not None else None

    return await eventually(probe, "no restart is required")


async def test_growth_beyond_the_capacity_of_the_node_requires_a_restart(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree("small", 1, "400Ti"), instancetype_tree("large", 1, "1000Ti"))
        for name in ("vm1", "vm2"):
            await system.create(vm_tree(name, preference=None))
            await system.wait_for("Running", name)
        await system.wait_until_idle(controllers)
        await switch(system, "large")
        assert "has 624Ti of memory left, 1000Ti needed" in await wait_for_restart_reason(system)
        vmi: Any = await system.vmi()
        assert vmi.spec.domain.memory.guest == "400Ti"


@pytest.mark.parametrize("place", ["Spec", "Status"])
async def test_larger_instance_type_is_applied_to_a_running_vm(tmp_path: Path, place: str) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await configure(system, revisionName=place)
        await system.create(
            instancetype_tree("small", 1, "1Gi"),
            instancetype_tree("large", 4, "4Gi"),
            instancetype_tree("huge", 8, "8Gi"),
        )
        await system.create(vm_tree(instancetype={"name": "small"}, preference=None))
        await system.wait_for("Running")
        before: Any = await system.vmi()
        assert (before.spec.domain.cpu.max_sockets, before.spec.domain.memory.max_guest) == (None, None)
        await system.wait_until_idle(controllers)
        await switch(system, "large")

        async def probe() -> VirtualMachineInstance | None:
            vmi: Any = await system.vmi()
            return vmi if vmi.status.current_cpu_topology.sockets == 4 else None

        vmi: Any = await eventually(probe, "the instance has not grown")
        await system.wait_until_idle(controllers)
        assert (vmi.metadata.uid, vmi.status.memory.guest_current) == (before.metadata.uid, "4Gi")
        assert vmi.metadata.annotations["kubevirt.io/cluster-instancetype-name"] == "large"
        vm: Any = await system.vm()
        assert find_condition(vm.status.conditions, "RestartRequired") is None
        assert vm.status.effective.vcpus == 4

        await switch(system, "huge")
        reason = await wait_for_restart_reason(system)
        assert "8 sockets wanted, the guest was started with room for 4" in reason
        assert "8Gi wanted, the guest was started with room for 4Gi" in reason


@pytest.mark.parametrize("version", ["v1", "v1alpha3"])
async def test_guest_is_paused_and_resumed(tmp_path: Path, version: str) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers_with_guests():

        async def ask(action: str) -> int:
            group = f"/apis/subresources.kubevirt.io/{version}"
            path = f"{group}/namespaces/default/virtualmachineinstances/vm1/{action}"
            try:
                return (await system.client.request("PUT", path)).status
            except StatusError as error:
                return error.code

        await system.create(sized_vm())
        await system.wait_for("Running")
        assert await ask("pause") == 202
        await system.wait_for("Paused")
        assert await ask("pause") == 409
        assert await ask("unpause") == 202
        await system.wait_for("Running")
        assert await ask("unpause") == 409
        assert await ask("reset") == 202
        assert await ask("softreboot") == 202
