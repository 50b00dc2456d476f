"""State of claims: bound, populated, or waiting for an upload."""

import pytest
from tests.support.storageobjects import CDI, MARK, build_bound, build_claim, build_target, build_volume

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import from_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.engine.claims import (
    count_failures,
    find_claim_size,
    find_upload_key,
    get_content,
    is_bound,
    is_filled,
    is_upload_target,
)


def build_sized(requested: str | None, capacity: str | None) -> PersistentVolumeClaim:
    resources = {"requests": {"storage": requested}} if requested else {}
    status = {"capacity": {"storage": capacity}} if capacity else {}
    tree = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"resources": resources}, "status": status}
    return from_tree(tree, PersistentVolumeClaim)


SIZES = {
    "capacity of the volume": (build_sized("1Gi", "2Gi"), 2 * 1024**3),
    "requested size": (build_sized("1Gi", None), 1024**3),
    "unknown size": (build_sized(None, None), None),
}


@pytest.mark.parametrize(("claim", "size"), SIZES.values(), ids=SIZES.keys())
def test_size_of_a_claim_is_its_capacity_or_its_request(claim: PersistentVolumeClaim, size: int | None) -> None:
    assert find_claim_size(claim) == size


def own(claim: PersistentVolumeClaim, kind: str) -> PersistentVolumeClaim:
    claim.metadata.owner_references = [
        OwnerReference(name="c1", api_version="cdi.kubevirt.io/v1beta1", kind=kind, uid="dv-uid", controller=True)
    ]
    return claim


def build_owner(name: str = "c1", uid: str = "dv-uid", namespace: str = "default") -> DataVolume:
    tree = {"metadata": {"name": name, "namespace": namespace, "uid": uid}, "spec": {"source": {"upload": {}}}}
    return from_tree({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", **tree}, DataVolume)


BOUND = build_volume(claim="c1", uid="u1")
TARGETS: dict[str, tuple[PersistentVolumeClaim, DataVolume | None, bool]] = {
    "marked": (build_target(), None, True),
    "without the annotation": (build_bound(), None, False),
    "owned by its DataVolume": (own(build_target(), "DataVolume"), build_owner(), False),
    "owned by a DataVolume that does not exist": (own(build_target(), "DataVolume"), None, True),
    "owned by another kind": (own(build_target(), "StatefulSet"), None, True),
    "clone": (build_bound(annotations=MARK, dataSource={"kind": "PersistentVolumeClaim", "name": "c0"}), None, False),
}
OWNED = own(build_target(), "DataVolume")
KEYS: dict[str, tuple[PersistentVolumeClaim, DataVolume | None, PersistentVolume | None, str]] = {
    "name of the volume": (build_target(), None, BOUND, "pv-c1"),
    "uid of the DataVolume": (OWNED, build_owner(), BOUND, "dv-uid"),
    "missing DataVolume": (OWNED, None, BOUND, "pv-c1"),
    "DataVolume with another uid": (OWNED, build_owner(uid="other"), BOUND, "pv-c1"),
    "DataVolume with another name": (OWNED, build_owner("c2"), BOUND, "pv-c1"),
    "DataVolume in another namespace": (OWNED, build_owner(namespace="prod"), BOUND, "pv-c1"),
    "missing volume": (build_target(), None, None, ""),
    "volume of another claim": (build_target(), None, build_volume(claim="c1", uid="u2"), ""),
    "volume reserved by name only": (build_target(), None, build_volume(claim="c1"), ""),
    "available volume": (build_target(), None, build_volume(), ""),
    "no volume": (build_claim(annotations=MARK), None, None, ""),
}
FILLED = {
    "ordinary claim": ({}, True),
    "claim that waits for an upload": (MARK, False),
    "claim during an upload": ({**MARK, f"{CDI}.pod.phase": "Running"}, False),
    "claim after an upload": ({**MARK, f"{CDI}.pod.phase": "Succeeded"}, True),
}


@pytest.mark.parametrize(("claim", "owner", "volume", "key"), KEYS.values(), ids=KEYS)
def test_upload_key_is_the_uid_of_the_data_volume_or_the_name_of_the_bound_volume(
    claim: PersistentVolumeClaim, owner: DataVolume | None, volume: PersistentVolume | None, key: str
) -> None:
    assert find_upload_key(claim, owner, volume) == key


@pytest.mark.parametrize(("stated", "content"), [(None, "kubevirt"), ("kubevirt", "kubevirt"), ("archive", "archive")])
def test_content_type_of_a_claim_defaults_to_kubevirt(stated: str | None, content: str) -> None:
    annotations = {f"{CDI}.contentType": stated} if stated else {}
    assert get_content(build_target(**annotations)) == content


@pytest.mark.parametrize(("text", "count"), [("3", 3), ("", 0), ("-1", 0), ("many", 0)])
def test_invalid_upload_failure_count_is_read_as_zero(text: str, count: int) -> None:
    assert count_failures(ObjectMeta(annotations={f"{CDI}.pod.restarts": text})) == count


@pytest.mark.parametrize(("annotations", "filled"), FILLED.values(), ids=FILLED)
def test_claim_is_not_populated_until_its_upload_is_complete(annotations: dict[str, str], filled: bool) -> None:
    assert is_filled(build_bound(annotations=annotations)) is filled


@pytest.mark.parametrize(
    ("phase", "filled"), [(None, True), ("Pending", False), ("Running", False), ("Succeeded", True)]
)
def test_claim_with_a_transfer_is_populated_only_after_the_transfer_succeeds(phase: str | None, filled: bool) -> None:
    annotations = {"cdi.kubevirt.io/storage.pod.phase": phase} if phase else {}
    assert is_filled(build_bound(annotations=annotations)) is filled


def test_bound_claim_must_name_a_volume() -> None:
    assert is_bound(build_bound())
    assert not is_bound(build_claim(phase="Bound"))
    assert not is_bound(build_claim(volumeName="v"))


@pytest.mark.parametrize(("claim", "owner", "is_one"), TARGETS.values(), ids=TARGETS)
def test_claim_with_the_upload_annotation_and_no_other_source_is_an_upload_target(
    claim: PersistentVolumeClaim, owner: DataVolume | None, is_one: bool
) -> None:
    assert is_upload_target(claim, owner) is is_one
