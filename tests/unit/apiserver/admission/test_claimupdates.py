"""Immutable fields and expansion of claims and storage classes."""

import pytest

from virtshape.api.model import JsonObject
from virtshape.apiserver.admission.claimupdates import check_claim, check_class, requests_expansion


def build(size: str = "1Gi", *, phase: str = "Bound", **spec: object) -> JsonObject:
    return {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec},
        "status": {"phase": phase, "capacity": {"storage": "1Gi"}},
    }


@pytest.mark.parametrize(
    ("new", "old", "field"),
    [
        (build(), build(), None),
        (build("2Gi"), build(), None),
        (build("1024Mi"), build(), None),
        (build("512Mi"), build(), "spec.resources.requests.storage"),
        (build("1Gi"), build("2Gi"), None),
        (build(accessModes=["ReadWriteMany"]), build(), "spec"),
        (build(volumeName="v"), build(), None),
        (build(volumeName="w"), build(volumeName="v"), "spec"),
        (build(), build(volumeName="v"), "spec"),
        (build(storageClassName="local", volumeMode="Filesystem"), build(), None),
        (build(storageClassName="other"), build(storageClassName="local"), "spec"),
        (build(volumeAttributesClassName="b"), build(volumeAttributesClassName="a"), None),
    ],
    ids=[
        "unchanged",
        "larger size",
        "same size in another unit",
        "smaller size",
        "smaller size than before, not smaller than the capacity",
        "access modes",
        "volume set",
        "volume changed",
        "volume removed",
        "defaults set",
        "storage class changed",
        "attributes class changed",
    ],
)
def test_claim_update_is_rejected_only_for_immutable_fields_or_smaller_sizes(
    new: JsonObject, old: JsonObject, field: str | None
) -> None:
    assert [cause.field for cause in check_claim(new, old)] == ([field] if field else [])


@pytest.mark.parametrize(
    ("new", "old", "more"),
    [
        (build("2Gi"), build(), True),
        (build(), build(), False),
        (build("2Gi"), build(phase="Pending"), False),
        ({"spec": {}}, build(), False),
    ],
)
def test_only_a_larger_request_of_a_bound_claim_is_an_expansion(new: JsonObject, old: JsonObject, more: bool) -> None:
    assert requests_expansion(new, old) is more


@pytest.mark.parametrize(
    ("new", "old", "fields"),
    [
        ({"provisioner": "a"}, {"provisioner": "a"}, []),
        ({"provisioner": "a", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}, {"provisioner": "a"}, []),
        ({"provisioner": "b"}, {"provisioner": "a"}, ["provisioner"]),
        ({"reclaimPolicy": "Retain", "parameters": {"a": "b"}}, {}, ["parameters", "reclaimPolicy"]),
        ({"allowVolumeExpansion": True}, {}, []),
    ],
)
def test_changes_to_immutable_storage_class_fields_are_reported(
    new: JsonObject, old: JsonObject, fields: list[str]
) -> None:
    assert [cause.field for cause in check_class(new, old)] == fields
