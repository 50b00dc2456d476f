"""Watches: order of events, selectors, resource versions, bookmarks and timeouts."""

import time

import pytest
from tests.integration.objects import (
    NamespacePaths,
    build_config,
    build_instancetype,
    build_vm,
    create,
    names,
    revision,
)
from tests.support.loopback import TIMEOUT, Client, LoopbackServer

from virtshape.api.model import JsonObject

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def show(events: list[JsonObject]) -> list[tuple[str, str]]:
    """Return the type and object name of each event."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def test_watch_sends_changes_after_a_resource_version_in_order(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("before"))
    since = revision(client.get(paths.instancetypes()).tree)
    create(client, paths.instancetypes(), build_instancetype("one"))
    with client.watch(paths.instancetypes(), resourceVersion=since) as watch:
        client.patch(paths.instancetypes("one"), {"spec": {"cpu": {"guest": 2}}})
        client.delete(paths.instancetypes("one"))
        events = watch.read(3)
    assert show(events) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
    revisions = [int(revision(event["object"])) for event in events]
    assert revisions == sorted(set(revisions))
    assert events[2]["object"]["spec"]["cpu"] == {"guest": 2}


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=["no resource version", "resource version 0"])
def test_watch_without_resource_version_starts_with_existing_objects(
    client: Client, paths: NamespacePaths, query: JsonObject
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"), build_instancetype("two"))
    with client.watch(paths.instancetypes(), **query) as watch:
        client.delete(paths.instancetypes("one"))
        assert show(watch.read(3)) == [("ADDED", "one"), ("ADDED", "two"), ("DELETED", "one")]


def test_namespaced_watch_sends_no_events_of_other_namespaces(client: Client, paths: NamespacePaths) -> None:
    since = revision(client.get(paths.core("configmaps")).tree)
    with client.watch(paths.core("configmaps"), resourceVersion=since) as watch:
        create(client, "/api/v1/namespaces/default/configmaps", build_config(f"of-{paths.namespace}"))
        create(client, paths.core("configmaps"), build_config("mine"))
        assert show(watch.read(1)) == [("ADDED", "mine")]
    client.delete(f"/api/v1/namespaces/default/configmaps/of-{paths.namespace}")


def test_watch_of_all_namespaces_sends_events_of_each(client: Client, paths: NamespacePaths) -> None:
    path = "/api/v1/configmaps"
    since = revision(client.get(path).tree)
    with client.watch(path, resourceVersion=since) as watch:
        create(client, paths.core("configmaps"), build_config("mine"))
        (event,) = watch.read(1)
    assert (event["object"]["metadata"]["namespace"], event["object"]["kind"]) == (paths.namespace, "ConfigMap")


def test_object_that_starts_or_stops_matching_a_selector_is_added_or_deleted(
    client: Client, paths: NamespacePaths
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    with client.watch(paths.instancetypes(), resourceVersion=revision(made), labelSelector="tier=a") as watch:
        for tier in ("b", "a", "a", "b", "a"):
            client.patch(paths.instancetypes("one"), {"metadata": {"labels": {"tier": tier}}})
        client.patch(paths.instancetypes("one"), {"spec": {"cpu": {"guest": 4}}})
        client.delete(paths.instancetypes("one"))
        events = watch.read(5)
    seen = [(event["type"], event["object"]["metadata"]["labels"]["tier"]) for event in events]
    assert seen == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    revisions = [int(revision(event["object"])) for event in events]
    assert revisions == sorted(set(revisions))


def test_selector_applies_to_historical_events(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one", labels={"tier": "a"}))
    for tier in ("b", "c", "a"):
        client.patch(paths.instancetypes("one"), {"metadata": {"labels": {"tier": tier}}})
    with client.watch(paths.instancetypes(), resourceVersion=revision(made), labelSelector="tier=a") as watch:
        assert show(watch.read(2)) == [("DELETED", "one"), ("ADDED", "one")]


def test_one_object_can_be_watched_by_name(client: Client, paths: NamespacePaths) -> None:
    since = revision(client.get(paths.instancetypes()).tree)
    with client.watch(paths.instancetypes(), resourceVersion=since, fieldSelector="metadata.name=two") as watch:
        create(client, paths.instancetypes(), build_instancetype("one"), build_instancetype("two"))
        assert show(watch.read(1)) == [("ADDED", "two")]


def test_watch_ends_cleanly_after_its_timeout(client: Client, paths: NamespacePaths) -> None:
    began = time.monotonic()
    with client.watch(paths.instancetypes(), seconds=1) as watch:
        assert list(watch) == []
        assert watch.response.headers["transfer-encoding"] == "chunked"
    assert 0.9 < time.monotonic() - began < TIMEOUT / 2


def test_watch_ends_with_a_bookmark_if_the_revision_has_advanced(client: Client, paths: NamespacePaths) -> None:
    since = revision(client.get(paths.instancetypes()).tree)
    query: JsonObject = {"resourceVersion": since, "labelSelector": "nobody=has", "seconds": 3}
    # Created first, because a busy machine may need longer than the watches last.
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    with (
        client.watch(paths.instancetypes(), allowWatchBookmarks="true", **query) as marked,
        client.watch(paths.instancetypes(), **query) as unmarked,
    ):
        events = list(marked)
        assert list(unmarked) == []
    assert [event["type"] for event in events] == ["BOOKMARK"]
    assert events[0]["object"].keys() == {"kind", "apiVersion", "metadata"}
    assert events[0]["object"]["metadata"].keys() == {"resourceVersion"}
    assert int(revision(events[0]["object"])) >= int(revision(made))


def test_bookmarks_are_sent_periodically(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.apiserver.watching.BOOKMARK_SECONDS", 0.2)
    since = revision(client.get(paths.instancetypes()).tree)
    with client.watch(paths.instancetypes(), resourceVersion=since, allowWatchBookmarks="true") as watch:
        create(client, paths.core("configmaps"), build_config("one"))
        first = watch.read(1)
        create(client, paths.core("configmaps"), build_config("two"))
        second = watch.read(1)
    assert [event["type"] for event in (*first, *second)] == ["BOOKMARK", "BOOKMARK"]
    assert int(revision(first[0]["object"])) < int(revision(second[0]["object"]))


def test_watch_with_too_many_pending_events_ends_with_410(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.watch.MAX_PENDING", 0)
    since = revision(client.get(paths.instancetypes()).tree)
    with client.watch(paths.instancetypes(), resourceVersion=since) as watch:
        create(client, paths.instancetypes(), build_instancetype("one"))
        events = list(watch)
    assert [(event["type"], event["object"]["code"]) for event in events] == [("ERROR", 410)]


def test_no_bookmark_is_sent_without_changes(server: LoopbackServer, client: Client, paths: NamespacePaths) -> None:
    since = str(server.system.store.newest)
    with client.watch(paths.instancetypes(), resourceVersion=since, allowWatchBookmarks="true", seconds=3) as watch:
        assert list(watch) == []


def test_initial_events_end_with_an_annotated_bookmark(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"), build_instancetype("two", labels={"a": "b"}))
    query: JsonObject = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    with client.watch(paths.instancetypes(), labelSelector="a=b", **query) as watch:
        events = watch.read(2)
        create(client, paths.instancetypes(), build_instancetype("three", labels={"a": "b"}))
        events += watch.read(1)
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK", "ADDED"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(revision(events[0]["object"])) <= int(revision(events[1]["object"]))


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=["no resource version", "resource version 0"])
def test_initial_events_without_a_version_end_with_an_annotated_bookmark(
    client: Client, paths: NamespacePaths, query: JsonObject
) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    with client.watch(paths.instancetypes(), allowWatchBookmarks="true", **query) as watch:
        events = watch.read(2)
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_watch_can_start_without_initial_events(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    query: JsonObject = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
    with client.watch(paths.instancetypes(), **query) as watch:
        create(client, paths.instancetypes(), build_instancetype("two"))
        assert show(watch.read(1)) == [("ADDED", "two")]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"sendInitialEvents": "true"}, id="initial events without a match"),
        pytest.param(
            {"sendInitialEvents": "true", "resourceVersionMatch": "Exact", "resourceVersion": "1"},
            id="initial events with an exact match",
        ),
        pytest.param(
            {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"}, id="match without initial events"
        ),
        pytest.param({"continue": "x"}, id="continue token"),
    ],
)
def test_invalid_watch_parameters_return_422(client: Client, paths: NamespacePaths, query: JsonObject) -> None:
    assert client.get(paths.instancetypes(), watch="true", **query).reason == (422, "Invalid")


def test_watch_from_compacted_history_sends_410_as_an_event(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    since = revision(client.get(paths.instancetypes()).tree)
    create(client, paths.instancetypes(), build_instancetype("one"))
    server.compact()
    with client.watch(paths.instancetypes(), resourceVersion=since) as watch:
        events = list(watch)
    assert watch.response.status == 200
    assert [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in events] == [
        ("ERROR", 410, "Expired")
    ]


def test_watch_from_an_unknown_revision_ends_with_410(client: Client, paths: NamespacePaths) -> None:
    with client.watch(paths.instancetypes(), resourceVersion="999999999") as watch:
        events = list(watch)
    assert [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in events] == [
        ("ERROR", 410, "Expired")
    ]
    assert events[0]["object"]["message"].startswith("Too large resource version: 999999999, current: ")


def test_watch_sends_missed_changes_in_batches(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.store.BYTES_AT_ONCE", 1000)
    since = revision(client.get(paths.instancetypes()).tree)
    names = [f"t-{number}" for number in range(20)]
    create(client, paths.instancetypes(), *map(build_instancetype, names))
    with client.watch(paths.instancetypes(), resourceVersion=since) as watch:
        assert show(watch.read(20)) == [("ADDED", name) for name in names]
        create(client, paths.instancetypes(), build_instancetype("last"))
        assert show(watch.read(1)) == [("ADDED", "last")]


def test_watch_sends_existing_objects_in_batches(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.store.BYTES_AT_ONCE", 1000)
    names = [f"t-{number:02}" for number in range(20)]
    create(client, paths.instancetypes(), *map(build_instancetype, names))
    with client.watch(paths.instancetypes(), fieldSelector="metadata.name!=t-03") as watch:
        assert show(watch.read(19)) == [("ADDED", name) for name in names if name != "t-03"]
        create(client, paths.instancetypes(), build_instancetype("last"))
        assert show(watch.read(1)) == [("ADDED", "last")]


def test_initial_events_at_a_future_version_are_rejected(client: Client, paths: NamespacePaths) -> None:
    query: JsonObject = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "resourceVersion": "999999999",
    }
    with client.watch(paths.instancetypes(), **query) as watch:
        events = list(watch)
    assert [(event["type"], event["object"]["code"]) for event in events] == [("ERROR", 504)]


@pytest.mark.parametrize("version", ["x", "-1", "9" * 23])
def test_invalid_resource_version_is_rejected_as_in_kubernetes(
    client: Client, paths: NamespacePaths, version: str
) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    watch = client.get(paths.instancetypes(), watch="true", resourceVersion=version)
    assert (watch.reason, watch.tree["message"][:30]) == ((500, ""), "resourceVersion: Invalid value")
    assert client.get(paths.instancetypes("one"), resourceVersion=version).status == 500
    assert client.get(paths.instancetypes("one"), resourceVersion=revision(made)).tree == made


def test_update_without_changes_sends_no_event(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    with client.watch(paths.instancetypes(), resourceVersion=revision(made)) as watch:
        assert revision(client.patch(paths.instancetypes("one"), {"spec": {"cpu": {"guest": 1}}}).tree) == revision(
            made
        )
        assert revision(client.put(paths.instancetypes("one"), made).tree) == revision(made)
        client.patch(paths.instancetypes("one"), {"spec": {"cpu": {"guest": 2}}})
        (event,) = watch.read(1)
    assert event["object"]["spec"]["cpu"] == {"guest": 2}


def test_deleted_event_contains_the_finalizers_before_their_removal(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one", finalizers=["example.com/hold"]))
    with client.watch(paths.instancetypes(), resourceVersion=revision(made)) as watch:
        client.delete(paths.instancetypes("one"))
        answer = client.patch(paths.instancetypes("one"), {"metadata": {"finalizers": None}}).tree
        marked, gone = watch.read(2)
    assert (marked["type"], gone["type"]) == ("MODIFIED", "DELETED")
    assert gone["object"]["metadata"]["finalizers"] == ["example.com/hold"]
    assert int(revision(gone["object"])) > int(revision(marked["object"]))
    assert "finalizers" not in answer["metadata"]


def test_status_update_sends_an_event_with_an_unchanged_generation(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    with client.watch(paths.vms(), resourceVersion=revision(made)) as watch:
        client.patch(f"{paths.vms('vm1')}/status", {"status": {"created": True}})
        client.patch(paths.vms("vm1"), {"spec": {"runStrategy": "Always"}})
        events = watch.read(2)
    reported = [(event["type"], event["object"]["metadata"]["generation"]) for event in events]
    assert reported == [("MODIFIED", 1), ("MODIFIED", 2)]


def test_table_watch_sends_columns_only_in_the_first_event(
    client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.apiserver.watching.BOOKMARK_SECONDS", 0.2)
    create(client, paths.instancetypes(), build_instancetype("one"))
    with client.watch(paths.instancetypes(), accept=TABLE, allowWatchBookmarks="true") as watch:
        create(client, paths.instancetypes(), build_instancetype("two"))
        create(client, paths.core("configmaps"), build_config())
        events = *_, second, bookmark = watch.read(4)
    assert [event["object"]["kind"] for event in events] == ["Table"] * 4
    assert [event["object"]["columnDefinitions"] is None for event in events] == [False, True, True, True]
    assert second["object"]["rows"][0]["cells"][0] == "two"
    assert bookmark["type"] == "BOOKMARK"
    assert int(revision(bookmark["object"])) > int(revision(second["object"]))


def test_partial_object_metadata_can_be_watched(client: Client, paths: NamespacePaths) -> None:
    with client.watch(paths.instancetypes(), accept=PARTIAL) as watch:
        create(client, paths.instancetypes(), build_instancetype("one"))
        (event,) = watch.read(1)
    assert event["object"].keys() == {"kind", "apiVersion", "metadata"}
    assert (event["object"]["kind"], event["object"]["metadata"]["name"]) == ("PartialObjectMetadata", "one")


def test_watch_does_not_support_yaml(client: Client, paths: NamespacePaths) -> None:
    refused = client.get(paths.instancetypes(), accept="application/yaml", watch="true")
    assert (refused.status, refused.headers["content-type"]) == (406, "application/yaml")


@pytest.mark.parametrize("flag", ["1", "true", "yes", ""])
def test_watch_parameter_is_true_unless_false_or_zero(client: Client, paths: NamespacePaths, flag: str) -> None:
    with client.watch(paths.instancetypes(), seconds=1, watch=flag) as watch:
        assert watch.response.headers["transfer-encoding"] == "chunked"


@pytest.mark.parametrize("flag", ["0", "false", "False"])
def test_watch_parameter_false_returns_a_list(client: Client, paths: NamespacePaths, flag: str) -> None:
    assert names(client.get(paths.instancetypes(), watch=flag).tree) == []


def test_closed_watches_are_unsubscribed_from_the_store(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    hub = server.system.store._broadcaster  # noqa: SLF001 - leftovers are visible nowhere else

    def count() -> int:
        """Return the number of watches of this namespace; closed watches of other tests may still be counted."""
        kept = [one for each in list(hub._subscriptions.values()) for one in list(each)]  # noqa: SLF001
        return sum(one.namespace == paths.namespace for one in kept)

    with client.watch(paths.instancetypes()):
        client.send("HEAD", paths.instancetypes(), query={"watch": "true"})
        create(client, paths.instancetypes(), build_instancetype("one"))
        assert count() == 1
    deadline = time.monotonic() + TIMEOUT
    while count():
        assert time.monotonic() < deadline
        time.sleep(0.02)
