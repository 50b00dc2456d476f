"""Instance type and preference references: missing, expanded by policy, changed, or from older releases."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)

from virtshape.api.apps import ControllerRevision
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import ControllerRevisionRef, VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.ownerreferences import make_owner_reference
from virtshape.api.status import StatusError
from virtshape.client.resources import metadata_of


async def configure(system: ControlledSystem, **settings: str) -> None:
    """Set the instance type settings of the configuration."""
    spec: JsonObject = {"configuration": {"instancetype": settings}}
    if await system.find(KubeVirt, "kubevirt", "kubevirt") is not None:
        await system.client.patch(KubeVirt, "kubevirt", "kubevirt", patch={"spec": spec})
        return
    metadata = {"name": "kubevirt", "namespace": "kubevirt"}
    await system.create({"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": metadata, "spec": spec})


async def test_vm_waits_for_its_instancetype(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await configure(system, missingReference="Defer")
        await system.create(preference_tree(), vm_tree())
        await system.wait_for("Stopped")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        condition = find_condition(vm.status.conditions, "Failure")
        assert condition is not None
        assert condition.reason == "FailedFindInstancetype"
        assert await system.find(VirtualMachineInstance) is None
        await system.create(instancetype_tree())
        vm = await system.wait_for("Running")
        assert vm.status is not None
        assert find_condition(vm.status.conditions, "Failure") is None


@pytest.mark.parametrize(
    ("policy", "captured", "expanded"),
    [("expand", False, True), ("expand", True, False), ("expandAll", True, True), ("reference", False, False)],
    ids=["expand a new VM", "expand keeps an existing VM", "expandAll", "reference"],
)
async def test_reference_policy_decides_which_vms_are_expanded(
    tmp_path: Path, policy: str, captured: bool, expanded: bool
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        await system.create(instancetype_tree(), preference_tree())
        if captured:
            await system.create(vm_tree())
            await system.wait_for("Running")
            await system.wait_until_idle(controllers)
        await configure(system, referencePolicy=policy)
        await system.wait_until_idle(controllers)
        if not captured:
            await system.create(vm_tree())
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert (vm.spec.instancetype is None) is expanded
        assert (vm.spec.preference is None) is expanded
        assert vm.status is not None
        assert (vm.status.instancetype_ref is None) is expanded
        assert find_condition(vm.status.conditions, "RestartRequired") is None
        template = vm.spec.template.spec
        assert template is not None
        cores = template.domain.cpu.cores if template.domain.cpu else None
        assert cores == (2 if expanded else None)
        names = [name for name in await system.revisions() if name != "start"]
        assert len(names) == (0 if expanded else 2)


def old_payload(version: str) -> Any:
    spec = {"cpu": {"guest": 3}, "memory": {"guest": "3Gi"}}
    if not version:
        return {"apiVersion": "", "spec": base64.b64encode(json.dumps(spec).encode()).decode()}
    return {
        "apiVersion": f"instancetype.kubevirt.io/{version}",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "small", "uid": "5e3c1f6c", "generation": 2},
        "spec": spec,
    }


@pytest.mark.parametrize("version", ["", "v1alpha1", "v1alpha2", "v1beta1"], ids=lambda text: text or "spec alone")
@pytest.mark.parametrize("place_of_name", ["spec", "status"])
async def test_revisions_of_older_releases_are_upgraded(tmp_path: Path, version: str, place_of_name: str) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Halted"))
        async with system.run_controllers() as controllers:
            await system.wait_for("Stopped")
            await system.wait_until_idle(controllers)
            vm = await system.vm()
            metadata = {"name": "old", "namespace": "default"}
            old: JsonObject = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata}
            await system.create({**old, "data": old_payload(version), "revision": 0})
            stored = await system.client.get(ControllerRevision, "old", "default")
            owned = replace(metadata_of(stored), owner_references=[make_owner_reference(vm)])
            await system.client.update(replace(stored, metadata=owned))
            await point_to_old(system, place_of_name)
            await system.wait_until_idle(controllers)
            await system.client.patch(VirtualMachine, "vm1", "default", patch={"spec": {"runStrategy": "Always"}})
            vm = await system.wait_for("Running")
            await system.wait_until_idle(controllers)
            vm, vmi = await system.vm(), await system.vmi()
        assert vmi.spec.domain.cpu is not None
        assert vmi.spec.domain.cpu.cores == 3
        assert vm.spec.instancetype is not None
        name = vm.spec.instancetype.revision_name or ""
        assert name.startswith("vm1-small-v1beta2-")
        assert vm.status is not None
        assert vm.status.instancetype_ref is not None
        assert vm.status.instancetype_ref.controller_revision_ref == ControllerRevisionRef(name)
        revision = await system.client.get(ControllerRevision, name, "default")
        assert revision.data["apiVersion"] == "instancetype.kubevirt.io/v1beta2"
        assert await system.find(ControllerRevision, "old") is None


async def point_to_old(system: ControlledSystem, where: str) -> None:
    vm = await system.vm()
    if where == "spec":
        assert vm.spec.instancetype is not None
        vm.spec.instancetype.revision_name = "old"
        await system.client.update(vm)
        return
    assert vm.status is not None
    assert vm.status.instancetype_ref is not None
    vm.status.instancetype_ref.controller_revision_ref = ControllerRevisionRef("old")
    await system.client.update_status(vm)


async def test_existing_revision_with_different_content_is_an_error(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree(), preference_tree())
        tree = instancetype_tree(guest=7)
        small = await system.client.get(VirtualMachineClusterInstancetype, "small")
        name = f"vm1-small-{metadata_of(small).uid}-1"
        revision: JsonObject = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": tree, "revision": 0}
        await system.create({**revision, "metadata": {"name": name, "namespace": "default"}})
        await system.create(vm_tree())
        async with system.run_controllers() as controllers:
            await system.wait_for("Stopped")
            await system.wait_until_idle(controllers)
            vm = await system.vm()
            assert vm.status is not None
            condition = find_condition(vm.status.conditions, "Failure")
            assert condition is not None
            assert "found existing ControllerRevision with unexpected data" in (condition.message or "")
            await system.client.delete(ControllerRevision, name, "default")
            await system.wait_for("Running")


async def test_renamed_reference_with_a_revision_name_is_rejected(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree(), instancetype_tree("large", 8), preference_tree())
        metadata = {"name": "chosen", "namespace": "default"}
        kept: JsonObject = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": metadata,
            "revision": 0,
        }
        await system.create({**kept, "data": old_payload("v1beta1")})
        matcher = {"name": "small", "revisionName": "chosen"}
        await system.create(vm_tree(instancetype=matcher, runStrategy="Halted"))
        patch = {"spec": {"instancetype": {"name": "large"}}}
        with pytest.raises(StatusError) as refused:
            await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)
        assert [cause.field for cause in refused.value.causes] == ["spec.instancetype.revisionName"]
        assert refused.value.message.endswith(
            "the Matcher name has been updated without updating the RevisionName: "
            "remove spec.instancetype.revisionName to use the current large"
        )
        async with system.run_controllers() as controllers:
            await system.wait_until_idle(controllers)
            vm = await system.vm()
            assert vm.status is not None
            assert vm.status.effective is not None
            assert vm.status.effective.vcpus == 3  # the vCPUs of the revision
