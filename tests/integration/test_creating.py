"""Create requests: names, namespaces, server-set fields and field validation."""

import re

import pytest
from tests.integration.objects import (
    CLUSTER_INSTANCETYPES,
    NamespacePaths,
    build_config,
    build_instancetype,
    build_vm,
    create,
    names,
    revision,
)
from tests.support.loopback import Client, Response

from virtshape.api.model import JsonObject


def test_server_sets_metadata_of_a_new_object(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("one", uid="mine", generation=7, creationTimestamp="2001-01-01T00:00:00Z", selfLink="/x")
    (made,) = create(client, paths.instancetypes(), sent)
    metadata = made["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert (metadata["namespace"], metadata["generation"]) == (paths.namespace, 1)
    assert "selfLink" not in metadata
    assert client.get(paths.instancetypes("one")).tree == made


def test_field_manager_defaults_to_the_user_agent(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    named = client.post(paths.instancetypes(), build_instancetype("two"), fieldManager="me").tree
    one = client.get(paths.instancetypes("one")).tree
    assert [entry["manager"] for tree in (one, named) for entry in tree["metadata"]["managedFields"]] == [
        "tester",
        "me",
    ]


def test_status_is_ignored_on_create_when_it_is_a_subresource(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm(status={"created": True}))
    assert "status" not in made


def test_duplicate_name_returns_409(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.post(paths.instancetypes(), build_instancetype("one"))
    assert reply.reason == (409, "AlreadyExists")
    details = {"name": "one", "group": "instancetype.kubevirt.io", "kind": "virtualmachineinstancetypes"}
    assert reply.tree["details"] == details
    assert client.post(paths.instancetypes(), build_instancetype("one"), dryRun="All").status == 409


def test_object_posted_to_a_named_path_uses_the_name_in_its_metadata(client: Client, paths: NamespacePaths) -> None:
    assert client.post(paths.instancetypes("one"), build_instancetype("other")).tree["metadata"]["name"] == "other"
    nameless = build_instancetype("x")
    del nameless["metadata"]["name"]
    assert client.post(paths.instancetypes("one"), nameless).reason == (422, "Invalid")


def test_create_in_a_missing_namespace_returns_404(client: Client) -> None:
    reply = client.post(NamespacePaths("nowhere").instancetypes(), build_instancetype())
    assert reply.reason == (404, "NotFound")
    assert reply.tree["details"] == {"name": "nowhere", "kind": "namespaces"}


def test_namespace_different_from_the_path_is_rejected(client: Client, paths: NamespacePaths) -> None:
    reply = client.post(paths.instancetypes(), build_instancetype(namespace="default"))
    assert reply.reason == (400, "BadRequest")


def test_namespace_of_a_cluster_scoped_object_is_cleared(client: Client) -> None:
    kind, path = "VirtualMachineClusterInstancetype", f"{CLUSTER_INSTANCETYPES}/placed"
    (made,) = create(client, CLUSTER_INSTANCETYPES, build_instancetype("placed", kind=kind, namespace="default"))
    assert "namespace" not in made["metadata"]
    replaced = client.put(
        path, {**made, "metadata": {**made["metadata"], "namespace": "default", "labels": {"a": "b"}}}
    )
    assert (replaced.status, "namespace" in replaced.tree["metadata"]) == (200, False)
    patched = client.patch(path, {"metadata": {"namespace": "default", "labels": {"c": "d"}}})
    assert (patched.status, "namespace" in patched.tree["metadata"]) == (200, False)
    applied = client.apply(path, build_instancetype("placed", kind=kind, namespace="default"), force="true")
    assert (applied.status, "namespace" in applied.tree["metadata"]) == (200, False)
    client.delete(path)
    applied = client.apply(path, build_instancetype("placed", kind=kind, namespace="default"))
    assert (applied.status, "namespace" in applied.tree["metadata"]) == (201, False)
    client.delete(path)


def test_generate_name_adds_a_suffix(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("x", generateName="run-")
    del sent["metadata"]["name"]
    made = create(client, paths.instancetypes(), sent, sent, sent)
    found = [tree["metadata"]["name"] for tree in made]
    assert all(re.fullmatch(r"run-[a-z0-9]{5}", name) for name in found)
    assert len(set(found)) == 3
    assert {tree["metadata"]["generateName"] for tree in made} == {"run-"}


def test_generate_name_retries_if_the_name_is_taken(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, paths.instancetypes(), build_instancetype("run-aaaaa"), build_instancetype("run-bbbbb"))
    made_up = iter(["run-aaaaa", "run-bbbbb", "run-ccccc"])
    monkeypatch.setattr("virtshape.apiserver.creating.generate_name", lambda _: next(made_up))
    sent = build_instancetype("x", generateName="run-")
    del sent["metadata"]["name"]
    assert client.post(paths.instancetypes(), sent).tree["metadata"]["name"] == "run-ccccc"


def test_generate_name_returns_409_after_repeated_collisions(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, paths.instancetypes(), build_instancetype("run-aaaaa"))
    monkeypatch.setattr("virtshape.apiserver.creating.generate_name", lambda _: "run-aaaaa")
    sent = build_instancetype("x", generateName="run-")
    del sent["metadata"]["name"]
    assert client.post(paths.instancetypes(), sent).reason == (409, "AlreadyExists")


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        pytest.param({"name": "Not_A_Name"}, "metadata.name", id="name"),
        pytest.param({"name": None}, "metadata.name", id="no name"),
        pytest.param({"labels": {"a": "not a value"}}, "metadata.labels", id="label"),
        pytest.param({"annotations": {"not a key": ""}}, "metadata.annotations", id="annotation"),
        pytest.param({"annotations": {"big": "x" * 300_000}}, "metadata.annotations", id="too large annotations"),
        pytest.param({"finalizers": ["not one"]}, "metadata.finalizers", id="finalizer"),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "Pod", "name": "a", "uid": "b"}]},
            "metadata.ownerReferences[0].apiVersion",
            id="owner",
        ),
    ],
)
def test_invalid_metadata_returns_422(client: Client, paths: NamespacePaths, metadata: JsonObject, field: str) -> None:
    sent = build_instancetype()
    sent["metadata"] |= metadata
    reply = client.post(paths.instancetypes(), sent)
    assert reply.reason == (422, "Invalid")
    assert reply.tree["details"]["kind"] == "VirtualMachineInstancetype"
    assert {cause["field"] for cause in reply.tree["details"]["causes"]} == {field}


def test_finalizer_without_a_domain_causes_a_warning(client: Client, paths: NamespacePaths) -> None:
    reply = client.post(paths.instancetypes(), build_instancetype("one", finalizers=["mine", "example.com/ours"]))
    advice = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    assert reply.warnings == [f'metadata.finalizers: \\"mine\\": {advice}']
    again = client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": ["mine", "yours"]}})
    assert again.warnings == [f'metadata.finalizers: \\"yours\\": {advice}']
    client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": None}})


def test_resource_version_cannot_be_set_on_create(client: Client, paths: NamespacePaths) -> None:
    assert client.post(paths.instancetypes(), build_instancetype(resourceVersion="5")).reason == (500, "")


def test_invalid_timestamp_is_rejected(client: Client, paths: NamespacePaths) -> None:
    for created, status in (("yesterday", 400), ("2020-01-01T00:00:00Z", 201)):
        reply = client.post(paths.instancetypes(), build_instancetype(creationTimestamp=created))
        assert reply.status == status


def test_duplicate_owner_reference_is_removed_with_a_warning(client: Client, paths: NamespacePaths) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}
    made = client.post(paths.instancetypes(), build_instancetype("one", ownerReferences=[owner, owner]))
    assert (made.tree["metadata"]["ownerReferences"], len(made.warnings)) == ([owner], 1)
    patched = client.patch(paths.instancetypes("one"), {"metadata": {"ownerReferences": [owner] * 3}})
    assert (patched.tree, len(patched.warnings)) == (made.tree, 1)


def test_metadata_errors_are_reported_with_schema_errors(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("Not_A_Name", labels={"not a key": "b"}) | {"spec": {}}
    causes = client.post(paths.instancetypes(), sent).tree["details"]["causes"]
    assert {cause["field"] for cause in causes} == {"metadata.name", "metadata.labels", "spec.cpu", "spec.memory"}
    sent["metadata"] = {"generateName": "fine-"}
    causes = client.post(paths.instancetypes(), sent).tree["details"]["causes"]
    assert {cause["field"] for cause in causes} == {"spec.cpu", "spec.memory"}


@pytest.mark.parametrize(
    ("amount", "reported"),
    [
        pytest.param({}, ["FieldValueTypeInvalid"] * 2 + ["FieldValueInvalid"], id="object"),
        pytest.param(True, ["FieldValueTypeInvalid"] * 2 + ["FieldValueInvalid"], id="boolean"),
        pytest.param(1.5, ["FieldValueTypeInvalid"] * 2 + ["FieldValueInvalid"] * 2, id="fraction"),
    ],
)
def test_quantity_of_wrong_type_reports_an_error_for_each_allowed_type(
    client: Client, paths: NamespacePaths, amount: object, reported: list[str]
) -> None:
    sent = build_instancetype("one") | {"spec": {"cpu": {"guest": 1}, "memory": {"guest": amount}}}
    reply = client.post(paths.instancetypes(), sent)
    assert (reply.reason, [cause["reason"] for cause in reply.tree["details"]["causes"]]) == (
        (422, "Invalid"),
        reported,
    )


def test_rejected_create_includes_warnings(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("one") | {"bogus": 1}
    ill = client.post(paths.instancetypes(), sent | {"spec": {}})
    misnamed = client.post(paths.instancetypes(), sent | {"metadata": {"name": "Not_A_Name"}})
    create(client, paths.instancetypes(), build_instancetype("one"))
    again = client.post(paths.instancetypes(), sent)
    assert [reply.status for reply in (ill, misnamed, again)] == [422, 422, 409]
    assert [reply.warnings for reply in (ill, misnamed, again)] == [['unknown field \\"bogus\\"']] * 3


def test_dry_run_returns_a_uid_without_resource_version_and_stores_nothing(
    client: Client, paths: NamespacePaths
) -> None:
    reply = client.post(paths.instancetypes(), build_instancetype("one"), dryRun="All")
    assert (reply.status, "uid" in reply.tree["metadata"]) == (201, True)
    assert "resourceVersion" not in reply.tree["metadata"]
    assert names(client.get(paths.instancetypes()).tree) == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        pytest.param({"dryRun": "Some"}, "dryRun", id="invalid dry run"),
        pytest.param({"fieldValidation": "Maybe"}, "fieldValidation", id="unknown field validation"),
        pytest.param({"fieldManager": "x" * 129}, "fieldManager", id="long field manager"),
        pytest.param({"fieldManager": "a\tb"}, "fieldManager", id="unprintable field manager"),
    ],
)
def test_invalid_create_options_return_422(
    client: Client, paths: NamespacePaths, query: JsonObject, field: str
) -> None:
    reply = client.post(paths.instancetypes(), build_instancetype(), **query)
    assert (reply.reason, reply.tree["details"]["kind"]) == ((422, "Invalid"), "CreateOptions")
    assert [cause["field"] for cause in reply.tree["details"]["causes"]] == [field]


def send_unknown(client: Client, paths: NamespacePaths, **query: str) -> Response:
    sent = build_instancetype("one")
    sent["spec"] |= {"cpuu": 1, "memory": {"guest": "1Gi", "hugepage": 1}}
    return client.post(paths.instancetypes(), sent, **query)


@pytest.mark.parametrize("query", [{}, {"fieldValidation": "Warn"}], ids=["by default", "on request"])
def test_unknown_fields_cause_a_warning_and_are_dropped(
    client: Client, paths: NamespacePaths, query: JsonObject
) -> None:
    reply = send_unknown(client, paths, **query)
    assert reply.warnings == ['unknown field \\"spec.cpuu\\"', 'unknown field \\"spec.memory.hugepage\\"']
    assert (reply.status, reply.tree["spec"]) == (201, {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}})


def test_unknown_fields_cause_no_warning_with_field_validation_ignore(client: Client, paths: NamespacePaths) -> None:
    reply = send_unknown(client, paths, fieldValidation="Ignore")
    assert (reply.status, reply.warnings) == (201, [])


def test_unknown_fields_are_rejected_with_strict_field_validation(client: Client, paths: NamespacePaths) -> None:
    reply = send_unknown(client, paths, fieldValidation="Strict")
    assert reply.reason == (400, "BadRequest")
    assert 'unknown field "spec.cpuu", unknown field "spec.memory.hugepage"' in reply.tree["message"]


def test_last_duplicate_key_wins_with_a_warning(client: Client, paths: NamespacePaths) -> None:
    text = (
        b'{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineInstancetype",'
        b'"metadata":{"name":"one"},"spec":{"cpu":{"guest":1},"cpu":{"guest":3},"memory":{"guest":"1Gi"}}}'
    )
    assert client.post(paths.instancetypes(), text, fieldValidation="Strict").reason == (400, "BadRequest")
    reply = client.post(paths.instancetypes(), text)
    assert (reply.warnings, reply.tree["spec"]["cpu"]) == (['duplicate field \\"spec.cpu\\"'], {"guest": 3})


def test_null_fields_are_dropped_on_create(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("one", labels=None)
    sent["spec"] |= {"gpus": None}
    (made,) = create(client, paths.instancetypes(), sent)
    assert made["spec"].keys() == {"cpu", "memory"}
    assert "labels" not in made["metadata"]


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        pytest.param({"kind": "VirtualMachinePreference"}, (422, "Invalid"), id="other kind"),
        pytest.param({"apiVersion": "instancetype.kubevirt.io/v1"}, (400, "BadRequest"), id="other version"),
        pytest.param(
            {"spec": {"cpu": {"guest": "one"}, "memory": {"guest": "1Gi"}}}, (422, "Invalid"), id="wrong type"
        ),
        pytest.param({"spec": {"cpu": {"guest": 1}}}, (422, "Invalid"), id="missing required field"),
    ],
)
def test_create_of_a_malformed_object_is_rejected(
    client: Client, paths: NamespacePaths, change: JsonObject, refusal: tuple[int, str]
) -> None:
    assert client.post(paths.instancetypes(), build_instancetype() | change).reason == refusal


def test_create_accepts_and_returns_yaml(client: Client, paths: NamespacePaths) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  b: x\n  a: 'y'\n"
    headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
    reply = client.send("POST", paths.core("configmaps"), text, headers=headers)
    assert (reply.status, reply.headers["content-type"]) == (201, "application/yaml")
    assert reply.body.startswith(b'apiVersion: v1\ndata:\n  a: "y"\n  b: x\nkind: ConfigMap\n')


def test_new_namespace_gets_a_label_a_finalizer_and_a_phase(client: Client, paths: NamespacePaths) -> None:
    tree = client.get(f"/api/v1/namespaces/{paths.namespace}").tree
    assert tree["metadata"]["labels"] == {"kubernetes.io/metadata.name": paths.namespace}
    assert (tree["spec"], tree["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


def test_event_without_reporting_component_gets_an_empty_one(client: Client, paths: NamespacePaths) -> None:
    sent = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "one"},
        "involvedObject": {"kind": "VirtualMachine", "name": "vm1", "namespace": paths.namespace},
    }
    (made,) = create(client, paths.core("events"), sent)
    assert [made[field] for field in ("eventTime", "reportingComponent", "reportingInstance")] == [None, "", ""]
    path = paths.core("events")
    assert names(client.get(path, fieldSelector="involvedObject.name=vm1").tree) == ["one"]
    assert names(client.get(path, fieldSelector="involvedObject.name=vm2").tree) == []
    assert revision(client.put(paths.core("events", "one"), made).tree) == revision(made)


def test_secret_type_defaults_to_opaque(client: Client, paths: NamespacePaths) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "data": {"a": "YQ=="}}
    (made,) = create(client, paths.core("secrets"), body)
    assert made["type"] == "Opaque"


def test_string_data_of_secrets_is_encoded_and_not_returned(client: Client, paths: NamespacePaths) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "stringData": {"a": "b"}}
    (made,) = create(client, paths.core("secrets"), {**body, "data": {"a": "eA==", "c": "eA=="}})
    assert (made["data"], "stringData" in made) == ({"a": "Yg==", "c": "eA=="}, False)
    patched = client.patch(paths.core("secrets", "one"), {"stringData": {"c": "d"}}).tree
    assert (patched["data"], "stringData" in patched) == ({"a": "Yg==", "c": "ZA=="}, False)


def test_object_within_the_size_limit_is_stored_and_a_larger_one_is_rejected(
    client: Client, paths: NamespacePaths
) -> None:
    assert client.post(paths.core("configmaps"), build_config(data={"a": "x" * 900_000})).status == 201
    reply = client.post(paths.core("configmaps"), build_config("two", data={"a": "x" * 4_000_000}))
    assert reply.reason == (413, "RequestEntityTooLarge")
