"""addvolume and removevolume with the VM controller and simulated guests."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import ControlledSystem, open_controlled_system, vm_tree
from tests.support.waiting import eventually

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.client.actions import Resource, request_action

TEMPLATE: JsonObject = {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}}
HOTPLUGGABLE: JsonObject = {"name": "data", "persistentVolumeClaim": {"claimName": "data", "hotpluggable": True}}


def build_vm(run_strategy: str = "Always") -> JsonObject:
    tree = vm_tree(template=TEMPLATE)
    tree["spec"] = {"runStrategy": run_strategy, "template": TEMPLATE}
    return tree


def build_options(**options: Any) -> JsonObject:
    return {
        "name": "data",
        "disk": {"disk": {"bus": "scsi"}},
        "volumeSource": {"persistentVolumeClaim": {"claimName": "data"}},
        **options,
    }


async def change_volume(
    system: ControlledSystem, action: str, options: JsonObject, resource: Resource = "virtualmachines"
) -> None:
    await request_action(system.client, "default", resource, "vm1", action, options)


async def wait_for_volumes(system: ControlledSystem, *names: str) -> None:
    """Wait until the instance has these volumes and reports them as ready."""

    async def probe() -> bool | None:
        vmi: Any = await system.vmi()
        ready = [one.name for one in vmi.status.volume_status or () if one.phase == "Ready"]
        return ([one.name for one in vmi.spec.volumes or ()], ready) == ([*names], [*names]) or None

    await eventually(probe, f"the volumes of the instance are not {names}")


async def list_template_volumes(system: ControlledSystem) -> list[str]:
    vm: Any = await system.vm()
    return [one.name for one in vm.spec.template.spec.volumes or ()]


async def test_volume_is_added_to_vm_and_instance_and_removed_again(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(build_vm())
        await system.wait_for("Running")
        uid = (await system.vmi()).metadata.uid
        await change_volume(system, "addvolume", build_options())
        await wait_for_volumes(system, "data")
        await system.wait_until_idle(controllers)
        vm: Any = await system.vm()
        assert [one.name for one in vm.spec.template.spec.volumes] == ["data"]
        assert vm.status.volume_requests is None
        assert find_condition(vm.status.conditions, "RestartRequired") is None
        await change_volume(system, "removevolume", {"name": "data"})
        await wait_for_volumes(system)
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert (vm.spec.template.spec.volumes, vm.status.volume_requests) == (None, None)
        assert find_condition(vm.status.conditions, "RestartRequired") is None
        assert (await system.vmi()).metadata.uid == uid
        reasons = [event.reason for event in await system.list_events("virtualmachine-controller")]
        assert reasons.count("VolumesChanged") == 2


async def test_hotpluggable_volumes_of_an_edited_vm_are_added_to_and_removed_from_its_instance(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(build_vm())
        await system.wait_for("Running")
        devices = {"disks": [{"name": "data", "disk": {"bus": "virtio"}}]}
        patch = {"spec": {"template": {"spec": {"domain": {"devices": devices}, "volumes": [HOTPLUGGABLE]}}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)
        await wait_for_volumes(system, "data")
        gone = {"spec": {"template": {"spec": {"domain": {"devices": {"disks": None}}, "volumes": None}}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=gone)
        await wait_for_volumes(system)


async def test_volume_that_is_not_hotpluggable_requires_a_restart(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(build_vm())
        await system.wait_for("Running")
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        patch = {"spec": {"template": {"spec": {"volumes": [volume]}}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)

        async def probe() -> str | None:
            vm: Any = await system.vm()
            found = find_condition(vm.status.conditions, "RestartRequired")
            return found.message if found is not None else None

        assert "spec.volumes" in await eventually(probe, "no restart is required")
        assert (await system.vmi()).spec.volumes is None


async def test_volume_added_to_a_stopped_vm_is_stored_in_its_template(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(build_vm("Halted"))
        await system.wait_for("Stopped")
        await change_volume(system, "addvolume", build_options())

        async def probe() -> bool | None:
            return await list_template_volumes(system) == ["data"] or None

        await eventually(probe, "the VM has no volume")


async def test_dry_run_of_addvolume_changes_nothing(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(build_vm())
        await change_volume(system, "addvolume", build_options(dryRun=["All"]))
        vm: Any = await system.vm()
        assert vm.status is None or vm.status.volume_requests is None


async def test_addvolume_request_that_makes_the_vm_invalid_is_rejected(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(build_vm())
        with pytest.raises(StatusError) as refused:
            await change_volume(system, "addvolume", build_options(name="Not A Label"))
        assert (refused.value.code, refused.value.reason) == (422, "Invalid")
        assert "spec.template.spec.domain.devices.disks[0].name" in [cause.field for cause in refused.value.causes]


async def test_successive_addvolume_requests_are_all_applied(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(build_vm())
        await system.wait_for("Running")
        for name in ("a", "b", "c"):
            source = {"persistentVolumeClaim": {"claimName": name}}
            await change_volume(system, "addvolume", build_options(name=name, volumeSource=source))
        await wait_for_volumes(system, "a", "b", "c")


async def test_addvolume_to_an_instance_owned_by_a_vm_is_rejected(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(build_vm())
        await system.wait_for("Running")
        with pytest.raises(StatusError, match="VMI default/vm1 is owned by a VM") as refused:
            await change_volume(system, "addvolume", build_options(), "virtualmachineinstances")
        assert refused.value.code == 400
        assert await system.find(PersistentVolumeClaim, "data") is None
