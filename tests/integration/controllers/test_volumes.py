"""DataVolumes, claims and DataSources of VMs with simulated storage."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.storage import wait_for_volume
from tests.support.waiting import eventually

from virtshape.api.cdi import DataSource, DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject, Model
from virtshape.client.protocol import Client, WatchEvent
from virtshape.client.resources import metadata_of
from virtshape.controllers.manager import COMPONENT

BEHIND_SECONDS = 0.3
AWAITED: JsonObject = {"source": {"upload": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}
WITH_DISK: JsonObject = {
    "template": {"volumes": [{"name": "root", "dataVolume": {"name": "root"}}]},
    "dataVolumeTemplates": [{"metadata": {"name": "root", "labels": {"own": "1"}}, "spec": AWAITED}],
}


async def test_vm_creates_its_data_volumes_and_waits_for_them(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(**WITH_DISK))
        async with system.run_controllers("none") as controllers:
            await system.wait_for("Provisioning")
            await system.wait_until_idle(controllers)
            # Idle controllers may still poll the storage.
            volume = await wait_for_volume(system, "root", "UploadReady")
            assert await system.find(VirtualMachineInstance) is None
            vm = await system.vm()
            (owner,) = metadata_of(volume).owner_references or []
            assert (owner.kind, owner.uid, owner.controller) == ("VirtualMachine", metadata_of(vm).uid, True)
            assert metadata_of(volume).labels == {"own": "1", "kubevirt.io/created-by": metadata_of(vm).uid}
            claim = await system.client.get(PersistentVolumeClaim, "root", "default")
            (owner,) = metadata_of(claim).owner_references or []
            assert (owner.kind, owner.name) == ("DataVolume", "root")
            assert claim.spec is not None
            assert claim.spec.access_modes == ["ReadWriteOnce"]
        async with system.run_controllers("simulate"):
            await system.wait_for("Running")
            volume = await system.client.get(DataVolume, "root", "default")
            assert volume.status is not None
            assert (volume.status.phase, volume.status.progress) == ("Succeeded", "100.0%")


class DelayedClient:
    """A client whose watch events for DataVolumes are delayed."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def watch(self, kind: type[Model], *given: Any, **named: Any) -> AsyncIterator[WatchEvent[Any]]:
        async with aclosing(self._client.watch(kind, *given, **named)) as events:
            async for event in events:
                if kind is DataVolume:
                    await asyncio.sleep(BEHIND_SECONDS)
                yield event


async def test_newly_created_data_volume_is_not_reported_as_missing(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers(wrap=DelayedClient) as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(**WITH_DISK))
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        events = await system.list_events(COMPONENT)
        assert [one.message for one in events if one.type == "Warning"] == []


async def test_vm_waits_for_a_missing_claim(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        disk = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "mine"}}]}
        await system.create(instancetype_tree(), preference_tree(), vm_tree(template=disk))
        vm = await system.wait_for("ErrorPvcNotFound")
        assert vm.status is not None
        reported = next(one for one in vm.status.conditions or () if one.type == "DataVolumesReady")
        assert (reported.reason, reported.message) == (
            "FailedPvcNotFound",
            "PersistentVolumeClaim mine not found",
        )
        await system.create(claim_tree("mine"))
        await system.wait_for("Running")


def claim_tree(name: str) -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


async def test_data_source_is_ready_once_its_claim_exists(tmp_path: Path) -> None:
    async def is_ready(system: ControlledSystem) -> str | None:
        source = await system.client.get(DataSource, "golden", "default")
        conditions = (source.status.conditions if source.status else None) or []
        return next((one.status for one in conditions if one.type == "Ready"), None)

    async with open_controlled_system(tmp_path) as system, system.run_controllers() as controllers:
        source = {"source": {"pvc": {"name": "image", "namespace": "default"}}}
        metadata = {"name": "golden", "namespace": "default"}
        tree = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": metadata}
        await system.create({**tree, "spec": source})
        await system.wait_until_idle(controllers)
        assert await is_ready(system) == "False"
        await system.create(claim_tree("image"))

        async def probe() -> bool | None:
            return True if await is_ready(system) == "True" else None

        await eventually(probe, "the source is not ready")
