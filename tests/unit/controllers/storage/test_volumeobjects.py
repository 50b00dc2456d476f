"""PersistentVolumes for claims: content, phases and status."""

import pytest
from tests.support.instances import EARLIER, STAMP
from tests.support.storageobjects import build_bound, build_claim, build_class, build_volume

from virtshape.api.codec import to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume, PersistentVolumeStatus
from virtshape.controllers.storage.claims import describe_bound, enlarge, is_too_small
from virtshape.controllers.storage.protocol import Volume
from virtshape.controllers.storage.volumeobjects import (
    build_volume as build_new,
)
from virtshape.controllers.storage.volumeobjects import (
    decide_phase,
    describe_volume,
    find_path,
    is_deleted_with_claim,
    list_reservations,
    plan_volume,
    read_volume,
)


def test_provisioned_volume_is_reserved_for_its_claim() -> None:
    made = build_new(build_claim(volumeMode="Block"), build_class(reclaimPolicy="Retain"), "/data/disk.img")
    assert to_tree(made) == {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": "pvc-u1",
            "annotations": {"pv.kubernetes.io/provisioned-by": "virtshape.io/local"},
            "finalizers": ["kubernetes.io/pv-protection", "virtshape.io/bytes"],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": "c1",
                "namespace": "default",
                "uid": "u1",
            },
            "local": {"path": "/data/disk.img"},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "local",
            "volumeMode": "Block",
        },
    }
    assert read_volume(made) == plan_volume(build_claim(volumeMode="Block")) == Volume("pvc-u1", 1 << 30, "Block")
    assert find_path(made) == "/data/disk.img"
    assert list_reservations(made) == ["default/c1"]
    assert not is_deleted_with_claim(made)


@pytest.mark.parametrize(
    ("volume", "claim", "phase"),
    [
        (build_volume(), None, "Available"),
        (build_volume(claim="c1"), None, "Available"),
        (build_volume(claim="c1"), build_claim(), "Available"),
        (build_volume(claim="c1", uid="u1"), build_claim(), "Pending"),
        (build_volume(claim="c1", uid="u1"), build_bound(), "Bound"),
        (build_volume(claim="c1", uid="u1"), None, "Released"),
        (build_volume(claim="c1", uid="u0"), build_bound(), "Released"),
        (build_volume("other", claim="c1", uid="u1"), build_bound(), "Released"),
    ],
    ids=[
        "free",
        "reserved",
        "awaited",
        "binding in progress",
        "bound",
        "released",
        "released by an earlier claim",
        "not chosen",
    ],
)
def test_volume_phase_depends_on_its_claim(
    volume: PersistentVolume, claim: PersistentVolumeClaim | None, phase: str
) -> None:
    assert decide_phase(volume, claim) == phase


def test_transition_time_is_set_only_if_the_volume_phase_changes() -> None:
    volume = build_volume()
    assert describe_volume(volume, "Bound", STAMP) == PersistentVolumeStatus(STAMP, phase="Bound")
    volume.status = PersistentVolumeStatus(EARLIER, phase="Bound")
    assert describe_volume(volume, "Bound", STAMP) == volume.status


def test_bound_claim_has_the_capacity_of_its_volume() -> None:
    claim, volume = build_claim(), build_volume(size="2Gi", accessModes=["ReadWriteOnce", "ReadWriteMany"])
    status = describe_bound(claim, volume)
    assert (status.phase, status.capacity) == ("Bound", {"storage": "2Gi"})
    assert status.access_modes == ["ReadWriteOnce", "ReadWriteMany"]


def test_volume_is_expanded_to_the_size_of_its_claim() -> None:
    claim, volume = build_bound(size="3Gi"), build_volume()
    assert is_too_small(claim, volume)
    larger = enlarge(claim, volume)
    assert larger.spec is not None
    assert larger.spec.capacity == {"storage": "3Gi"}
    assert not is_too_small(claim, larger)
