"""Patch requests of every type: results, preconditions and errors."""

import pytest
from tests.integration.objects import NamespacePaths, build_config, build_instancetype, build_vm, create, revision
from tests.support.loopback import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Client

from virtshape.api.model import JsonObject


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        pytest.param(MERGE_PATCH, {"spec": {"cpu": {"guest": 2}}}, id="merge"),
        pytest.param(JSON_PATCH, [{"op": "replace", "path": "/spec/cpu/guest", "value": 2}], id="JSON"),
    ],
)
def test_patch_changes_only_the_named_fields(client: Client, paths: NamespacePaths, media: str, patch: object) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    patched = client.patch(paths.instancetypes("one"), patch, media).tree
    assert patched["spec"] == {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}
    assert patched["metadata"]["generation"] == 2
    assert int(revision(patched)) > int(revision(made))


def test_strategic_merge_patch_merges_lists_of_built_in_kinds_by_key(client: Client, paths: NamespacePaths) -> None:
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    body: JsonObject = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": {"ports": ports}}
    create(client, paths.core("services"), body)
    patch = {"spec": {"ports": [{"port": 2, "name": "c"}, {"port": 1, "$patch": "delete"}]}}
    patched = client.patch(paths.core("services", "one"), patch, STRATEGIC_PATCH).tree
    assert patched["spec"]["ports"] == [{"name": "c", "port": 2}]


@pytest.mark.parametrize("media", [STRATEGIC_PATCH, "application/json", "text/plain"])
def test_unsupported_patch_types_of_custom_resources_return_415(
    client: Client, paths: NamespacePaths, media: str
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.patch(paths.instancetypes("one"), {"spec": {"cpu": {"guest": 2}}}, media)
    assert reply.reason == (415, "UnsupportedMediaType")
    assert f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}" in reply.tree["message"]


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        pytest.param({"resourceVersion": "1"}, (409, "Conflict"), id="older resource version"),
        pytest.param({"uid": "11111111-1111-1111-1111-111111111111"}, (422, "Invalid"), id="other uid"),
        pytest.param({"name": "renamed"}, (400, "BadRequest"), id="other name"),
        pytest.param({"namespace": "default"}, (400, "BadRequest"), id="other namespace"),
    ],
)
def test_patch_with_another_version_uid_name_or_namespace_is_rejected(
    client: Client, paths: NamespacePaths, metadata: JsonObject, refusal: tuple[int, str]
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    patch = {"metadata": metadata, "spec": {"cpu": {"guest": 2}}}
    assert client.patch(paths.instancetypes("one"), patch).reason == refusal
    agreed = {"metadata": {"resourceVersion": revision(made), "uid": made["metadata"]["uid"], "name": "one"}}
    assert client.patch(paths.instancetypes("one"), agreed | {"spec": {"cpu": {"guest": 3}}}).status == 200


@pytest.mark.parametrize(
    ("media", "patch", "refusal"),
    [
        pytest.param(
            JSON_PATCH, [{"op": "test", "path": "/spec/cpu/guest", "value": 9}], (422, "Invalid"), id="test fails"
        ),
        pytest.param(JSON_PATCH, [{"op": "remove", "path": "/spec/nope"}], (422, "Invalid"), id="missing path"),
        pytest.param(JSON_PATCH, [{"op": "frobnicate", "path": "/spec"}], (422, "Invalid"), id="unknown operation"),
        pytest.param(JSON_PATCH, {"op": "add"}, (400, "BadRequest"), id="operations that are not a list"),
        pytest.param(JSON_PATCH, [{"op": "remove", "path": "/kind"}], (422, "Invalid"), id="removed kind"),
        pytest.param(
            JSON_PATCH,
            [{"op": "replace", "path": "/metadata", "value": []}],
            (422, "Invalid"),
            id="metadata replaced by a list",
        ),
        pytest.param(
            JSON_PATCH, [{"op": "replace", "path": "", "value": 1}], (422, "Invalid"), id="result that is not an object"
        ),
        pytest.param(MERGE_PATCH, [], (400, "BadRequest"), id="list as a merge patch"),
        pytest.param(MERGE_PATCH, b"{", (400, "BadRequest"), id="truncated patch"),
        pytest.param(MERGE_PATCH, b"", (400, "BadRequest"), id="empty patch"),
        pytest.param(MERGE_PATCH, {"kind": "Other"}, (422, "Invalid"), id="other kind"),
        pytest.param(MERGE_PATCH, {"apiVersion": "v1"}, (422, "Invalid"), id="other version"),
        pytest.param(MERGE_PATCH, {"spec": None}, (422, "Invalid"), id="removed spec"),
        pytest.param(MERGE_PATCH, {"spec": "small"}, (422, "Invalid"), id="spec of a wrong type"),
    ],
)
def test_patch_that_cannot_be_applied_is_rejected(
    client: Client, paths: NamespacePaths, media: str, patch: object, refusal: tuple[int, str]
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.patch(paths.instancetypes("one"), patch, media).reason == refusal
    assert client.get(paths.instancetypes("one")).tree == made


@pytest.mark.parametrize("patch", [{"kind": "Other"}, {"apiVersion": "v2"}], ids=["kind", "version"])
def test_patch_cannot_change_the_kind_of_a_built_in_object(
    client: Client, paths: NamespacePaths, patch: JsonObject
) -> None:
    create(client, paths.core("configmaps"), build_config("one"))
    refused = client.patch(paths.core("configmaps", "one"), patch)
    assert (refused.reason, refused.tree["details"]["causes"][0]["field"]) == ((422, "Invalid"), "patch")


def test_failed_json_patch_returns_empty_details(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.patch(paths.instancetypes("one"), [{"op": "remove", "path": "/nope"}], JSON_PATCH)
    assert reply.tree["details"] == {}


def test_unknown_fields_in_a_patch_cause_a_warning_or_an_error(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    patch = {"spec": {"cpuu": 1}}
    assert client.patch(paths.instancetypes("one"), patch).warnings == ['unknown field \\"spec.cpuu\\"']
    assert client.patch(paths.instancetypes("one"), patch, fieldValidation="Ignore").warnings == []
    assert client.patch(paths.instancetypes("one"), patch, fieldValidation="Strict").reason == (422, "Invalid")


@pytest.mark.parametrize(
    ("media", "patch", "warning"),
    [
        pytest.param(
            MERGE_PATCH,
            b'{"spec":{"cpu":{"guest":2},"cpu":{"guest":3}}}',
            'duplicate field \\"spec.cpu\\"',
            id="duplicate key in a merge patch",
        ),
        pytest.param(
            JSON_PATCH,
            b'[{"op":"replace","path":"/spec/cpu/guest","value":2,"value":3}]',
            'json patch duplicate field \\"[0].value\\"',
            id="duplicate key in a JSON patch",
        ),
        pytest.param(
            JSON_PATCH,
            b'[{"op":"replace","path":"/spec/cpu/guest","value":3,"odd":1}]',
            'json patch unknown field \\"[0].odd\\"',
            id="unknown member in a JSON patch",
        ),
    ],
)
def test_duplicate_or_unknown_keys_in_a_patch_cause_a_warning_or_an_error(
    client: Client, paths: NamespacePaths, media: str, patch: bytes, warning: str
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.patch(paths.instancetypes("one"), patch, media, fieldValidation="Strict").reason == (422, "Invalid")
    assert client.patch(paths.instancetypes("one"), patch, media, fieldValidation="Ignore", dryRun="All").warnings == []
    reply = client.patch(paths.instancetypes("one"), patch, media)
    assert (reply.warnings, reply.tree["spec"]["cpu"]) == ([warning], {"guest": 3})


@pytest.mark.parametrize("field", ["labels", "annotations", "finalizers", "ownerReferences"])
def test_empty_metadata_fields_are_omitted(client: Client, paths: NamespacePaths, field: str) -> None:
    some: JsonObject = {
        "labels": {"a": "1"},
        "annotations": {"a": "1"},
        "finalizers": ["a.io/b"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}],
    }
    (made,) = create(client, paths.instancetypes(), build_instancetype("one", **some))
    empty = {"a": None} if isinstance(some[field], dict) else []
    emptied = client.patch(paths.instancetypes("one"), {"metadata": {field: empty}}).tree
    assert some.keys() - emptied["metadata"].keys() == {field}
    assert f"f:{field}" not in emptied["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]
    same = client.patch(paths.instancetypes("one"), {"metadata": {field: type(some[field])()}}).tree
    assert revision(same) == revision(emptied) != revision(made)


def test_empty_config_map_has_no_data_field(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.core("configmaps"), build_config("one", data={"a": "1"}) | {"binaryData": {}})
    emptied = client.patch(paths.core("configmaps", "one"), {"data": {"a": None}}).tree
    assert emptied.keys() == {"apiVersion", "kind", "metadata"}


def test_patch_of_a_missing_object_or_of_a_collection_is_rejected(client: Client, paths: NamespacePaths) -> None:
    assert client.patch(paths.instancetypes("none"), {}).reason == (404, "NotFound")
    assert client.patch(paths.instancetypes(), {}).reason == (400, "BadRequest")


def test_force_is_accepted_for_apply_only(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.patch(paths.instancetypes("one"), {}, force="true")
    assert (reply.reason, reply.tree["details"]["kind"]) == ((422, "Invalid"), "PatchOptions")


def test_status_patch_changes_only_the_status(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    patch = {"spec": {"runStrategy": "Always"}, "status": {"printableStatus": "Odd"}}
    patched = client.patch(f"{paths.vms('vm1')}/status", patch).tree
    assert (patched["spec"], patched["status"]) == (made["spec"], {"printableStatus": "Odd"})


def test_dry_run_of_a_patch_changes_nothing(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.core("configmaps"), build_config())
    shown = client.patch(paths.core("configmaps", "settings"), {"data": {"b": "2"}}, dryRun="All").tree
    assert (shown["data"], revision(shown)) == ({"a": "1", "b": "2"}, revision(made))
    assert client.get(paths.core("configmaps", "settings")).tree == made
