"""Disks: one for each volume, with preferred values for unset fields."""

import pytest
from tests.support.build import build_spec
from tests.support.engine import apply_to_domain

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.engine.disks import apply_default_disks

DISK_TRAITS: JsonObject = {
    "preferredDiskBus": "virtio",
    "preferredDiskCache": "none",
    "preferredDiskIO": "native",
    "preferredDiskBlockSize": {"matchVolume": {}},
    "preferredDiskDedicatedIoThread": True,
    "preferredCdromBus": "sata",
    "preferredLunBus": "scsi",
}
ON_VIRTIO: JsonObject = {"cache": "none", "io": "native", "blockSize": {"matchVolume": {}}, "dedicatedIOThread": True}
ELSEWHERE: JsonObject = {"cache": "none", "io": "native", "blockSize": {"matchVolume": {}}}


def add_disks(devices: JsonObject, *volumes: str) -> JsonObject:
    spec = build_spec(
        {"devices": devices}, volumes=[{"name": name, "emptyDisk": {"capacity": "1Gi"}} for name in volumes]
    )
    apply_default_disks(spec)
    tree: JsonObject = to_tree(spec.domain.devices)
    return tree


@pytest.mark.parametrize(
    ("devices", "disks"),
    [
        ({}, [{"name": "a"}, {"name": "b"}]),
        ({"disks": [{"name": "b", "disk": {"bus": "sata"}}]}, [{"name": "b", "disk": {"bus": "sata"}}, {"name": "a"}]),
        ({"disks": [{"name": "b"}, {"name": "a"}]}, [{"name": "b"}, {"name": "a"}]),
        ({"disks": [{"name": "other"}]}, [{"name": "other"}, {"name": "a"}, {"name": "b"}]),
        ({"filesystems": [{"name": "a", "virtiofs": {}}]}, [{"name": "b"}]),
    ],
    ids=["no disks", "one named", "both named", "other disk named", "one filesystem"],
)
def test_unreferenced_volume_gets_a_disk(devices: JsonObject, disks: list[JsonObject]) -> None:
    assert add_disks(devices, "a", "b")["disks"] == disks


def test_no_disk_is_added_without_volumes() -> None:
    assert add_disks({}) == {}
    assert add_disks({"disks": [{"name": "own"}]}) == {"disks": [{"name": "own"}]}


@pytest.mark.parametrize(
    ("disk", "filled"),
    [
        pytest.param({}, {"disk": {"bus": "virtio"}, **ON_VIRTIO}, id="no target"),
        pytest.param({"disk": {}}, {"disk": {"bus": "virtio"}, **ON_VIRTIO}, id="unset bus"),
        pytest.param({"disk": {"bus": ""}}, {"disk": {"bus": "virtio"}, **ON_VIRTIO}, id="empty bus"),
        pytest.param(
            {"disk": {"bus": "sata"}}, {"disk": {"bus": "sata"}, **ELSEWHERE}, id="dedicated I/O thread needs virtio"
        ),
        pytest.param({"cdrom": {}}, {"cdrom": {"bus": "sata"}}, id="cdrom"),
        pytest.param({"lun": {}}, {"lun": {"bus": "scsi"}}, id="lun"),
        pytest.param(
            {"disk": {}, "cdrom": {}, "lun": {}},
            {"disk": {"bus": "virtio"}, "cdrom": {}, "lun": {}, **ON_VIRTIO},
            id="disk before cdrom and lun",
        ),
        pytest.param({"cdrom": {}, "lun": {}}, {"cdrom": {"bus": "sata"}, "lun": {}}, id="cdrom before lun"),
        pytest.param(
            {"disk": {"bus": "virtio"}, "cache": "writeback", "io": "threads", "dedicatedIOThread": False},
            {
                "disk": {"bus": "virtio"},
                "cache": "writeback",
                "io": "threads",
                "dedicatedIOThread": False,
                "blockSize": {"matchVolume": {}},
            },
            id="most fields set",
        ),
    ],
)
def test_preference_fills_unset_disk_fields(disk: JsonObject, filled: JsonObject) -> None:
    domain = apply_to_domain({"devices": {"disks": [{"name": "d", **disk}]}}, preference={"devices": DISK_TRAITS})
    assert domain["devices"]["disks"] == [{"name": "d", **filled}]


def test_preference_fills_unset_fields_of_each_disk() -> None:
    disks = [{"name": "a", "disk": {"bus": "sata"}}, {"name": "b", "disk": {}}]
    domain = apply_to_domain({"devices": {"disks": disks}}, preference={"devices": {"preferredDiskBus": "virtio"}})
    assert domain["devices"]["disks"] == [
        {"name": "a", "disk": {"bus": "sata"}},
        {"name": "b", "disk": {"bus": "virtio"}},
    ]


@pytest.mark.parametrize(
    ("preference", "disk"),
    [({"devices": {}}, {"name": "d", "disk": {}}), ({}, {"name": "d"}), ({"features": {}}, {"name": "d"})],
    ids=["empty device preferences", "empty preference", "other preferences"],
)
def test_only_device_preferences_add_a_target_to_a_disk_without_a_target(
    preference: JsonObject, disk: JsonObject
) -> None:
    assert apply_to_domain({"devices": {"disks": [{"name": "d"}]}}, preference=preference)["devices"]["disks"] == [disk]
