"""Metadata is validated on create and update, with Kubernetes' messages."""

from copy import deepcopy
from typing import Any

import pytest

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import (
    allows_blind_update,
    check_created,
    check_updated,
    find_finalizer_warnings,
    restore_metadata,
    validate_address,
)
from virtshape.api.validation.violation import invalid_error


def kind(name: str, api_version: str = "v1") -> Kind:
    found = find_kind(api_version, name)
    assert found is not None
    return found


INSTANCETYPE = kind("VirtualMachineInstancetype", "instancetype.kubevirt.io/v1beta1")
CONFIG_MAP = kind("ConfigMap")

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
LONG = "x" * 260


def owner(**members: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "2", **members}


CREATED: dict[str, tuple[JsonObject, str]] = {
    "valid": ({"name": "u1.small", "labels": {"a": "", "example.com/b": "c"}, "annotations": {"A/B": "x"}}, ""),
    "name": ({"name": "Bad_Name"}, f'metadata.name: Invalid value: "Bad_Name": {SUBDOMAIN}'),
    "long name": ({"name": LONG}, f'metadata.name: Invalid value: "{LONG}": must be no more than 253 characters'),
    "no name": ({}, "metadata.name: Required value: name or generateName is required"),
    "prefix": (
        {"name": "XY-1", "generateName": "XY-"},
        (
            f'[metadata.generateName: Invalid value: "XY-": {SUBDOMAIN}, '
            f'metadata.name: Invalid value: "XY-1": {SUBDOMAIN}]'
        ),
    ),
    "labels": (
        {"name": "a", "labels": {"bad key!": "v", "ok": "bad value!"}},
        (
            f'[metadata.labels: Invalid value: "bad key!": {NAME_PART}, '
            f'metadata.labels: Invalid value: "bad value!": {LABEL_VALUE}]'
        ),
    ),
    "annotations": (
        {"name": "a", "annotations": {"bad key!": "v"}},
        f'metadata.annotations: Invalid value: "bad key!": {NAME_PART}',
    ),
    "large annotations": (
        {"name": "a", "annotations": {"a": "é" * 131072}},
        "metadata.annotations: Too long: may not be more than 262144 bytes",
    ),
    "annotations of the maximum size": ({"name": "a", "annotations": {"a": "x" * 262143}}, ""),
    "owner": ({"name": "a", "ownerReferences": [owner()]}, ""),
    "owner without a kind": (
        {"name": "a", "ownerReferences": [owner(kind="")]},
        "metadata.ownerReferences[0].kind: Required value: must not be empty",
    ),
    "two controllers": (
        {"name": "a", "ownerReferences": [owner(controller=True), owner(name="p", controller=True)]},
        (
            'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","controller":true,"kind":"ConfigMap",'
            '"name":"o","uid":"2"},{"apiVersion":"v1","controller":true,"kind":"ConfigMap","name":"p","uid":"2"}]: '
            "Only one reference can have Controller set to true. "
            'Found "true" in references for ConfigMap/o and ConfigMap/p'
        ),
    ),
    "Event as owner": (
        {"name": "a", "ownerReferences": [owner(kind="Event")]},
        (
            'metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o","uid":"2"}: '
            "/v1, Kind=Event is disallowed from being an owner"
        ),
    ),
    "finalizer": (
        {"name": "a", "finalizers": ["no good"]},
        f'metadata.finalizers: Invalid value: "no good": {NAME_PART}',
    ),
    "mutually exclusive finalizers": (
        {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
        (
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set"
        ),
    ),
}


def format_causes(causes: list[FieldError]) -> str:
    message = invalid_error("", "K", "n", causes).message if causes else ""
    return message.removeprefix('K "n" is invalid: ')


@pytest.mark.parametrize(("metadata", "message"), CREATED.values(), ids=CREATED)
def test_invalid_new_metadata_is_reported_with_all_its_problems(metadata: JsonObject, message: str) -> None:
    before = deepcopy(metadata)
    assert format_causes(check_created(metadata, INSTANCETYPE)) == message
    assert metadata == before


def test_metadata_error_names_the_object_and_every_cause() -> None:
    causes = check_created({"name": "Bad_Name"}, INSTANCETYPE)
    error = invalid_error(INSTANCETYPE.group, INSTANCETYPE.kind, "Bad_Name", causes)
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message.startswith(
        'VirtualMachineInstancetype.instancetype.kubevirt.io "Bad_Name" is invalid: metadata.'
    )
    assert error.causes == (FieldError("metadata.name", f'Invalid value: "Bad_Name": {SUBDOMAIN}'),)
    details = error.details
    assert (details.group, details.kind, details.name) == (INSTANCETYPE.group, INSTANCETYPE.kind, "Bad_Name")


def test_builtin_kinds_require_qualified_finalizers() -> None:
    causes = check_created({"name": "a", "finalizers": ["nodomain", "kubernetes", "a/b"]}, CONFIG_MAP)
    message = "name is neither a standard finalizer name nor is it fully qualified"
    assert format_causes(causes) == f'metadata.finalizers[0]: Invalid value: "nodomain": {message}'


def test_custom_resources_warn_about_unqualified_finalizers() -> None:
    metadata = {"finalizers": ["nodomain", "orphan", "a/b", "old"]}
    assert find_finalizer_warnings(metadata, {"finalizers": ["old"]}, INSTANCETYPE) == [
        (
            'metadata.finalizers: "nodomain": prefer a domain-qualified finalizer name '
            "to avoid accidental conflicts with other finalizer writers"
        )
    ]
    assert find_finalizer_warnings(metadata, {}, CONFIG_MAP) == []


OLD: JsonObject = {
    "name": "a",
    "namespace": "n",
    "uid": "1",
    "generation": 3,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "resourceVersion": "7",
    "labels": {"bad key!": "from before the rules"},
}
DELETED: JsonObject = {
    **OLD,
    "deletionTimestamp": "2026-01-02T00:00:00Z",
    "deletionGracePeriodSeconds": 0,
    "finalizers": ["a/b"],
}

RESTORED: dict[str, tuple[JsonObject, JsonObject, JsonObject]] = {
    "nothing to restore": (OLD, OLD, OLD),
    "timestamps and generation": (
        {**OLD, "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 99, "selfLink": "/"},
        OLD,
        OLD,
    ),
    "omitted fields": ({"name": "a", "resourceVersion": "7", "labels": OLD["labels"]}, OLD, OLD),
    "deletion": (
        {"name": "a", "resourceVersion": "7", "labels": OLD["labels"], "finalizers": ["a/b"]},
        DELETED,
        DELETED,
    ),
    "other deletion timestamp": ({**DELETED, "deletionTimestamp": "2001-01-01T00:00:00Z"}, DELETED, DELETED),
    "fields that clients may change": ({**OLD, "labels": {"z": "1"}}, OLD, {**OLD, "labels": {"z": "1"}}),
    "other uid is kept for validation": ({**OLD, "uid": "2"}, OLD, {**OLD, "uid": "2"}),
}


@pytest.mark.parametrize(("metadata", "old", "expected"), RESTORED.values(), ids=RESTORED)
def test_update_preserves_server_set_metadata(metadata: JsonObject, old: JsonObject, expected: JsonObject) -> None:
    before = deepcopy((metadata, old))
    assert restore_metadata(metadata, old) == expected
    assert (metadata, old) == before


def immutable(field: str, value: object) -> FieldError:
    shown = f'"{value}"' if isinstance(value, str) else value
    return FieldError(f"metadata.{field}", f"Invalid value: {shown}: field is immutable")


def empty(part: str) -> FieldError:
    return FieldError(f"metadata.ownerReferences[0].{part}", "Required value: must not be empty", "FieldValueRequired")


NO_NEW = "no new finalizers can be added if the object is being deleted, found new finalizers "

# Each cause is repeated as often as in Kubernetes.
UPDATED: dict[str, tuple[JsonObject, JsonObject, list[FieldError]]] = {
    "nothing": (OLD, OLD, []),
    "other uid": ({**OLD, "uid": "2"}, OLD, [immutable("uid", "2")] * 2),
    "deletion timestamp": ({**OLD, "deletionTimestamp": "x"}, OLD, [immutable("deletionTimestamp", "x")] * 2),
    "grace period": (
        {**DELETED, "deletionGracePeriodSeconds": 5},
        DELETED,
        [immutable("deletionGracePeriodSeconds", 5)] * 2,
    ),
    "incomplete owner": (
        {**OLD, "ownerReferences": [{"kind": "ConfigMap", "name": ""}]},
        OLD,
        [empty("apiVersion"), empty("name"), empty("uid")] * 3,
    ),
    "removed finalizer": ({**DELETED, "finalizers": []}, DELETED, []),
    "finalizer added during deletion": (
        {**DELETED, "finalizers": ["a/b", "c/d"]},
        DELETED,
        [FieldError("metadata.finalizers", f'Forbidden: {NO_NEW}[]string{{"c/d"}}', "FieldValueForbidden")] * 2,
    ),
    "added finalizer": ({**OLD, "finalizers": ["c/d"]}, OLD, []),
}


@pytest.mark.parametrize(("metadata", "old", "causes"), UPDATED.values(), ids=UPDATED)
def test_only_invalid_metadata_updates_are_reported(
    metadata: JsonObject, old: JsonObject, causes: list[FieldError]
) -> None:
    assert check_updated(metadata, old, INSTANCETYPE) == causes


def test_metadata_update_error_has_no_duplicates() -> None:
    causes = check_updated({**OLD, "uid": "2"}, OLD, INSTANCETYPE)
    assert format_causes(causes) == 'metadata.uid: Invalid value: "2": field is immutable'


ADDRESSED: dict[str, tuple[JsonObject, str]] = {
    "same as the path": ({"name": "pp", "namespace": "wire"}, ""),
    "no namespace": ({"name": "pp"}, ""),
    "renamed": ({"name": "renamed"}, "the name of the object (renamed) does not match the name on the URL (pp)"),
    "nameless": ({}, "the name of the object (pp based on URL) was undeterminable: name must be provided"),
    "elsewhere": (
        {"name": "pp", "namespace": "default"},
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
}


@pytest.mark.parametrize(("metadata", "message"), ADDRESSED.values(), ids=ADDRESSED)
def test_metadata_must_match_the_request_path(metadata: JsonObject, message: str) -> None:
    if not message:
        validate_address(metadata, name="pp", namespace="wire")
        return
    with pytest.raises(StatusError) as caught:
        validate_address(metadata, name="pp", namespace="wire")
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    ("of", "blind"),
    [(INSTANCETYPE, False), (CONFIG_MAP, True), (kind("Lease", "coordination.k8s.io/v1"), False)],
    ids=lambda value: value.kind if isinstance(value, Kind) else str(value),
)
def test_only_some_kinds_allow_an_update_without_a_resource_version(of: Kind, blind: bool) -> None:
    assert allows_blind_update(of) is blind
