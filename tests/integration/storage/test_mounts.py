"""Sources of an instance's volumes, and the messages for missing sources."""

import hashlib
import json
import tarfile
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import ControlledSystem, list_versions, open_controlled_system
from tests.support.objects import object_from_tree
from tests.support.storage import MIB, claim_tree, find_image, volume_tree, wait_for_claim, wait_for_volume
from tests.support.waiting import eventually

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject, Model
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER
from virtshape.controllers.storage.files import NotReadyError
from virtshape.controllers.storage.mounts import PULLING, Mount, Mounts
from virtshape.standalone.guests.files import make_token_issuer
from virtshape.standalone.inprocesstransport import InProcessTransport
from virtshape.standalone.storage.containers import FetchedDisks
from virtshape.standalone.storage.local import open_storage
from virtshape.supervise.supervisor import Supervisor

CACHED: tuple[type[Model], ...] = (VirtualMachineInstance, PersistentVolumeClaim, PersistentVolume, DataVolume)
"""The kinds that mounts are found with."""


def instance_tree(*volumes: JsonObject, name: str = "vmi1", **spec: Any) -> JsonObject:
    disks = [{"name": volume["name"], "disk": {}} for volume in volumes]
    domain = {"devices": {"disks": disks}, "memory": {"guest": "128Mi"}, **spec.pop("domain", {})}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"domain": domain, "volumes": list(volumes), **spec},
    }


def secret_tree(name: str, **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


class MountCollector:
    """A server, and the object that collects the sources of an instance's volumes."""

    def __init__(self, system: ControlledSystem, mounts: Mounts, cache: Any) -> None:
        self.place = system
        self.mounts = mounts
        self.cache = cache

    async def start(self, tree: JsonObject) -> VirtualMachineInstance:
        """Create an instance and wait until it, and the current claims and volumes, are in the cache."""
        made = await self.place.client.create(object_from_tree(tree))
        assert isinstance(made, VirtualMachineInstance)
        name = made.metadata.name

        async def probe() -> VirtualMachineInstance | None:
            for kind in CACHED:
                stored = (await self.place.client.list(kind)).items
                if list_versions(self.cache.list(kind)) != list_versions(stored):
                    return None
            found: VirtualMachineInstance | None = self.cache.find(VirtualMachineInstance, name, "default")
            return found

        return await eventually(probe, "the cache is not current")

    async def gather(self, tree: JsonObject) -> dict[str, Mount]:
        """Wait until the mounts of an instance are available, and return them."""
        return await self.find_mounts(await self.start(tree))

    async def find_mounts(self, vmi: VirtualMachineInstance) -> dict[str, Mount]:
        """Return the mounts once no image is being pulled; raise NotReadyError if a source is not ready."""

        async def probe() -> dict[str, Mount] | None:
            try:
                return await self.mounts.gather(vmi)
            except NotReadyError as error:
                if error.reason != PULLING:
                    raise
                return None

        return await eventually(probe, "an image is still being pulled")


@asynccontextmanager
async def collect_mounts(directory: Path) -> AsyncIterator[MountCollector]:
    supervisor = Supervisor()
    async with (
        open_controlled_system(directory) as system,
        system.run_controllers("none") as controllers,
        open_storage(directory, supervisor) as storage,
    ):
        disks = FetchedDisks(directory, supervisor, lambda: 0.0)  # the clock does not advance, so that no back-off ends
        issue = make_token_issuer(InProcessTransport(system.server, CONTROLLER_USER), "PEM")
        mounts = Mounts(system.client, controllers.informers, storage, disks, issue)
        yield MountCollector(system, mounts, controllers.informers)
        await disks.close()


async def test_mounts_of_claims_are_images_in_the_data_directory(tmp_path: Path) -> None:
    async with collect_mounts(tmp_path) as system:
        await system.place.create(claim_tree("plain"), claim_tree("raw", volumeMode="Block"), volume_tree("dv1"))
        for name in ("plain", "raw"):
            await wait_for_claim(system.place, name)
        await wait_for_volume(system.place)
        volumes = [
            {"name": "a", "persistentVolumeClaim": {"claimName": "plain"}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "raw"}},
            {"name": "c", "dataVolume": {"name": "dv1"}},
            {"name": "d", "emptyDisk": {"capacity": "1Gi"}},
            {"name": "e", "cloudInitNoCloud": {"userData": "#cloud-config"}},
        ]
        found = await system.gather(instance_tree(*volumes))
        images = {name: await find_image(system.place, name) for name in ("plain", "raw", "dv1")}
        assert found == {"a": str(images["plain"].parent), "b": str(images["raw"]), "c": str(images["dv1"].parent)}
        assert images["plain"].stat().st_size == 8 * MIB


async def test_config_volumes_are_read_from_config_maps_secrets_and_service_accounts(tmp_path: Path) -> None:
    async with collect_mounts(tmp_path) as system:
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": "default"}}
        await system.place.create(
            {**settings, "data": {"a": "text"}, "binaryData": {"b": b64encode(b"\0").decode()}},
            secret_tree("s", key="value"),
            secret_tree("user", userdata="#cloud-config", other="no"),
            secret_tree("net", networkData="version: 2"),
            secret_tree("keys", mine="ssh-ed25519 AAAA"),
        )
        volumes = [
            {"name": "cm", "configMap": {"name": "cm"}},
            {"name": "s", "secret": {"secretName": "s"}},
            {"name": "optional", "secret": {"secretName": "none", "optional": True}},
            {"name": "sys", "sysprep": {"secret": {"name": "s"}}},
            {
                "name": "facts",
                "downwardAPI": {"fields": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]},
            },
            {
                "name": "ci",
                "cloudInitNoCloud": {"secretRef": {"name": "user"}, "networkDataSecretRef": {"name": "net"}},
            },
            {"name": "sa", "serviceAccount": {"serviceAccountName": "default"}},
        ]
        method: JsonObject = {"noCloud": {}}
        credentials = [{"sshPublicKey": {"source": {"secret": {"secretName": "keys"}}, "propagationMethod": method}}]
        found = await system.gather(instance_tree(*volumes, accessCredentials=credentials))
        account = found.pop("sa")
        assert not isinstance(account, str)
        assert (account["ca.crt"], account["namespace"]) == (b"PEM", b"default")
        assert account["token"].count(b".") == 2
        assert found == {
            "cm": {"a": b"text", "b": b"\0"},
            "s": {"key": b"value"},
            "optional": {},
            "sys": {"key": b"value"},
            "facts": {"n": b"vmi1"},
            "ci": {"userdata": b"#cloud-config", "networkdata": b"version: 2"},
            "keys-access-cred": {"mine": b"ssh-ed25519 AAAA"},
        }


@pytest.mark.parametrize(
    ("volume", "reason", "message"),
    [
        ({"persistentVolumeClaim": {"claimName": "no"}}, "ClaimNotFound", "PersistentVolumeClaim no not found"),
        (
            {"persistentVolumeClaim": {"claimName": "stuck"}},
            "ClaimNotBound",
            "PersistentVolumeClaim stuck is not bound",
        ),
        ({"dataVolume": {"name": "dv1"}}, "DataVolumeNotReady", "DataVolume dv1 is UploadReady"),
        ({"configMap": {"name": "no"}}, "ConfigMapNotFound", "ConfigMap default/no not found"),
        ({"secret": {"secretName": "no"}}, "SecretNotFound", "Secret default/no not found"),
        ({"serviceAccount": {"serviceAccountName": "no"}}, "ServiceAccountNotFound", "ServiceAccount default/no"),
        ({"cloudInitNoCloud": {"secretRef": {"name": "s"}}}, "InvalidSecret", "has no key userdata"),
        ({"containerDisk": {"image": "no.example/a:1", "imagePullPolicy": "Never"}}, "ErrImagePull", "is not present"),
        ({"containerDisk": {"image": "Not A Name"}}, "ErrImagePull", "is not the name of a container image"),
    ],
    ids=[
        "missing claim",
        "unbound claim",
        "unfilled DataVolume",
        "missing ConfigMap",
        "missing Secret",
        "missing ServiceAccount",
        "missing key",
        "image that is never pulled",
        "invalid image name",
    ],
)
async def test_volume_source_that_is_not_ready_is_reported_with_its_name(
    tmp_path: Path, volume: JsonObject, reason: str, message: str
) -> None:
    async with collect_mounts(tmp_path) as system:
        await system.place.create(
            claim_tree("stuck", storageClassName="none"),
            volume_tree(source={"upload": {}}),
            secret_tree("s", a="b"),
        )
        await wait_for_volume(system.place, phase="UploadReady")
        vmi = await system.start(instance_tree({"name": "a", **volume}))
        with pytest.raises(NotReadyError, match=message) as missing:
            await system.find_mounts(vmi)
        assert missing.value.reason == reason


async def test_instance_waits_while_another_instance_uses_its_read_write_once_claim(tmp_path: Path) -> None:
    async with collect_mounts(tmp_path) as system:
        await system.place.create(claim_tree())
        await wait_for_claim(system.place)
        volume = {"name": "a", "persistentVolumeClaim": {"claimName": "c1"}}
        await system.gather(instance_tree(volume))
        second = await system.start(instance_tree(volume, name="vmi2"))
        message = r"c1 \(ReadWriteOnce\) is in use by VirtualMachineInstance vmi1"
        with pytest.raises(NotReadyError, match=message):
            await system.mounts.gather(second)
        await system.place.client.delete(VirtualMachineInstance, "vmi1", "default")
        await system.place.wait_until_gone(VirtualMachineInstance, "vmi1")

        async def probe() -> dict[str, Mount] | None:
            try:
                return await system.mounts.gather(second)
            except NotReadyError:
                return None

        await eventually(probe, "the claim is still in use by the first guest")


async def test_disks_are_extracted_from_container_images(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    disk = tmp_path / "disk.raw"
    disk.write_bytes(b"f" * 512)
    make_docker_archive(tmp_path / "archive.tar", {"disk/disk.img": b"d" * 512, "boot/kernel": b"kernel"})
    images = {"registry.example/file:1": str(disk), "registry.example/archive:1": str(tmp_path / "archive.tar")}
    (tmp_path / "data" / "config.yaml").write_text(json.dumps({"images": images}))
    async with collect_mounts(tmp_path / "data") as system:
        volumes = [
            {"name": "file", "containerDisk": {"image": "registry.example/file:1"}},
            {"name": "archive", "containerDisk": {"image": "registry.example/archive:1"}},
        ]
        container = {"image": "registry.example/archive:1", "kernelPath": "/boot/kernel"}
        firmware = {"kernelBoot": {"container": container}}
        found = await system.gather(instance_tree(*volumes, domain={"firmware": firmware}))
        assert found["file"] == str(disk)
        assert Path(str(found["archive"])).read_bytes() == b"d" * 512
        assert Path(str(found["kernelBoot"]), "boot", "kernel").read_bytes() == b"kernel"


async def test_failed_pull_of_one_of_several_images_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "disk.raw").write_bytes(b"f" * 512)
    images = {"registry.example/good:1": str(tmp_path / "disk.raw")}
    (tmp_path / "data" / "config.yaml").write_text(json.dumps({"images": images}))
    async with collect_mounts(tmp_path / "data") as system:
        volumes = [
            {"name": "good", "containerDisk": {"image": "registry.example/good:1"}},
            {"name": "bad", "containerDisk": {"image": "no.example/bad:1", "imagePullPolicy": "Never"}},
        ]
        vmi = await system.start(instance_tree(*volumes))
        for reason in ("ErrImagePull", "ImagePullBackOff", "ImagePullBackOff"):
            with pytest.raises(NotReadyError, match=r"pulling image no\.example/bad:1 failed: ") as missing:
                await system.find_mounts(vmi)
            assert missing.value.reason == reason


async def test_data_volume_is_imported_from_a_container_image(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    make_docker_archive(tmp_path / "archive.tar", {"disk/disk.img": b"d" * MIB})
    images = {"registry.example/archive:1": str(tmp_path / "archive.tar")}
    (tmp_path / "data" / "config.yaml").write_text(json.dumps({"images": images}))
    async with collect_mounts(tmp_path / "data") as system:
        source = {"registry": {"url": "docker://registry.example/archive:1"}}
        await system.place.create(volume_tree("dv1", size=None, source=source), volume_tree("dv2", source=source))
        await wait_for_volume(system.place)
        await wait_for_volume(system.place, "dv2")
        assert (await find_image(system.place, "dv1")).read_bytes() == b"d" * MIB
        assert (await find_image(system.place, "dv2")).read_bytes() == (b"d" * MIB).ljust(8 * MIB, b"\0")


def make_docker_archive(path: Path, files: dict[str, bytes]) -> None:
    """Write a container image with one layer, as `docker save` does."""
    layer = pack(files)
    configuration = json.dumps({"rootfs": {"diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "Layers": ["layer.tar"]}]).encode()
    path.write_bytes(pack({"manifest.json": manifest, "config.json": configuration, "layer.tar": layer}))


def pack(files: dict[str, bytes]) -> bytes:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
    return packed.getvalue()
