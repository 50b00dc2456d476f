"""Volumes, devices and credentials that a launcher finds in its pod."""

import os
from pathlib import Path

import pytest
from tests.support.instances import build_vmi

from virtshape.api.model import JsonObject
from virtshape.launcher.pod.mounts import find_mounts, list_host_disk_roots, read_devices
from virtshape.launcher.volumes.task import VolumeError

GI = 1024**3
CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
READ_ONLY = {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}}
VOLUMES: dict[str, tuple[JsonObject, str | None]] = {
    "filesystem claim": ({"persistentVolumeClaim": {"claimName": "c"}}, "mounts/filled"),
    "Secret": ({"secret": {"secretName": "s"}}, "mounts/filled"),
    "only disk of an image": ({"containerDisk": {"image": "i"}}, "mounts/filled/disk/only.qcow2"),
    "disk of an image by path": (
        {"containerDisk": {"image": "i", "path": "/other/a.img"}},
        "mounts/filled/other/a.img",
    ),
    "path outside an image": ({"containerDisk": {"image": "i", "path": "/../../secret"}}, None),
    "service account token": ({"serviceAccount": {"serviceAccountName": "a"}}, "token"),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("mounts/filled/disk", "mounts/filled/other", "token", "mounts/k-access-cred", "mounts/kernelBoot"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("mounts/filled/disk/only.qcow2", "mounts/filled/other/a.img", "mounts/filled/disk.img", "secret"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def gather(place: Path, name: str, source: JsonObject, size: int | None = GI) -> dict[str, str]:
    vmi = build_vmi(volumes=[{"name": name, **source}])
    sizes = {name: size} if size is not None else {}
    found = find_mounts(vmi, sizes, place / "mounts", f"{place}/device-", place / "token")
    return {name: str(Path(path).relative_to(place)) for name, path in found.items()}


@pytest.mark.parametrize(("source", "path"), VOLUMES.values(), ids=VOLUMES.keys())
def test_pod_volume_is_found_at_its_path(place: Path, source: JsonObject, path: str | None) -> None:
    assert gather(place, "filled", source).get("filled") == path


def test_block_device_of_a_claim_is_preferred_to_a_directory(place: Path) -> None:
    (place / "device-raw").touch()
    assert gather(place, "raw", {"persistentVolumeClaim": {"claimName": "c"}})["raw"] == "device-raw"


def test_demo_guest_is_found_in_the_launcher_image(place: Path) -> None:
    vmi = build_vmi(volumes=[{"name": "root", "containerDisk": {"image": "virtshape.local/demo"}}])
    demo = place / "demo.img"
    with pytest.raises(VolumeError, match=r"spec.volumes\[0\]: the launcher image does not contain the demo guest"):
        find_mounts(vmi, {}, place, demo=demo)
    demo.touch()
    assert find_mounts(vmi, {}, place, demo=demo)["root"] == str(demo)


def test_credentials_and_kernels_are_found_under_their_mount_names(place: Path) -> None:
    found = gather(place, "v", {"emptyDisk": {"capacity": "1Gi"}})
    assert found == {"k-access-cred": "mounts/k-access-cred", "kernelBoot": "mounts/kernelBoot"}


@pytest.mark.parametrize("capacity", [GI // 64, 10_000_000], ids=["binary size", "decimal size"])
def test_empty_claim_gets_a_disk_of_its_capacity_less_the_file_system_reserve(place: Path, capacity: int) -> None:
    (place / "mounts/new/lost+found").mkdir(parents=True)
    gather(place, "new", {"dataVolume": {"name": "d"}}, capacity)
    size = (place / "mounts/new/disk.img").stat().st_size
    assert capacity * 0.945 - 4096 < size <= capacity * 0.945
    assert size % 4096 == 0
    gather(place, "new", {"dataVolume": {"name": "d"}}, 2 * capacity)
    assert (place / "mounts/new/disk.img").stat().st_size == size


def test_disk_of_a_claim_is_not_larger_than_the_free_space(place: Path) -> None:
    room = os.statvfs(place)
    (place / "mounts/new").mkdir()
    gather(place, "new", CLAIM, 2 * room.f_bavail * room.f_frsize)
    assert (place / "mounts/new/disk.img").stat().st_size < room.f_bavail * room.f_frsize


def test_every_unusable_claim_is_reported_with_its_field(place: Path) -> None:
    for name in ("a", "b"):
        (place / "mounts" / name).mkdir()
    vmi = build_vmi(volumes=[{"name": "a", **READ_ONLY}, {"name": "c", **CLAIM}, {"name": "b", **CLAIM}])
    with pytest.raises(VolumeError) as error:
        find_mounts(vmi, {}, place / "mounts", f"{place}/device-")
    assert str(error.value) == (
        "spec.volumes[0]: this claim is empty and read-only, so no disk.img can be created in it; "
        "spec.volumes[2]: this claim is empty, and its size is unknown, so no disk.img is created in it"
    )


UNUSABLE = {
    "empty claim": ("new", CLAIM, "this claim is empty, and user .* has no permission to create disk.img in it"),
    "image": ("filled", CLAIM, "has no permission to open disk.img in this claim"),
    "block device": ("raw", CLAIM, "no permission to open the block device .* device_ownership_from_security_context"),
    "block device that is only read": ("raw", READ_ONLY, "device_ownership_from_security_context"),
}


@pytest.mark.parametrize(("name", "source", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_claim_without_permission_is_reported(
    place: Path, name: str, source: JsonObject, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "mounts/new").mkdir()
    (place / "device-raw").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)  # simulated, because root has access to all files
    with pytest.raises(VolumeError, match=message):
        gather(place, name, source)


def test_block_device_that_is_only_read_needs_no_write_access(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "device-raw").touch()
    monkeypatch.setattr(os, "access", lambda _, mode: mode == os.R_OK)
    assert gather(place, "raw", READ_ONLY)["raw"] == "device-raw"


def test_claim_with_other_files_is_not_changed(place: Path) -> None:
    (place / "mounts/mine").mkdir()
    (place / "mounts/mine/notes.txt").touch()
    gather(place, "mine", {"dataVolume": {"name": "d"}})
    assert not (place / "mounts/mine/disk.img").exists()


def test_host_devices_of_a_pod_are_read_from_environment_variables() -> None:
    vmi = build_vmi(
        domain={
            "devices": {
                "gpus": [{"name": "a", "deviceName": "nvidia.com/GP102GL_Titan"}],
                "hostDevices": [{"name": "b", "deviceName": "example.com/card"}],
            }
        }
    )
    environment = {
        "PCI_RESOURCE_NVIDIA_COM_GP102GL_TITAN": "0000:65:00.0,0000:66:00.0",
        "USB_RESOURCE_EXAMPLE_COM_CARD": "1:4",
    }
    assert read_devices(vmi, environment) == {
        "nvidia.com/GP102GL_Titan": ("0000:65:00.0", "0000:66:00.0"),
        "example.com/card": ("1:4",),
    }


def test_host_disk_roots_are_the_directories_mounted_into_the_pod() -> None:
    disks = [{"name": n, "hostDisk": {"path": f"/data/{n}.img", "type": "Disk"}} for n in ("a", "b")]
    assert list_host_disk_roots(build_vmi(volumes=disks)) == ("/data",)
