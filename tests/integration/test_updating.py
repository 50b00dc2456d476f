"""Updates: what may change and what the server puts back, revisions and generations, and the status apart."""

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
from tests.support.loopback import Client, LoopbackServer, Tree


def with_metadata(tree: Tree, **metadata: object) -> Tree:
    return {**tree, "metadata": {**tree["metadata"], **metadata}}


def with_guest(tree: Tree, guest: int) -> Tree:
    return {**tree, "spec": {**tree["spec"], "cpu": {"guest": guest}}}


def test_an_update_replaces_all_that_is_the_clients(client: Client, paths: NamespacePaths) -> None:
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


def test_what_the_server_says_cannot_be_changed(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    sent = with_metadata(made, creationTimestamp="2001-01-01T00:00:00Z", generation=99, selfLink="/x")
    assert client.put(paths.instancetypes("one"), sent).tree == made


@pytest.mark.parametrize(
    ("metadata", "refusal"),
    [
        pytest.param({"name": "other"}, (400, "BadRequest"), id="another name"),
        pytest.param({"name": None}, (400, "BadRequest"), id="no name"),
        pytest.param({"namespace": "default"}, (400, "BadRequest"), id="another namespace"),
        pytest.param({"uid": "11111111-1111-1111-1111-111111111111"}, (409, "Conflict"), id="another uid"),
        pytest.param({"resourceVersion": "1"}, (409, "Conflict"), id="an older revision"),
        pytest.param({"resourceVersion": ""}, (422, "Invalid"), id="no revision"),
        pytest.param({"resourceVersion": "0"}, (422, "Invalid"), id="any revision"),
        pytest.param({"resourceVersion": "odd"}, (500, ""), id="a revision that is none"),
        pytest.param({"deletionGracePeriodSeconds": 5}, (422, "Invalid"), id="a grace period"),
    ],
)
def test_another_address_or_state_is_refused(
    client: Client, paths: NamespacePaths, metadata: Tree, refusal: tuple[int, str]
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    sent = with_metadata(with_guest(made, 2), **metadata)
    refused = client.put(paths.instancetypes("one"), sent)
    assert refused.reason == refusal
    if refusal == (409, "Conflict"):
        details = {"name": "one", "group": GROUP, "kind": "virtualmachineinstancetypes"}
        assert refused.tree["details"] == details
    assert client.get(paths.instancetypes("one")).tree == made


def test_an_object_that_is_not_there_cannot_be_updated(client: Client, paths: NamespacePaths) -> None:
    sent = build_instancetype("one", resourceVersion="1")
    assert client.put(paths.instancetypes("one"), sent).reason == (404, "NotFound")
    assert client.put(paths.instancetypes(), sent).reason == (400, "BadRequest")


def test_a_missing_revision_is_told_of_the_resource(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    for refused in (
        client.put(paths.instancetypes("one"), build_instancetype("one")),
        client.patch(paths.instancetypes("one"), {"metadata": {"resourceVersion": None, "labels": {"a": "b"}}}),
    ):
        details = refused.tree["details"]
        assert (refused.reason, details["kind"]) == ((422, "Invalid"), "virtualmachineinstancetypes")
        assert [cause["field"] for cause in details["causes"]] == ["metadata.resourceVersion"]


def test_kubernetes_own_kinds_can_be_replaced_without_a_revision(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.core("configmaps"), build_config())
    assert client.put(paths.core("configmaps", "settings"), build_config(data={"b": "2"})).tree["data"] == {"b": "2"}


def test_generations_count_changes_of_what_is_wanted(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    labelled = client.put(paths.vms("vm1"), with_metadata(made, labels={"a": "b"})).tree
    reported = client.patch(f"{paths.vms('vm1')}/status", {"status": {"created": True}}).tree
    changed = client.patch(paths.vms("vm1"), {"spec": {"runStrategy": "Always"}}).tree
    assert [tree["metadata"]["generation"] for tree in (made, labelled, reported, changed)] == [1, 1, 1, 2]


def test_a_write_that_changes_nothing_keeps_the_revision(
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


def test_a_dry_run_shows_what_would_be_with_the_revision_that_is(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    shown = client.put(paths.instancetypes("one"), with_guest(made, 8), dryRun="All").tree
    assert (shown["spec"]["cpu"], revision(shown)) == ({"guest": 8}, revision(made))
    assert shown["metadata"]["generation"] == 2
    assert client.get(paths.instancetypes("one")).tree == made


def test_of_the_status_only_the_status_is_taken(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    sent = {**with_metadata(made, labels={"a": "b"}), "status": {"created": True}}
    sent["spec"] = {**sent["spec"], "runStrategy": "Always"}
    updated = client.put(f"{paths.vms('vm1')}/status", sent).tree
    assert (updated["spec"], updated["status"]) == (made["spec"], {"created": True})
    assert "labels" not in updated["metadata"]
    assert client.get(f"{paths.vms('vm1')}/status").tree == updated


def test_all_but_the_status_leaves_the_status(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.vms(), build_vm())
    reported = client.patch(f"{paths.vms('vm1')}/status", {"status": {"created": True}}).tree
    changed = client.put(paths.vms("vm1"), {**with_metadata(reported, labels={"a": "b"}), "status": {"ready": True}})
    assert (changed.tree["status"], changed.tree["metadata"]["labels"]) == ({"created": True}, {"a": "b"})


def test_a_status_of_an_older_revision_is_a_conflict(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    client.patch(paths.vms("vm1"), {"metadata": {"labels": {"a": "b"}}})
    assert client.put(f"{paths.vms('vm1')}/status", {**made, "status": {"ready": True}}).reason == (409, "Conflict")


def test_kinds_without_a_status_apart_have_no_such_path(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        reply = client.send(method, f"{paths.instancetypes('one')}/status", b"{}" if method != "GET" else None)
        assert reply.reason == (404, "NotFound")


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_status_can_be_neither_created_nor_deleted(client: Client, paths: NamespacePaths, method: str) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    assert client.send(method, f"{paths.vms('vm1')}/status", made).reason == (405, "MethodNotAllowed")
    assert client.get(paths.vms("vm1")).status == 200


def test_a_namespace_keeps_its_label_and_finalizers(client: Client, paths: NamespacePaths) -> None:
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


def test_what_a_revision_holds_never_changes_and_keeps_its_nulls(client: Client, paths: NamespacePaths) -> None:
    path = f"/apis/apps/v1/namespaces/{paths.namespace}/controllerrevisions"
    data = {"kind": "Odd", "spec": {"nothing": None, "list": [None]}}
    body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "one"}, "data": data}
    (made,) = create(client, path, {**body, "revision": 1})
    assert made["data"] == data
    refused = client.patch(f"{path}/one", {"data": {"kind": "Other"}})
    assert (refused.reason, refused.tree["details"]["causes"][0]["field"]) == ((422, "Invalid"), "data")
    assert client.patch(f"{path}/one", {"metadata": {"labels": {"a": "b"}}}).tree["data"] == data


@pytest.mark.parametrize("plural", ["configmaps", "secrets"])
def test_settings_that_say_so_never_change(client: Client, paths: NamespacePaths, plural: str) -> None:
    kind = {"configmaps": "ConfigMap", "secrets": "Secret"}[plural]
    create(client, paths.core(plural), {**build_config(data={"a": "YQ=="}), "kind": kind, "immutable": True})
    path = paths.core(plural, "settings")
    refused = client.patch(path, {"data": {"a": "Yg=="}, "immutable": False})
    assert refused.reason == (422, "Invalid")
    assert {cause["field"] for cause in refused.tree["details"]["causes"]} == {"data", "immutable"}
    assert client.patch(path, {"metadata": {"labels": {"a": "b"}}}).status == 200


def test_what_a_secret_is_for_never_changes(client: Client, paths: NamespacePaths) -> None:
    secret: Tree = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "stringData": {"a": "b"}}
    (made,) = create(client, paths.core("secrets"), secret)
    refused = client.put(paths.core("secrets", "one"), secret | {"type": "example.com/other"})
    assert (refused.reason, refused.tree["details"]["causes"][0]["field"]) == ((422, "Invalid"), "type")
    assert client.put(paths.core("secrets", "one"), secret).tree == made


def test_of_two_that_write_at_once_one_is_told_to_look_again(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
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


def test_patches_that_come_at_once_are_all_made(server: LoopbackServer, client: Client, paths: NamespacePaths) -> None:
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
