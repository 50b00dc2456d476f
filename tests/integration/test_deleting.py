"""Delete requests: single objects and collections, finalizers, preconditions and propagation policies."""

import itertools
import threading
import time
from contextlib import closing

import pytest
from tests.integration.objects import CLUSTER_INSTANCETYPES, NamespacePaths, build_instancetype, create, names, revision
from tests.support.loopback import Client, LoopbackServer

from virtshape.api.model import JsonObject

HELD = ["example.com/hold"]


def test_delete_returns_the_uid_of_the_deleted_object(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.delete(paths.instancetypes("one"))
    details = {
        "name": "one",
        "group": "instancetype.kubevirt.io",
        "kind": "virtualmachineinstancetypes",
        "uid": made["metadata"]["uid"],
    }
    assert (reply.tree["status"], reply.tree["details"]) == ("Success", details)
    assert client.get(paths.instancetypes("one")).status == 404
    assert client.delete(paths.instancetypes("one")).reason == (404, "NotFound")


@pytest.mark.parametrize("options", [{}, {"dryRun": "All"}, {"orphanDependents": "false"}], ids=str)
def test_delete_of_a_service_account_returns_the_object(
    client: Client, paths: NamespacePaths, options: JsonObject
) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "one"}}
    (made,) = create(client, paths.core("serviceaccounts"), account)
    gone = client.delete(paths.core("serviceaccounts", "one"), **options)
    assert (gone.status, gone.tree["metadata"]["uid"]) == (200, made["metadata"]["uid"])


def test_deleted_object_with_finalizers_has_a_deletion_timestamp_until_they_are_removed(
    client: Client, paths: NamespacePaths
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one", finalizers=HELD))
    marked = client.delete(paths.instancetypes("one")).tree
    assert (marked["kind"], marked["metadata"]["finalizers"]) == ("VirtualMachineInstancetype", HELD)
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert marked["metadata"]["generation"] == made["metadata"]["generation"] + 1
    assert client.delete(paths.instancetypes("one")).tree == marked
    done = client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": []}})
    assert (done.status, revision(done.tree)) == (200, revision(marked))
    assert client.get(paths.instancetypes("one")).status == 404


def test_finalizer_cannot_be_added_to_an_object_being_deleted(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one", finalizers=HELD))
    client.delete(paths.instancetypes("one"))
    patch = {"metadata": {"finalizers": [*HELD, "example.com/more"]}}
    assert client.patch(paths.instancetypes("one"), patch).reason == (422, "Invalid")
    client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": None}})


def test_deletion_timestamp_cannot_be_removed(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one", finalizers=HELD))
    marked = client.delete(paths.instancetypes("one")).tree
    patch = {"metadata": {"deletionTimestamp": None, "labels": {"a": "b"}}}
    patched = client.patch(paths.instancetypes("one"), patch).tree
    assert patched["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]
    client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(
    ("body", "query", "finalizer"),
    [
        pytest.param({"propagationPolicy": "Foreground"}, {}, "foregroundDeletion", id="foreground"),
        pytest.param({"propagationPolicy": "Orphan"}, {}, "orphan", id="orphan"),
        pytest.param({"orphanDependents": True}, {}, "orphan", id="deprecated orphanDependents"),
        pytest.param(None, {"propagationPolicy": "Foreground"}, "foregroundDeletion", id="foreground in the query"),
        pytest.param(None, {"orphanDependents": "true"}, "orphan", id="deprecated orphanDependents in the query"),
    ],
)
def test_propagation_policy_adds_a_finalizer(
    client: Client, paths: NamespacePaths, body: JsonObject | None, query: JsonObject, finalizer: str
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.delete(paths.instancetypes("one"), body, **query).tree["metadata"]["finalizers"] == [finalizer]
    client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("options", [{}, {"propagationPolicy": "Background"}, {"gracePeriodSeconds": 30}])
def test_object_without_finalizers_is_removed_immediately(
    client: Client, paths: NamespacePaths, options: JsonObject
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.delete(paths.instancetypes("one"), options or None).tree["status"] == "Success"


def test_deletion_with_orphan_dependents_false_returns_202_while_finalizers_remain(
    client: Client, paths: NamespacePaths
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one", finalizers=HELD))
    assert client.delete(paths.instancetypes("one"), {"orphanDependents": False}).status == 202
    client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(
    "wanted", [{"uid": "11111111-1111-1111-1111-111111111111"}, {"resourceVersion": "1"}], ids=["uid", "revision"]
)
def test_failed_preconditions_prevent_deletion(client: Client, paths: NamespacePaths, wanted: JsonObject) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.delete(paths.instancetypes("one"), {"preconditions": wanted})
    assert (reply.reason, reply.tree["details"]["kind"]) == ((409, "Conflict"), "VirtualMachineInstancetype")
    agreed = {"uid": made["metadata"]["uid"], "resourceVersion": revision(made)}
    assert client.delete(paths.instancetypes("one"), {"preconditions": agreed}).status == 200


def test_dry_run_deletes_nothing_and_returns_the_result(client: Client, paths: NamespacePaths) -> None:
    one, two = create(
        client, paths.instancetypes(), build_instancetype("one"), build_instancetype("two", finalizers=HELD)
    )
    assert client.delete(paths.instancetypes("one"), {"dryRun": ["All"]}).tree["status"] == "Success"
    shown = client.delete(paths.instancetypes("two"), dryRun="All").tree
    assert ("deletionTimestamp" in shown["metadata"], revision(shown)) == (True, revision(two))
    assert client.get(paths.instancetypes()).tree["items"] == [one, two]


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        pytest.param({"propagationPolicy": "Sideways"}, (422, "Invalid"), id="unknown policy"),
        pytest.param(
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            (422, "Invalid"),
            id="policy and orphanDependents",
        ),
        pytest.param({"dryRun": ["Some"]}, (422, "Invalid"), id="invalid dry run"),
        pytest.param({"kind": "Pod"}, (400, "BadRequest"), id="not delete options"),
        pytest.param(b"{", (400, "BadRequest"), id="truncated body"),
        pytest.param([], (400, "BadRequest"), id="list"),
    ],
)
def test_invalid_delete_options_are_rejected(
    client: Client, paths: NamespacePaths, body: object, refusal: tuple[int, str]
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.delete(paths.instancetypes("one"), body).reason == refusal
    assert client.get(paths.instancetypes("one")).status == 200


def test_delete_collection_returns_the_deleted_objects(client: Client, paths: NamespacePaths) -> None:
    bodies = [build_instancetype(f"it-{number}", labels={"odd": str(number % 2)}) for number in range(5)]
    bodies.append(build_instancetype("it-5", labels={"odd": "1"}, finalizers=HELD))
    made = create(client, paths.instancetypes(), *bodies)
    since = revision(made[-1])
    gone = client.delete(paths.instancetypes(), labelSelector="odd=1")
    assert (gone.tree["kind"], names(gone.tree)) == ("VirtualMachineInstancetypeList", ["it-1", "it-3", "it-5"])
    assert names(client.get(paths.instancetypes()).tree) == ["it-0", "it-2", "it-4", "it-5"]
    with client.watch(paths.instancetypes(), resourceVersion=since) as watch:
        events = watch.read(3)
    assert [event["type"] for event in events] == ["DELETED", "DELETED", "MODIFIED"]
    client.patch(paths.instancetypes("it-5"), {"metadata": {"finalizers": None}})


def test_delete_collection_succeeds_while_the_objects_change(server: LoopbackServer, paths: NamespacePaths) -> None:
    stop = threading.Event()

    def change() -> None:
        with closing(server.connect()) as client:
            for number in itertools.cycle(range(10)):
                if stop.is_set():
                    return
                client.patch(paths.instancetypes(f"it-{number}"), {"metadata": {"labels": {"at": str(time.time())}}})

    writers = [threading.Thread(target=change) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        with closing(server.connect()) as client:
            for _ in range(20):
                create(client, paths.instancetypes(), *(build_instancetype(f"it-{number}") for number in range(10)))
                assert client.delete(paths.instancetypes()).status == 200
                assert client.get(paths.instancetypes()).tree["items"] == []
    finally:
        stop.set()
        for writer in writers:
            writer.join()


def test_delete_collection_honors_limit_and_continue(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), *(build_instancetype(f"it-{number}") for number in range(3)))
    gone = client.delete(paths.instancetypes(), limit=1).tree
    assert (names(gone), gone["metadata"]["remainingItemCount"], bool(gone["metadata"]["continue"])) == (
        ["it-0"],
        2,
        True,
    )
    assert names(client.get(paths.instancetypes()).tree) == ["it-1", "it-2"]


def test_dry_run_of_delete_collection_deletes_nothing(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"), build_instancetype("two"))
    assert names(client.delete(paths.instancetypes(), dryRun="All").tree) == ["one", "two"]
    assert names(client.get(paths.instancetypes()).tree) == ["one", "two"]


def test_delete_collection_across_namespaces_is_rejected(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    reply = client.delete("/apis/instancetype.kubevirt.io/v1beta1/virtualmachineinstancetypes")
    assert (reply.status, reply.body) == (404, b"404 page not found\n")
    assert client.get(paths.instancetypes("one")).status == 200


def test_cluster_scoped_collection_can_be_deleted(client: Client) -> None:
    kind = "VirtualMachineClusterInstancetype"
    bodies = [build_instancetype(name, kind=kind, labels={"suite": "deleting"}) for name in ("del-1", "del-2")]
    create(client, CLUSTER_INSTANCETYPES, *bodies)
    assert names(client.delete(CLUSTER_INSTANCETYPES, labelSelector="suite=deleting").tree) == ["del-1", "del-2"]
    assert client.get(f"{CLUSTER_INSTANCETYPES}/del-1").status == 404


def test_namespace_is_terminating_until_it_is_finalized(client: Client, paths: NamespacePaths) -> None:
    path = f"/api/v1/namespaces/{paths.namespace}"
    marked = client.delete(path).tree
    assert (marked["kind"], marked["status"]) == ("Namespace", {"phase": "Terminating"})
    refused = client.post(paths.instancetypes(), build_instancetype())
    assert refused.reason == (403, "Forbidden")
    assert refused.tree["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert client.put(f"{path}/finalize", {**marked, "spec": {}}).status == 200
    assert client.get(path).status == 404


def test_delete_of_a_namespace_with_failed_preconditions_is_rejected(client: Client, paths: NamespacePaths) -> None:
    kept = client.delete(f"/api/v1/namespaces/{paths.namespace}", {"preconditions": {"uid": "another"}})
    assert (kept.reason, kept.tree["details"]) == ((409, "Conflict"), {"name": paths.namespace, "kind": "namespaces"})


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_protected_namespaces_cannot_be_deleted(client: Client, name: str) -> None:
    assert client.delete(f"/api/v1/namespaces/{name}").reason == (403, "Forbidden")


def test_collection_of_namespaces_cannot_be_deleted(client: Client) -> None:
    assert client.delete("/api/v1/namespaces", labelSelector="a=b").reason == (405, "MethodNotAllowed")
