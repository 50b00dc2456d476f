"""Update requests: immutable and server-set fields, resource versions, generations and the status subresource."""

import threading

import pytest
from tests.integration.objects import (
    GROUP,
    NamespacePaths,
    build_config,
    build_instancetype,
    build_vm,
    create,
    revision,
)
from tests.support.loopback import APPLY_PATCH, MERGE_PATCH, Client, LoopbackServer

from virtshape.api.model import JsonObject


def with_metadata(tree: JsonObject, **metadata: object) -> JsonObject:
    return {**tree, "metadata": {**tree["metadata"], **metadata}}


def with_guest(tree: JsonObject, guest: int) -> JsonObject:
    return {**tree, "spec": {**tree["spec"], "cpu": {"guest": guest}}}


def test_update_replaces_all_client_fields(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(
        client, paths.instancetypes(), build_instancetype("one", labels={"a": "1"}, annotations={"b": "2"})
    )
    sent = with_guest(build_instancetype("one", labels={"c": "3"}, resourceVersion=revision(made)), 4)
    updated = client.put(paths.instancetypes("one"), sent).tree
    assert (updated["metadata"]["labels"], updated["spec"]["cpu"]) == ({"c": "3"}, {"guest": 4})
    assert "annotations" not in updated["metadata"]
    assert [updated["metadata"][field] for field in ("uid", "creationTimestamp")] == [
        made["metadata"][field] for field in ("uid", "creationTimestamp")
    ]
    assert int(revision(updated)) > int(revision(made))


def test_server_set_metadata_cannot_be_changed(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    sent = with_metadata(made, creationTimestamp="2001-01-01T00:00:00Z", generation=99, selfLink="/x")
    assert client.put(paths.instancetypes("one"), sent).tree == made


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        pytest.param({"name": "other"}, (400, "BadRequest"), id="other name"),
        pytest.param({"name": None}, (400, "BadRequest"), id="no name"),
        pytest.param({"namespace": "default"}, (400, "BadRequest"), id="other namespace"),
        pytest.param({"uid": "11111111-1111-1111-1111-111111111111"}, (409, "Conflict"), id="other uid"),
        pytest.param({"resourceVersion": "1"}, (409, "Conflict"), id="older resource version"),
        pytest.param({"resourceVersion": ""}, (422, "Invalid"), id="no resource version"),
        pytest.param({"resourceVersion": "0"}, (422, "Invalid"), id="resource version 0"),
        pytest.param({"resourceVersion": "odd"}, (500, ""), id="invalid resource version"),
        pytest.param({"deletionGracePeriodSeconds": 5}, (422, "Invalid"), id="grace period"),
    ],
)
def test_update_with_invalid_or_stale_metadata_is_rejected(
    client: Client, paths: NamespacePaths, metadata: JsonObject, refusal: tuple[int, str]
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    sent = with_metadata(with_guest(made, 2), **metadata)
    refused = client.put(paths.instancetypes("one"), sent)
    assert refused.reason == refusal
    if refusal == (409, "Conflict"):
        details = {"name": "one", "group": GROUP, "kind": "virtualmachineinstancetypes"}
        assert refused.tree["details"] == details
    assert client.get(paths.instancetypes("one")).tree == made


def test_missing_object_cannot_be_updated(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("one", resourceVersion="1")
    assert client.put(paths.instancetypes("one"), sent).reason == (404, "NotFound")
    assert client.put(paths.instancetypes(), sent).reason == (400, "BadRequest")


def test_missing_resource_version_is_reported_with_the_resource(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    for refused in (
        client.put(paths.instancetypes("one"), build_instancetype("one")),
        client.patch(paths.instancetypes("one"), {"metadata": {"resourceVersion": None, "labels": {"a": "b"}}}),
    ):
        details = refused.tree["details"]
        assert (refused.reason, details["kind"]) == ((422, "Invalid"), "virtualmachineinstancetypes")
        assert [cause["field"] for cause in details["causes"]] == ["metadata.resourceVersion"]


def test_built_in_kinds_can_be_replaced_without_a_resource_version(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.core("configmaps"), build_config())
    assert client.put(paths.core("configmaps", "settings"), build_config(data={"b": "2"})).tree["data"] == {"b": "2"}


def test_generation_counts_spec_changes(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    labelled = client.put(paths.vms("vm1"), with_metadata(made, labels={"a": "b"})).tree
    reported = client.patch(f"{paths.vms('vm1')}/status", {"status": {"created": True}}).tree
    changed = client.patch(paths.vms("vm1"), {"spec": {"runStrategy": "Always"}}).tree
    assert [tree["metadata"]["generation"] for tree in (made, labelled, reported, changed)] == [1, 1, 1, 2]


def test_update_without_changes_does_not_change_the_resource_version(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    reordered = dict(reversed(made.items()))
    before = server.system.store.revision
    answers = [
        client.put(paths.vms("vm1"), reordered),
        client.patch(paths.vms("vm1"), {"spec": made["spec"]}),
        client.patch(paths.vms("vm1"), [], "application/json-patch+json"),
        client.put(f"{paths.vms('vm1')}/status", made),
    ]
    assert [answer.tree for answer in answers] == [made] * 4
    assert server.system.store.revision == before


def test_dry_run_returns_the_result_with_the_current_resource_version(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    shown = client.put(paths.instancetypes("one"), with_guest(made, 8), dryRun="All").tree
    assert (shown["spec"]["cpu"], revision(shown)) == ({"guest": 8}, revision(made))
    assert shown["metadata"]["generation"] == 2
    assert client.get(paths.instancetypes("one")).tree == made


def test_status_update_changes_only_the_status(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    sent = {**with_metadata(made, labels={"a": "b"}), "status": {"created": True}}
    sent["spec"] = {**sent["spec"], "runStrategy": "Always"}
    updated = client.put(f"{paths.vms('vm1')}/status", sent).tree
    assert (updated["spec"], updated["status"]) == (made["spec"], {"created": True, "printableStatus": "Stopped"})
    assert "labels" not in updated["metadata"]
    assert client.get(f"{paths.vms('vm1')}/status").tree == updated


def test_update_does_not_change_the_status(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.vms(), build_vm())
    reported = client.patch(f"{paths.vms('vm1')}/status", {"status": {"created": True}}).tree
    changed = client.put(paths.vms("vm1"), {**with_metadata(reported, labels={"a": "b"}), "status": {"ready": True}})
    assert (changed.tree["status"], changed.tree["metadata"]["labels"]) == (reported["status"], {"a": "b"})


@pytest.mark.parametrize("media", [MERGE_PATCH, APPLY_PATCH, "update"])
def test_printable_status_defaults_to_stopped(client: Client, paths: NamespacePaths, media: str) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    assert "status" not in made
    path, status = f"{paths.vms('vm1')}/status", {"ready": True}
    if media == "update":
        reply = client.put(path, {**made, "status": status})
    elif media == APPLY_PATCH:
        head = {name: made[name] for name in ("apiVersion", "kind")}
        reply = client.apply(path, {**head, "metadata": {"name": "vm1"}, "status": status})
    else:
        reply = client.patch(path, {"status": status}, media)
    assert reply.tree["status"] == {"printableStatus": "Stopped", "ready": True}


def test_status_update_with_a_stale_version_conflicts(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    client.patch(paths.vms("vm1"), {"metadata": {"labels": {"a": "b"}}})
    assert client.put(f"{paths.vms('vm1')}/status", {**made, "status": {"ready": True}}).reason == (409, "Conflict")


def test_kinds_without_status_subresource_return_404(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        reply = client.send(method, f"{paths.instancetypes('one')}/status", b"{}" if method != "GET" else None)
        assert reply.reason == (404, "NotFound")


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_status_can_be_neither_created_nor_deleted(client: Client, paths: NamespacePaths, method: str) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    assert client.send(method, f"{paths.vms('vm1')}/status", made).reason == (405, "MethodNotAllowed")
    assert client.get(paths.vms("vm1")).status == 200


def test_update_does_not_remove_the_label_and_finalizers_of_a_namespace(client: Client, paths: NamespacePaths) -> None:
    path = f"/api/v1/namespaces/{paths.namespace}"
    bare = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": paths.namespace, "labels": {"a": "b"}}}
    updated = client.put(path, bare).tree
    assert updated["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": paths.namespace}
    assert (updated["spec"], updated["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    assert client.patch(path, {"spec": {"finalizers": None}}).tree["spec"] == {"finalizers": ["kubernetes"]}
    finalized = client.put(f"{path}/finalize", {**updated, "spec": {"finalizers": []}}).tree
    assert (finalized["spec"], finalized["metadata"]["labels"]) == ({}, updated["metadata"]["labels"])
    assert client.get(path).status == 200
    client.delete(path)
    assert client.get(path).status == 404


def test_controller_revision_data_is_immutable_and_may_contain_nulls(client: Client, paths: NamespacePaths) -> None:
    path = f"/apis/apps/v1/namespaces/{paths.namespace}/controllerrevisions"
    data = {"kind": "Odd", "spec": {"nothing": None, "list": [None]}}
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "one"}, "data": data}
    (made,) = create(client, path, {**body, "revision": 1})
    assert made["data"] == data
    refused = client.patch(f"{path}/one", {"data": {"kind": "Other"}})
    assert (refused.reason, refused.tree["details"]["causes"][0]["field"]) == ((422, "Invalid"), "data")
    assert client.patch(f"{path}/one", {"metadata": {"labels": {"a": "b"}}}).tree["data"] == data


@pytest.mark.parametrize("plural", ["configmaps", "secrets"])
def test_immutable_config_map_or_secret_cannot_be_changed(client: Client, paths: NamespacePaths, plural: str) -> None:
    kind = {"configmaps": "ConfigMap", "secrets": "Secret"}[plural]
    create(client, paths.core(plural), {**build_config(data={"a": "YQ=="}), "kind": kind, "immutable": True})
    path = paths.core(plural, "settings")
    refused = client.patch(path, {"data": {"a": "Yg=="}, "immutable": False})
    assert refused.reason == (422, "Invalid")
    assert {cause["field"] for cause in refused.tree["details"]["causes"]} == {"data", "immutable"}
    assert client.patch(path, {"metadata": {"labels": {"a": "b"}}}).status == 200


def test_secret_type_is_immutable(client: Client, paths: NamespacePaths) -> None:
    secret: JsonObject = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "stringData": {"a": "b"}}
    (made,) = create(client, paths.core("secrets"), secret)
    refused = client.put(paths.core("secrets", "one"), secret | {"type": "example.com/other"})
    assert (refused.reason, refused.tree["details"]["causes"][0]["field"]) == ((422, "Invalid"), "type")
    assert client.put(paths.core("secrets", "one"), secret).tree == made


def test_concurrent_updates_conflict(server: LoopbackServer, client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    results: list[int] = []

    def write(guest: int) -> None:
        writer = server.connect()
        results.append(writer.put(paths.instancetypes("one"), with_guest(made, guest)).status)
        writer.close()

    threads = [threading.Thread(target=write, args=(guest,)) for guest in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200, *[409] * 5]


def test_concurrent_patches_all_succeed(server: LoopbackServer, client: Client, paths: NamespacePaths) -> None:
    create(client, paths.core("configmaps"), build_config(data={"z": "0"}))
    results: list[int] = []

    def write(number: int) -> None:
        writer = server.connect()
        results.append(writer.patch(paths.core("configmaps", "settings"), {"data": {f"k{number}": "1"}}).status)
        writer.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200] * 6
    data = client.get(paths.core("configmaps", "settings")).tree["data"]
    assert data == {"z": "0"} | {f"k{number}": "1" for number in range(6)}
