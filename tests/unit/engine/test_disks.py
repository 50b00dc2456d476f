"""Disks: one for each volume, and what a preference says of them."""

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
    ids=["no disks", "one named", "both named", "another named", "one a filesystem"],
)
def test_unreferenced_volume_gets_a_disk(devices: JsonObject, disks: list[JsonObject]) -> None:
    assert add_disks(devices, "a", "b")["disks"] == disks


def test_without_volumes_no_disk_is_added() -> None:
    assert add_disks({}) == {}
    assert add_disks({"disks": [{"name": "own"}]}) == {"disks": [{"name": "own"}]}


@pytest.mark.parametrize(
    ("disk", "filled"),
    [
        pytest.param({}, {"disk": {"bus": "virtio"}, **ON_VIRTIO}, id="no target becomes a disk"),
        pytest.param({"disk": {}}, {"disk": {"bus": "virtio"}, **ON_VIRTIO}, id="open"),
        pytest.param({"disk": {"bus": ""}}, {"disk": {"bus": "virtio"}, **ON_VIRTIO}, id="empty bus"),
        pytest.param({"disk": {"bus": "sata"}}, {"disk": {"bus": "sata"}, **ELSEWHERE}, id="own thread needs virtio"),
        pytest.param({"cdrom": {}}, {"cdrom": {"bus": "sata"}}, id="cdrom"),
        pytest.param({"lun": {}}, {"lun": {"bus": "scsi"}}, id="lun"),
        pytest.param(
            {"disk": {}, "cdrom": {}, "lun": {}},
            {"disk": {"bus": "virtio"}, "cdrom": {}, "lun": {}, **ON_VIRTIO},
            id="disk beats cdrom and lun",
        ),
        pytest.param({"cdrom": {}, "lun": {}}, {"cdrom": {"bus": "sata"}, "lun": {}}, id="cdrom beats lun"),
        pytest.param(
            {"disk": {"bus": "virtio"}, "cache": "writeback", "io": "threads", "dedicatedIOThread": False},
            {
                "disk": {"bus": "virtio"},
                "cache": "writeback",
                "io": "threads",
                "dedicatedIOThread": False,
                "blockSize": {"matchVolume": {}},
            },
            id="mostly chosen",
        ),
    ],
)
def test_a_preference_completes_a_disk(disk: JsonObject, filled: JsonObject) -> None:
    domain = apply_to_domain({"devices": {"disks": [{"name": "d", **disk}]}}, preference={"devices": DISK_TRAITS})
    assert domain["devices"]["disks"] == [{"name": "d", **filled}]


def test_disks_are_completed_one_by_one() -> None:
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
def test_any_device_preference_gives_a_bare_disk_a_disk_target(preference: JsonObject, disk: JsonObject) -> None:
    assert apply_to_domain({"devices": {"disks": [{"name": "d"}]}}, preference=preference)["devices"]["disks"] == [disk]
