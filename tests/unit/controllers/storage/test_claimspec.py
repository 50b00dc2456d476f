"""Claims of DataVolumes, and adoption of existing claims."""

from typing import Any

import pytest
from tests.support.storageobjects import build_claim, build_data_volume

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import to_tree
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.api.model import JsonObject
from virtshape.controllers.storage.claimspec import build_claim as build_new
from virtshape.controllers.storage.claimspec import can_adopt, inherit_defaults, states_size

SIZE = {"requests": {"storage": "1Gi"}}


@pytest.mark.parametrize(
    ("volume", "size", "spec"),
    [
        (build_data_volume(), None, {"accessModes": ["ReadWriteOnce"], "resources": SIZE}),
        (
            build_data_volume(storage={}),
            (3 << 20) - 1,
            {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Mi"}}},
        ),
        (
            build_data_volume(
                storage={
                    "accessModes": ["ReadWriteMany"],
                    "volumeMode": "FromStorageProfile",
                    "resources": SIZE,
                    "storageClassName": "fast",
                }
            ),
            None,
            {"accessModes": ["ReadWriteMany"], "resources": SIZE, "storageClassName": "fast"},
        ),
        (
            build_data_volume(pvc={"resources": SIZE, "volumeMode": "Block"}),
            None,
            {"resources": SIZE, "volumeMode": "Block"},
        ),
    ],
    ids=["completed", "measured", "explicit", "pvc is copied"],
)
def test_claim_spec_comes_from_the_data_volume(volume: DataVolume, size: int | None, spec: JsonObject) -> None:
    assert to_tree(build_new(volume, size).spec) == spec


def test_claim_is_owned_by_the_data_volume_and_annotated() -> None:
    volume = build_data_volume(metadata={"labels": {"a": "1"}, "annotations": {"b": "2"}}, contentType="archive")
    origin = ObjectMeta(labels={"instancetype.kubevirt.io/default-instancetype": "u1.small", "x": "y"})
    assert to_tree(build_new(volume, origin=origin).metadata) == {
        "name": "dv1",
        "namespace": "default",
        "labels": {"a": "1", "instancetype.kubevirt.io/default-instancetype": "u1.small"},
        "annotations": {
            "b": "2",
            "cdi.kubevirt.io/storage.contentType": "archive",
            "cdi.kubevirt.io/storage.pod.phase": "Pending",
        },
        "ownerReferences": [
            {
                "apiVersion": "cdi.kubevirt.io/v1beta1",
                "kind": "DataVolume",
                "name": "dv1",
                "uid": "d1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def test_claim_with_data_source_has_no_transfer_annotations() -> None:
    origin = {"kind": "PersistentVolumeClaim", "name": "a"}
    made = build_new(build_data_volume(storage={"resources": SIZE, "dataSource": origin}))
    assert "cdi.kubevirt.io/storage.pod.phase" not in (made.metadata.annotations or {})


PREFIX = "instancetype.kubevirt.io/"


@pytest.mark.parametrize(
    ("own", "origin", "inherited"),
    [
        (
            {},
            {"labels": {f"{PREFIX}default-preference": "a", f"{PREFIX}default-preference-kind": "k"}},
            {"labels": {f"{PREFIX}default-preference": "a", f"{PREFIX}default-preference-kind": "k"}},
        ),
        (
            {"annotations": {f"{PREFIX}defaultPreference": "mine"}},
            {"labels": {f"{PREFIX}default-preference": "a", f"{PREFIX}default-instancetype": "b"}},
            {"labels": {f"{PREFIX}default-instancetype": "b"}},
        ),
        (
            {},
            {"annotations": {f"{PREFIX}defaultInstancetype": "a"}},
            {"annotations": {f"{PREFIX}defaultInstancetype": "a"}},
        ),
        ({}, {"labels": {"team": "a"}}, {}),
    ],
    ids=["name and kind", "annotations of the DataVolume first", "annotations", "nothing else"],
)
def test_default_instancetype_and_preference_are_inherited_from_the_source(
    own: JsonObject, origin: JsonObject, inherited: JsonObject
) -> None:
    assert to_tree(inherit_defaults(ObjectMeta(**own), ObjectMeta(**origin))) == inherited


@pytest.mark.parametrize(
    ("volume", "stated"),
    [
        (build_data_volume(), True),
        (build_data_volume(storage={}), False),
        (build_data_volume(storage={"resources": {"requests": {}}}), False),
        (build_data_volume(pvc={}), True),
    ],
)
def test_data_volume_has_a_size_if_it_sets_a_storage_request_or_a_pvc(volume: DataVolume, stated: bool) -> None:
    assert states_size(volume) is stated


@pytest.mark.parametrize(
    ("volume", "claim", "adopts"),
    [
        ({}, {}, False),
        ({}, {"cdi.kubevirt.io/storage.populatedFor": "dv1"}, True),
        ({}, {"cdi.kubevirt.io/storage.populatedFor": "other"}, False),
        ({"cdi.kubevirt.io/storage.prePopulated": "c1"}, {}, True),
        ({"cdi.kubevirt.io/allowClaimAdoption": "true"}, {}, True),
        ({}, {"cdi.kubevirt.io/allowClaimAdoption": "true"}, True),
        ({"cdi.kubevirt.io/allowClaimAdoption": "false"}, {}, False),
    ],
)
def test_claim_is_adopted_only_if_an_annotation_allows_it(
    volume: dict[str, str], claim: dict[str, str], adopts: bool
) -> None:
    asked: Any = build_data_volume(metadata={"annotations": volume})
    assert can_adopt(asked, build_claim(annotations=claim)) is adopts


def test_claim_with_another_controller_is_never_adopted() -> None:
    claim = build_claim(annotations={"cdi.kubevirt.io/storage.populatedFor": "dv1"})
    claim.metadata.owner_references = [OwnerReference("x", "v1", "Other", "u", controller=True)]
    assert not can_adopt(build_data_volume(), claim)
