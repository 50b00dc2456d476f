"""Volumes, devices and credentials that a launcher finds in its pod."""

from pathlib import Path

import pytest
from tests.support.instances import build_vmi

from virtshape.api.model import JsonObject
from virtshape.launcher.pod.mounts import find_mounts, list_host_disk_roots, read_devices

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


def gather(place: Path, name: str, source: JsonObject) -> dict[str, str]:
    vmi = build_vmi(volumes=[{"name": name, **source}])
    found = find_mounts(vmi, place / "mounts", f"{place}/device-", place / "token")
    return {name: str(Path(path).relative_to(place)) for name, path in found.items()}


@pytest.mark.parametrize(("source", "path"), VOLUMES.values(), ids=VOLUMES.keys())
def test_pod_volume_is_found_at_its_path(place: Path, source: JsonObject, path: str | None) -> None:
    assert gather(place, "filled", source).get("filled") == path


def test_block_device_of_a_claim_is_preferred_to_a_directory(place: Path) -> None:
    (place / "device-raw").touch()
    assert gather(place, "raw", {"persistentVolumeClaim": {"claimName": "c"}})["raw"] == "device-raw"


def test_credentials_and_kernels_have_separate_mount_names(place: Path) -> None:
    found = gather(place, "v", {"emptyDisk": {"capacity": "1Gi"}})
    assert found == {"k-access-cred": "mounts/k-access-cred", "kernelBoot": "mounts/kernelBoot"}


def test_empty_claim_gets_a_disk_with_nearly_all_its_space(place: Path) -> None:
    (place / "mounts/new/lost+found").mkdir(parents=True)
    gather(place, "new", {"dataVolume": {"name": "d"}})
    size = (place / "mounts/new/disk.img").stat().st_size
    assert size > 0
    assert size % 4096 == 0
    gather(place, "new", {"dataVolume": {"name": "d"}})
    assert (place / "mounts/new/disk.img").stat().st_size == size


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
