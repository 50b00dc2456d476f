"""List requests: consistent pages, resource versions, compaction, selectors and list metadata."""

import base64
import json

import pytest
from tests.integration.objects import (
    CLUSTER_INSTANCETYPES,
    NamespacePaths,
    build_config,
    build_instancetype,
    create,
    names,
    revision,
)
from tests.support.loopback import Client, LoopbackServer

from virtshape.api.model import JsonObject
from virtshape.apiserver import reading


@pytest.fixture(autouse=True, params=[reading.MAX_OBJECTS_ON_LOOP, 0], ids=["on-loop", "in-thread"])
def max_objects_on_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with lists that are read on the event loop, and with lists that are read in a thread."""
    monkeypatch.setattr(reading, "MAX_OBJECTS_ON_LOOP", request.param)


def fill(client: Client, paths: NamespacePaths, count: int = 5) -> list[JsonObject]:
    return create(client, paths.instancetypes(), *(build_instancetype(f"it-{number}") for number in range(count)))


def encode_token(**parts: object) -> str:
    """Encode a continue token as a client could forge it."""
    token = {"v": "meta.k8s.io/v1", "rv": 1, "start": "/x", **parts}
    return base64.urlsafe_b64encode(json.dumps(token).encode()).rstrip(b"=").decode()


def test_empty_list_has_items_and_its_kind(client: Client, paths: NamespacePaths) -> None:
    listing = client.get(paths.instancetypes()).tree
    assert listing["items"] == []
    assert (listing["kind"], listing["metadata"]["continue"]) == ("VirtualMachineInstancetypeList", "")


def test_list_pages_are_a_consistent_snapshot(client: Client, paths: NamespacePaths) -> None:
    fill(client, paths)
    first = client.get(paths.instancetypes(), limit=2).tree
    create(client, paths.instancetypes(), build_instancetype("it-2b"))
    client.delete(paths.instancetypes("it-4"))
    client.patch(paths.instancetypes("it-3"), {"spec": {"cpu": {"guest": 8}}})
    second = client.get(paths.instancetypes(), limit=2, **{"continue": first["metadata"]["continue"]}).tree
    third = client.get(paths.instancetypes(), limit=2, **{"continue": second["metadata"]["continue"]}).tree
    assert [names(page) for page in (first, second, third)] == [["it-0", "it-1"], ["it-2", "it-3"], ["it-4"]]
    assert {revision(page) for page in (first, second, third)} == {revision(first)}
    assert second["items"][1]["spec"]["cpu"] == {"guest": 1}
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert third["metadata"]["continue"] == ""


def test_list_with_a_limit_above_the_count_returns_one_page(client: Client, paths: NamespacePaths) -> None:
    fill(client, paths, 3)
    page = client.get(paths.instancetypes(), limit=3).tree
    assert (names(page), page["metadata"]["continue"]) == (["it-0", "it-1", "it-2"], "")


def test_pages_across_namespaces_continue_after_the_last_object(client: Client, paths: NamespacePaths) -> None:
    fill(client, paths, 3)
    path = "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineinstancetypes"
    query: JsonObject = {"limit": 2, "labelSelector": ""}
    found: list[tuple[str, str]] = []
    while True:
        page = client.get(path, **query).tree
        found += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        if not page["metadata"]["continue"]:
            break
        query["continue"] = page["metadata"]["continue"]
    assert found == sorted(set(found))
    assert [name for namespace, name in found if namespace == paths.namespace] == ["it-0", "it-1", "it-2"]


def test_pages_with_a_selector_are_full_and_omit_the_remaining_count(client: Client, paths: NamespacePaths) -> None:
    bodies = [build_instancetype(f"it-{number}", labels={"odd": str(number % 2)}) for number in range(7)]
    create(client, paths.instancetypes(), *bodies)
    first = client.get(paths.instancetypes(), limit=2, labelSelector="odd=1").tree
    rest = client.get(
        paths.instancetypes(), limit=2, labelSelector="odd=1", **{"continue": first["metadata"]["continue"]}
    ).tree
    assert (names(first), names(rest)) == (["it-1", "it-3"], ["it-5"])
    assert "remainingItemCount" not in first["metadata"]
    assert rest["metadata"]["continue"] == ""


def test_expired_continue_token_returns_410_with_a_new_token(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    fill(client, paths)
    first = client.get(paths.instancetypes(), limit=2).tree
    create(client, paths.instancetypes(), build_instancetype("it-9"))
    server.compact()
    expired = client.get(paths.instancetypes(), limit=2, **{"continue": first["metadata"]["continue"]})
    assert expired.reason == (410, "Expired")
    fresh = client.get(paths.instancetypes(), limit=9, **{"continue": expired.tree["metadata"]["continue"]}).tree
    assert names(fresh) == ["it-2", "it-3", "it-4", "it-9"]
    assert int(revision(fresh)) > int(revision(first))


def test_list_at_an_exact_resource_version_returns_that_state(client: Client, paths: NamespacePaths) -> None:
    fill(client, paths, 2)
    then = client.get(paths.instancetypes()).tree
    client.delete(paths.instancetypes("it-0"))
    client.patch(paths.instancetypes("it-1"), {"metadata": {"labels": {"a": "b"}}})
    again = client.get(paths.instancetypes(), resourceVersion=revision(then), resourceVersionMatch="Exact").tree
    assert again == then
    with_limit = client.get(paths.instancetypes(), resourceVersion=revision(then), limit=1).tree
    assert with_limit["items"] == then["items"][:1]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"resourceVersion": "0"}, id="any"),
        pytest.param({"resourceVersion": "1"}, id="legacy not older than"),
        pytest.param({"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}, id="not older than"),
        pytest.param(
            {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan", "limit": 1}, id="any, with a limit"
        ),
        pytest.param({"resourceVersion": "0", "limit": 1}, id="legacy any, with a limit"),
    ],
)
def test_list_not_older_than_a_version_returns_the_current_state(
    client: Client, paths: NamespacePaths, query: JsonObject
) -> None:
    fill(client, paths, 2)
    assert names(client.get(paths.instancetypes(), **query).tree) == ["it-0", "it-1"]


def test_list_at_a_compacted_version_returns_410(server: LoopbackServer, client: Client, paths: NamespacePaths) -> None:
    then = client.get(paths.instancetypes()).tree
    fill(client, paths, 2)
    server.compact()
    gone = client.get(paths.instancetypes(), resourceVersion=revision(then), resourceVersionMatch="Exact")
    assert gone.reason == (410, "Expired")


@pytest.mark.parametrize("match", ["", "NotOlderThan", "Exact"])
def test_future_resource_version_returns_504_with_retry_after(
    client: Client, paths: NamespacePaths, match: str
) -> None:
    query = {"resourceVersionMatch": match} if match else {}
    reply = client.get(paths.instancetypes(), resourceVersion="999999999", **query)
    assert reply.reason == (504, "Timeout")
    assert reply.headers["retry-after"] == "1"
    assert reply.tree["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.get(paths.instancetypes("one"), resourceVersion="999999999").reason == (504, "Timeout")
    assert client.get(paths.instancetypes("one"), resourceVersion=revision(made)).status == 200


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        pytest.param({"limit": "abc"}, (400, "BadRequest"), id="limit that is not a number"),
        pytest.param({"limit": "9" * 25}, (400, "BadRequest"), id="limit out of range"),
        pytest.param({"limit": "1_0"}, (400, "BadRequest"), id="limit with an underscore"),
        pytest.param({"continue": "garbage"}, (400, "BadRequest"), id="invalid continue token"),
        pytest.param({"continue": "e30"}, (400, "BadRequest"), id="empty continue token"),
        pytest.param(
            {"continue": encode_token(v="v2")}, (400, "BadRequest"), id="continue token of another format version"
        ),
        pytest.param({"continue": encode_token(start="")}, (400, "BadRequest"), id="continue token without a start"),
        pytest.param(
            {"continue": encode_token(start="../x")}, (400, "BadRequest"), id="continue token with a path traversal"
        ),
        pytest.param({"resourceVersion": "9" * 23}, (400, "BadRequest"), id="resource version out of range"),
        pytest.param({"resourceVersion": "abc"}, (400, "BadRequest"), id="resource version that is not a number"),
        pytest.param({"resourceVersion": "-1"}, (400, "BadRequest"), id="negative resource version"),
        pytest.param({"resourceVersionMatch": "Exact"}, (422, "Invalid"), id="match without a resource version"),
        pytest.param(
            {"resourceVersion": "0", "resourceVersionMatch": "Exact"}, (422, "Invalid"), id="exact match of version 0"
        ),
        pytest.param({"resourceVersion": "1", "resourceVersionMatch": "odd"}, (422, "Invalid"), id="unknown match"),
        pytest.param({"sendInitialEvents": "true"}, (422, "Invalid"), id="initial events of a list"),
        pytest.param({"labelSelector": "a in (b"}, (400, "BadRequest"), id="invalid label selector"),
        pytest.param({"fieldSelector": "spec.nope=1"}, (400, "BadRequest"), id="unsupported field selector"),
    ],
)
def test_invalid_list_parameters_are_rejected(
    client: Client, paths: NamespacePaths, query: JsonObject, refusal: tuple[int, str]
) -> None:
    assert client.get(paths.instancetypes(), **query).reason == refusal


def test_continue_token_cannot_be_combined_with_a_resource_version(client: Client, paths: NamespacePaths) -> None:
    fill(client, paths, 3)
    token = client.get(paths.instancetypes(), limit=1).tree["metadata"]["continue"]
    reply = client.get(paths.instancetypes(), limit=1, resourceVersion="5", **{"continue": token})
    assert reply.reason == (400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("tier=a", ["one", "two"], id="equal"),
        pytest.param("tier!=a", ["three", "zero"], id="not equal or absent"),
        pytest.param("tier in (a,b)", ["one", "three", "two"], id="in"),
        pytest.param("tier notin (a),tier", ["three"], id="not in, and exists"),
        pytest.param("!tier", ["zero"], id="absent"),
    ],
)
def test_label_selectors_filter_lists(
    client: Client, paths: NamespacePaths, selector: str, expected: list[str]
) -> None:
    labels = {"zero": None, "one": {"tier": "a"}, "two": {"tier": "a"}, "three": {"tier": "b"}}
    create(client, paths.instancetypes(), *(build_instancetype(name, labels=own) for name, own in labels.items()))
    assert names(client.get(paths.instancetypes(), labelSelector=selector).tree) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("metadata.name=it-1", ["it-1"], id="name"),
        pytest.param("metadata.name!=it-1", ["it-0", "it-2"], id="not the name"),
        pytest.param("metadata.name=it-1,metadata.name=it-2", [], id="two names"),
        pytest.param("metadata.name=nope", [], id="unknown name"),
        pytest.param("metadata.namespace=elsewhere", [], id="other namespace"),
    ],
)
def test_field_selectors_filter_lists(
    client: Client, paths: NamespacePaths, selector: str, expected: list[str]
) -> None:
    fill(client, paths, 3)
    listing = client.get(paths.instancetypes(), fieldSelector=selector).tree
    assert names(listing) == expected
    assert int(revision(listing)) > 0


def test_namespaced_list_has_no_objects_of_other_namespaces(client: Client, paths: NamespacePaths) -> None:
    fill(client, paths, 1)
    assert names(client.get(NamespacePaths("default").instancetypes()).tree) == []


def test_items_of_built_in_kinds_have_no_api_version_and_kind(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.core("configmaps"), build_config())
    listing = client.get(paths.core("configmaps")).tree
    assert (listing["apiVersion"], listing["kind"]) == ("v1", "ConfigMapList")
    assert not {"apiVersion", "kind"} & listing["items"][0].keys()
    assert "continue" not in listing["metadata"]


def test_cluster_scoped_kinds_are_listed_without_a_namespace(client: Client) -> None:
    body = build_instancetype("listed", kind="VirtualMachineClusterInstancetype")
    create(client, CLUSTER_INSTANCETYPES, body)
    assert names(client.get(CLUSTER_INSTANCETYPES, fieldSelector="metadata.name=listed").tree) == ["listed"]
    client.delete(f"{CLUSTER_INSTANCETYPES}/listed")
