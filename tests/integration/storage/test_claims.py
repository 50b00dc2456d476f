"""Claims with local storage: binding, expansion, protection while in use, and deletion."""

from pathlib import Path

import pytest
from tests.support.controllers import ControlledSystem, open_controlled_system
from tests.support.storage import (
    MIB,
    claim_tree,
    class_tree,
    find_image,
    find_persistent_volume,
    instance_tree,
    wait_briefly,
    wait_for_claim,
    wait_for_event,
    wait_until,
)
from tests.support.waiting import eventually

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import LocalVolumeSource, PersistentVolume, PersistentVolumeSpec
from virtshape.api.core.reference import ObjectReference
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.client.resources import metadata_of


async def test_claim_without_a_class_gets_a_volume_of_the_default_class(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree())
        claim = await wait_for_claim(system)
        assert claim.spec is not None
        assert claim.status is not None
        assert claim.spec.storage_class_name == "local"
        assert (claim.status.capacity, claim.status.access_modes) == ({"storage": "8Mi"}, ["ReadWriteOnce"])
        assert metadata_of(claim).finalizers == ["kubernetes.io/pvc-protection"]
        volume = await wait_until(
            system,
            PersistentVolume,
            claim.spec.volume_name or "",
            lambda one: one.status and one.status.phase == "Bound",
            "",
        )
        assert volume.spec is not None
        assert volume.spec.local is not None
        assert volume.spec.claim_ref is not None
        assert volume.spec.local.path == str(tmp_path / "volumes" / (metadata_of(volume).name or ""))
        assert volume.spec.claim_ref.uid == metadata_of(claim).uid
        assert volume.spec.persistent_volume_reclaim_policy == "Delete"
        assert Path(volume.spec.local.path).is_dir()
        assert list(Path(volume.spec.local.path).iterdir()) == []


async def test_block_volume_is_a_sparse_image(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(size="1Gi", volumeMode="Block"))
        await wait_for_claim(system)
        volume = await find_persistent_volume(system)
        image = await find_image(system)
        assert volume.spec is not None
        assert volume.spec.local is not None
        assert volume.spec.local.path == str(image)
        assert (image.stat().st_size, image.stat().st_blocks) == (1 << 30, 0)


async def test_claim_waits_for_its_first_consumer(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(storageClassName="local-wffc"))
        said = await wait_for_event(system, "c1", "WaitForFirstConsumer")
        assert said == "waiting for first consumer to be created before binding"
        await wait_briefly()
        assert (await wait_for_claim(system, phase="Pending")).spec is not None
        await system.create(instance_tree())
        await wait_for_claim(system)


async def test_immediate_binding_annotation_binds_a_claim_without_a_consumer(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        annotations = {"cdi.kubevirt.io/storage.bind.immediate.requested": ""}
        await system.create(claim_tree(storageClassName="local-wffc", metadata={"annotations": annotations}))
        await wait_for_claim(system)


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"storageClassName": "fast"}, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found'),
        ({"storageClassName": ""}, "FailedBinding", "no storage class is set"),
        ({"storageClassName": "other"}, "ExternalProvisioning", "ceph.example"),
        ({"volumeName": "mine"}, "FailedBinding", "volume mine"),
        ({"resources": {}}, "FailedBinding", "requests no size"),
        ({"accessModes": None}, "FailedBinding", "requests no access mode"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "ProvisioningFailed", "selector"),
    ],
    ids=[
        "unknown class",
        "no class",
        "class of another provisioner",
        "missing volume",
        "no size",
        "no mode",
        "selector",
    ],
)
async def test_unbindable_claim_stays_pending_with_an_event(
    tmp_path: Path, spec: JsonObject, reason: str, message: str
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(class_tree("other", provisioner="ceph.example"))
        await system.create(claim_tree(**spec))
        assert message in await wait_for_event(system, "c1", reason)
        await wait_for_claim(system, phase="Pending")


async def test_claim_is_bound_once_its_class_exists(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(storageClassName="fast"))
        await wait_for_event(system, "c1", "ProvisioningFailed")
        await system.create(class_tree("fast"))
        await wait_for_claim(system)


async def test_claim_expansion_grows_the_image(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(volumeMode="Block"))
        await wait_for_claim(system)
        image = await find_image(system)
        image.write_bytes(b"kept")
        patch = {"spec": {"resources": {"requests": {"storage": "16Mi"}}}}
        await system.client.patch(PersistentVolumeClaim, "c1", "default", patch=patch)
        await wait_until(
            system,
            PersistentVolumeClaim,
            "c1",
            lambda claim: claim.status and claim.status.capacity == {"storage": Quantity("16Mi")},
        )
        volume = await find_persistent_volume(system)
        assert volume.spec is not None
        assert volume.spec.capacity == {"storage": "16Mi"}
        assert image.stat().st_size == 16 * MIB
        assert image.read_bytes()[:4] == b"kept"
        assert "expanded to 16Mi" in await wait_for_event(system, "c1", "VolumeResizeSuccessful")


async def test_deleted_claim_remains_while_a_guest_uses_it(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(), instance_tree())
        await wait_for_claim(system)
        image = await find_image(system)
        await system.client.delete(PersistentVolumeClaim, "c1", "default")
        assert "VirtualMachineInstance vmi1" in await wait_for_event(system, "c1", "InUse")
        await wait_briefly()
        assert await system.find(PersistentVolumeClaim, "c1") is not None
        assert image.parent.is_dir()
        await system.client.delete(VirtualMachineInstance, "vmi1", "default")
        await system.wait_until_gone(PersistentVolumeClaim, "c1")


async def test_volume_is_deleted_with_its_claim(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(volumeMode="Block"))
        await wait_for_claim(system)
        volume = metadata_of(await find_persistent_volume(system)).name or ""
        await system.client.delete(PersistentVolumeClaim, "c1", "default")
        await system.wait_until_gone(PersistentVolumeClaim, "c1")
        await wait_until_no_volume(system, volume)
        assert list((tmp_path / "volumes").iterdir()) == []


async def wait_until_no_volume(system: ControlledSystem, name: str) -> None:
    async def probe() -> bool | None:
        return True if await system.find(PersistentVolume, name, "") is None else None

    await eventually(probe, f"volume {name} is still there")


async def test_retained_volume_is_released_and_can_be_bound_again(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(class_tree("kept", reclaimPolicy="Retain"))
        await system.create(claim_tree(storageClassName="kept", volumeMode="Block"))
        await wait_for_claim(system)
        image = await find_image(system)
        image.write_bytes(b"mine")
        name = metadata_of(await find_persistent_volume(system)).name or ""
        await system.client.delete(PersistentVolumeClaim, "c1", "default")
        await system.wait_until_gone(PersistentVolumeClaim, "c1")
        await wait_until(system, PersistentVolume, name, lambda one: one.status and one.status.phase == "Released", "")
        await system.client.patch(PersistentVolume, name, patch={"spec": {"claimRef": None}})
        await wait_until(system, PersistentVolume, name, lambda one: one.status and one.status.phase == "Available", "")
        await system.create(claim_tree("c2", storageClassName="kept", volumeMode="Block"))
        await wait_for_claim(system, "c2")
        assert (await find_image(system, "c2")).read_bytes().rstrip(b"\0") == b"mine"


async def test_volume_with_a_claim_reference_is_reserved_for_that_claim(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.client.create(
            PersistentVolume(
                api_version="v1",
                kind="PersistentVolume",
                metadata=ObjectMeta(name="mine"),
                spec=reserved_spec(tmp_path / "elsewhere"),
            )
        )
        await system.create(claim_tree("other", storageClassName=""))
        await system.create(claim_tree("c1", storageClassName=""))
        claim = await wait_for_claim(system)
        assert claim.spec is not None
        assert claim.spec.volume_name == "mine"
        assert (await wait_for_claim(system, "other", "Pending")).spec is not None


def reserved_spec(path: Path) -> PersistentVolumeSpec:
    return PersistentVolumeSpec(
        access_modes=["ReadWriteOnce"],
        capacity={"storage": Quantity("1Gi")},
        claim_ref=ObjectReference(name="c1", namespace="default"),
        local=LocalVolumeSource(path=str(path)),
    )


async def test_claim_whose_volume_is_missing_becomes_lost(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree())
        await wait_for_claim(system)
        volume = await find_persistent_volume(system)
        name = metadata_of(volume).name or ""
        await system.client.delete(PersistentVolume, name)
        await wait_briefly()
        assert await system.find(PersistentVolume, name, "") is not None  # a bound volume is protected
        await system.client.patch(PersistentVolume, name, patch={"metadata": {"finalizers": None}})
        await wait_for_claim(system, phase="Lost")
        assert f"lost its volume {name}" in await wait_for_event(system, "c1", "ClaimLost")


async def test_claim_is_populated_from_a_claim_or_a_snapshot(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree(volumeMode="Block"))
        await wait_for_claim(system)
        (await find_image(system)).write_bytes(b"first".ljust(8 * MIB, b"\0"))
        snapshot = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot"}
        metadata = {"name": "s1", "namespace": "default"}
        await system.create({**snapshot, "metadata": metadata, "spec": {"source": {"persistentVolumeClaimName": "c1"}}})
        taken = await wait_until(system, VolumeSnapshot, "s1", lambda one: one.status and one.status.ready_to_use)
        assert taken.status is not None
        assert taken.status.restore_size == "8Mi"
        (await find_image(system)).write_bytes(b"later".ljust(8 * MIB, b"\0"))
        origin = {"kind": "PersistentVolumeClaim", "name": "c1"}
        await system.create(claim_tree("copy", "16Mi", volumeMode="Block", dataSource=origin))
        origin = {"kind": "VolumeSnapshot", "apiGroup": "snapshot.storage.k8s.io", "name": "s1"}
        await system.create(claim_tree("restored", volumeMode="Block", dataSource=origin))
        await wait_for_claim(system, "copy")
        await wait_for_claim(system, "restored")
        copy, restored = await find_image(system, "copy"), await find_image(system, "restored")
        assert (copy.read_bytes()[:5], copy.stat().st_size) == (b"later", 16 * MIB)
        assert (restored.read_bytes()[:5], restored.stat().st_size) == (b"first", 8 * MIB)
        await system.client.delete(VolumeSnapshot, "s1", "default")
        await system.wait_until_gone(VolumeSnapshot, "s1")
        assert not list((tmp_path / "snapshots").iterdir())
        while list((tmp_path / "scratch").iterdir()):
            await wait_briefly(0.01)
