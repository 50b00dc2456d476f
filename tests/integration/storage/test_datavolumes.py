"""DataVolumes without network sources: blank disks, clones, uploads and rejected sources."""

from pathlib import Path

import pytest
from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.storage import (
    MIB,
    claim_tree,
    find_image,
    instance_tree,
    volume_tree,
    wait_briefly,
    wait_for_claim,
    wait_for_event,
    wait_for_volume,
    wait_until,
)

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.client.resources import metadata_of

SOURCE_METADATA: JsonObject = {
    "labels": {"instancetype.kubevirt.io/default-instancetype": "u1.small", "team": "a"},
    "annotations": {"instancetype.kubevirt.io/defaultPreference": "fedora"},
}


def describe(volume: DataVolume) -> JsonObject:
    """Return the status without its timestamps."""
    tree: JsonObject = to_tree(volume.status)
    for condition in tree["conditions"]:
        del condition["lastTransitionTime"]
    return tree


async def make_source(system: ControlledSystem, name: str = "source", text: bytes = b"golden") -> None:
    """Create a claim with instance type labels, and then write its content."""
    await system.create(volume_tree(name, metadata=SOURCE_METADATA))
    await wait_for_volume(system, name)
    (await find_image(system, name)).write_bytes(text.ljust(8 * MIB, b"\0"))


async def test_blank_data_volume_gets_an_empty_disk(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(volume_tree())
        volume = await wait_for_volume(system)
        assert describe(volume) == {
            "claimName": "dv1",
            "phase": "Succeeded",
            "progress": "100.0%",
            "conditions": [
                {"type": "Bound", "status": "True", "reason": "Bound", "message": "PVC dv1 Bound"},
                {"type": "Ready", "status": "True"},
                {"type": "Running", "status": "False", "reason": "Completed", "message": "Import Complete"},
            ],
        }
        image = await find_image(system, "dv1")
        assert (image.stat().st_size, image.stat().st_blocks) == (8 * MIB, 0)
        claim = await system.client.get(PersistentVolumeClaim, "dv1", "default")
        assert metadata_of(claim).annotations == {
            "cdi.kubevirt.io/storage.contentType": "kubevirt",
            "cdi.kubevirt.io/storage.pod.phase": "Succeeded",
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.kubernetes.io/storage-provisioner": "virtshape.io/local",
        }


async def test_preallocated_disk_allocates_all_its_space(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(volume_tree(preallocation=True))
        await wait_for_volume(system)
        image = await find_image(system, "dv1")
        assert image.stat().st_blocks * 512 >= 8 * MIB


@pytest.mark.parametrize(
    "spec",
    [
        {"source": {"pvc": {"name": "source", "namespace": "default"}}},
        {"sourceRef": {"kind": "DataSource", "name": "image"}},
        {"sourceRef": {"kind": "DataSource", "name": "alias", "namespace": "default"}},
    ],
    ids=["claim", "data source", "data source of a data source"],
)
async def test_clone_has_size_content_and_defaults_of_its_source(tmp_path: Path, spec: JsonObject) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await make_source(system, "prepared")
        await system.create(
            data_source_tree("image", {"pvc": {"name": "source", "namespace": "default"}}),
            data_source_tree("alias", {"dataSource": {"name": "image", "namespace": "default"}}),
            volume_tree("dv1", size=None, **spec),
        )
        await wait_until(system, DataVolume, "dv1", lambda one: one.status and one.status.phase == "Pending")
        # The source is a clone too, so that it has its content from the beginning.
        prepared = {"pvc": {"name": "prepared", "namespace": "default"}}
        await system.create(volume_tree("source", metadata=SOURCE_METADATA, source=prepared))
        volume = await wait_for_volume(system)
        assert describe(volume)["conditions"][2]["message"] == "Clone Complete"
        claim = await system.client.get(PersistentVolumeClaim, "dv1", "default")
        assert claim.status is not None
        assert claim.status.capacity == {"storage": "8Mi"}
        metadata = metadata_of(claim)
        assert metadata.labels == {"instancetype.kubevirt.io/default-instancetype": "u1.small"}
        assert (metadata.annotations or {})["instancetype.kubevirt.io/defaultPreference"] == "fedora"
        assert (await find_image(system, "dv1")).read_bytes()[:6] == b"golden"


def data_source_tree(name: str, source: JsonObject) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    kind = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource"}
    return {**kind, "metadata": metadata, "spec": {"source": source}}


async def test_data_volume_is_restored_from_a_snapshot(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await make_source(system)
        metadata = {"name": "s1", "namespace": "default"}
        kind = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": metadata}
        await system.create({**kind, "spec": {"source": {"persistentVolumeClaimName": "source"}}})
        await wait_until(system, VolumeSnapshot, "s1", lambda one: one.status and one.status.ready_to_use)
        await system.client.delete(DataVolume, "source", "default")
        await system.wait_until_gone(PersistentVolumeClaim, "source")
        source = {"snapshot": {"name": "s1", "namespace": "default"}}
        await system.create(volume_tree("dv1", size=None, source=source))
        await wait_for_volume(system)
        assert (await find_image(system, "dv1")).read_bytes()[:6] == b"golden"


async def test_clone_waits_while_its_source_may_be_written(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await make_source(system)
        await system.create(instance_tree(claim="source"))
        await system.create(volume_tree(source={"pvc": {"name": "source", "namespace": "default"}}))
        assert "VirtualMachineInstance vmi1" in await wait_for_event(system, "dv1", "CloneSourceInUse")
        volume = await wait_for_volume(system, phase="CloneScheduled")
        assert describe(volume)["conditions"][2]["reason"] == "CloneSourceInUse"
        await system.client.delete(VirtualMachineInstance, "vmi1", "default")
        await wait_for_volume(system)


async def test_clone_into_a_smaller_volume_fails_permanently(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await make_source(system)
        await system.create(volume_tree(size="4Mi", source={"pvc": {"name": "source", "namespace": "default"}}))
        volume = await wait_for_volume(system, phase="Failed")
        assert "8388608 bytes but the claim only 4194304" in describe(volume)["conditions"][2]["message"]


async def test_data_volume_waits_for_its_first_consumer(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        waiting: JsonObject = {"storage": {"storageClassName": "local-wffc"} | volume_tree()["spec"]["storage"]}
        await system.create(volume_tree("dv1", **waiting))
        await wait_for_volume(system, phase="WaitForFirstConsumer")
        annotations = {"cdi.kubevirt.io/storage.bind.immediate.requested": "true"}
        await system.create(volume_tree("dv2", metadata={"annotations": annotations}, **waiting))
        await wait_for_volume(system, "dv2")
        await system.create(instance_tree(dataVolume={"name": "dv1"}))
        await wait_for_volume(system)


async def test_data_volumes_of_templates_are_created_and_deleted_with_the_vm(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(instancetype_tree(), preference_tree())
        waiting: JsonObject = {"storage": {"storageClassName": "local-wffc"} | volume_tree()["spec"]["storage"]}
        templates = [
            {"metadata": {"name": "root"}, "spec": volume_tree()["spec"]},
            {"metadata": {"name": "data"}, "spec": volume_tree(**waiting)["spec"]},
        ]
        volumes = [{"name": name, "dataVolume": {"name": name}} for name in ("root", "data")]
        await system.create(vm_tree(template={"volumes": volumes}, dataVolumeTemplates=templates))
        await wait_for_volume(system, "root")
        await wait_for_volume(system, "data")  # the instance is the first consumer
        await system.wait_for("ErrorUnschedulable")
        await system.client.delete(type(await system.vm()), "vm1", "default")
        for name in ("root", "data"):
            await system.wait_until_gone(PersistentVolumeClaim, name)
        await system.wait_until_gone(DataVolume, "data")
        while (await system.client.list(PersistentVolume)).items:
            await wait_briefly(0.01)
        assert not list((tmp_path / "volumes").iterdir())


@pytest.mark.parametrize(
    ("size", "expected"), [("8Mi", 8 * MIB), (None, MIB)], ids=["requested size", "size of the upload"]
)
async def test_upload_populates_the_claim_of_a_data_volume(tmp_path: Path, size: str | None, expected: int) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(volume_tree(size=size, source={"upload": {}}))
        volume = await wait_for_volume(system, phase="UploadReady")
        box = tmp_path / "uploads" / (metadata_of(volume).uid or "")
        box.parent.mkdir(exist_ok=True)
        part = box.with_suffix(".part")
        part.write_bytes(b"sent".ljust(MIB, b"\0"))
        part.rename(box)
        await wait_for_volume(system)
        image = await find_image(system, "dv1")
        assert (image.read_bytes()[:4], image.stat().st_size) == (b"sent", expected)
        assert not box.exists()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"source": {"s3": {"url": "s3://bucket/image"}}}, "source s3 (an S3 store) is not supported"),
        ({"source": {"gcs": {"url": "gs://bucket/image"}}}, "source gcs (Google Cloud Storage) is not supported"),
        ({"source": {"vddk": {}}}, "source vddk (a VMware server) is not supported"),
        (
            {"source": {"imageio": {"url": "https://a", "diskId": "1"}}},
            "source imageio (an oVirt server) is not supported",
        ),
        ({"source": {"registry": {"imageStream": "a"}}}, "source registry must set url"),
        ({"source": {}}, "the source is empty"),
        ({"source": {"blank": {}}, "size": None}, "no size is set"),
        ({"source": {"blank": {}}, "checkpoints": [{"current": "a", "previous": ""}]}, "checkpoints are not supported"),
        ({"sourceRef": {"kind": "Other", "name": "a"}}, "only DataSource is supported"),
    ],
    ids=[
        "s3",
        "gcs",
        "vddk",
        "imageio",
        "image stream",
        "empty",
        "no size",
        "checkpoints",
        "reference to another kind",
    ],
)
async def test_unsupported_data_volume_source_is_rejected_with_a_reason(
    tmp_path: Path, spec: JsonObject, message: str
) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(volume_tree("dv1", **spec))
        volume = await wait_for_volume(system, phase="Failed")
        assert message in describe(volume)["conditions"][2]["message"]


async def test_data_volume_adopts_an_existing_claim_only_if_it_is_annotated(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers("none"):
        await system.create(claim_tree("dv1"))
        claim = await wait_for_claim(system, "dv1")
        await system.create(volume_tree())
        assert "not owned by this DataVolume" in await wait_for_event(system, "dv1", "ErrClaimNotValid")
        patch = {"metadata": {"annotations": {"cdi.kubevirt.io/storage.populatedFor": "dv1"}}}
        await system.client.patch(PersistentVolumeClaim, "dv1", "default", patch=patch)
        await wait_for_volume(system)
        adopted = await system.client.get(PersistentVolumeClaim, "dv1", "default")
        assert metadata_of(adopted).uid == metadata_of(claim).uid
        assert [owner.kind for owner in metadata_of(adopted).owner_references or ()] == ["DataVolume"]
