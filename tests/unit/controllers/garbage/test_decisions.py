"""Garbage collection decisions for each deletion policy."""

import pytest
from msgspec.structs import replace

from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.controllers.garbage.decisions import (
    FOREGROUND,
    ORPHAN,
    Delete,
    Graph,
    GraphNode,
    Identity,
    RemoveFinalizer,
    RemoveOwners,
    Step,
    decide_steps,
    list_affected_owners,
    make_graph_node,
)


def identity(uid: str) -> Identity:
    return Identity("v1", "ConfigMap", "ns", f"name-{uid}", uid)


def owned(uid: str, *owners: str, blocking: bool = True) -> GraphNode:
    references = tuple(
        OwnerReference(f"name-{owner}", "v1", "ConfigMap", owner, block_owner_deletion=blocking) for owner in owners
    )
    return GraphNode(identity(uid), references)


def going(uid: str, *finalizers: str) -> GraphNode:
    return GraphNode(identity(uid), (), finalizers, deleting=True)


@pytest.mark.parametrize(
    ("members", "about", "absent", "steps"),
    [
        ([owned("o"), owned("d", "o")], "d", [], []),
        ([owned("d", "o")], "d", ["o"], [Delete(identity("d"), "Background")]),
        ([owned("d", "o")], "d", [], []),
        ([owned("p"), owned("d", "o", "p")], "d", ["o"], [RemoveOwners(identity("d"), frozenset({"o"}))]),
        ([owned("d", "o", "p")], "d", ["o", "p"], [Delete(identity("d"), "Background")]),
        ([going("o", FOREGROUND), owned("d", "o")], "d", [], [Delete(identity("d"), "Background")]),
        (
            [going("o", FOREGROUND), owned("d", "o"), owned("e", "d")],
            "d",
            [],
            [Delete(identity("d"), "Foreground")],
        ),
        (
            [going("o", FOREGROUND), owned("p"), owned("d", "o", "p")],
            "d",
            [],
            [RemoveOwners(identity("d"), frozenset({"o"}))],
        ),
        ([going("o", FOREGROUND), owned("d", "o")], "o", [], []),
        (
            [going("o", FOREGROUND), owned("d", "o", blocking=False)],
            "o",
            [],
            [RemoveFinalizer(identity("o"), FOREGROUND)],
        ),
        ([going("o", FOREGROUND)], "o", [], [RemoveFinalizer(identity("o"), FOREGROUND)]),
        ([going("o", ORPHAN), owned("d", "o")], "o", [], [RemoveOwners(identity("d"), frozenset({"o"}))]),
        ([going("o", ORPHAN)], "o", [], [RemoveFinalizer(identity("o"), ORPHAN)]),
        ([going("o", "other.io/own"), owned("d", "o")], "o", [], []),
    ],
    ids=[
        "owner exists",
        "owner is gone",
        "owner not looked up",
        "one of two owners is gone",
        "both owners are gone",
        "foreground: dependent is deleted first",
        "foreground: dependents of the dependent are deleted before it",
        "foreground: another owner keeps it",
        "foreground: waits for blocking dependents",
        "foreground: does not wait for other dependents",
        "foreground: done",
        "orphan: owner references are removed",
        "orphan: done",
        "finalizer of another controller",
    ],
)
def test_garbage_collection_steps_depend_on_owners_and_deletion_policy(
    members: list[GraphNode], about: str, absent: list[str], steps: list[Step]
) -> None:
    graph = Graph()
    for node in members:
        graph.put(node)
    known = graph.find(about)
    assert known is not None
    assert decide_steps(known, graph, absent) == steps


def test_dependency_graph_reflects_added_and_removed_objects() -> None:
    graph = Graph()
    graph.put(owned("d", "o"))
    assert [node.identity.uid for node in graph.dependents("o")] == ["d"]
    graph.put(owned("d", "p"))
    assert graph.dependents("o") == []
    graph.remove("d")
    graph.remove("d")
    assert (graph.dependents("p"), graph.find("d")) == ([], None)


def test_dependency_graph_node_is_built_from_metadata() -> None:
    metadata = ObjectMeta(name="a", namespace="ns", uid="u", finalizers=[ORPHAN], deletion_timestamp="now")
    node = make_graph_node("v1", "Pod", metadata)
    assert node == GraphNode(Identity("v1", "Pod", "ns", "a", "u"), (), (ORPHAN,), deleting=True)
    assert node.orphans_dependents


def foreground(uid: str, *owners: str, blocking: bool = True) -> GraphNode:
    return replace(owned(uid, *owners, blocking=blocking), finalizers=(FOREGROUND,), deleting=True)


def decide(about: str, *members: GraphNode, absent: tuple[str, ...] = ()) -> list[Step]:
    graph = Graph()
    for node in members:
        graph.put(node)
    known = graph.find(about)
    assert known is not None
    return decide_steps(known, graph, absent)


RELEASED = {
    "object that owns itself": [foreground("a", "a")],
    "two objects that own each other": [foreground("a", "b"), foreground("b", "a")],
    "three objects in a cycle": [foreground("a", "c"), foreground("b", "a"), foreground("c", "b")],
}


@pytest.mark.parametrize("members", RELEASED.values(), ids=RELEASED.keys())
def test_cycle_of_foreground_deletions_is_broken(members: list[GraphNode]) -> None:
    assert decide("a", *members) == [RemoveFinalizer(identity("a"), FOREGROUND)]


def test_owner_in_a_cycle_waits_for_its_other_dependents() -> None:
    assert decide("a", foreground("a", "b"), foreground("b", "a"), owned("d", "a")) == []


def test_owner_in_another_namespace_is_ignored() -> None:
    elsewhere = GraphNode(Identity("v1", "ConfigMap", "other", "name-x", "x"), owned("x", "o").owners)
    assert decide("o", foreground("o"), elsewhere) == [RemoveFinalizer(identity("o"), FOREGROUND)]
    assert decide("x", foreground("o"), elsewhere) == []
    assert decide("o", going("o", ORPHAN), elsewhere) == [RemoveFinalizer(identity("o"), ORPHAN)]


def test_cluster_wide_owner_waits_for_dependents_in_any_namespace() -> None:
    owner = GraphNode(Identity("v1", "ConfigMap", "", "name-o", "o"), (), (FOREGROUND,), deleting=True)
    assert decide("o", owner, owned("d", "o")) == []


@pytest.mark.parametrize("changed", [{"name": "other"}, {"kind": "Secret"}, {"api_version": "apps/v1"}])
def test_owner_reference_must_match_name_kind_and_version_in_addition_to_uid(changed: dict[str, str]) -> None:
    dependent = GraphNode(identity("d"), tuple(replace(ref, **changed) for ref in owned("d", "o").owners))
    assert decide("o", foreground("o"), dependent) == [RemoveFinalizer(identity("o"), FOREGROUND)]


def controlled(uid: str, owner: str) -> GraphNode:
    node = owned(uid, owner)
    return replace(node, owners=(replace(node.owners[0], controller=True),))


@pytest.mark.parametrize(
    ("node", "expected"),
    [(owned("d"), False), (owned("d", "o", "p"), False), (controlled("d", "o"), True)],
    ids=["no owners", "several owners", "controller"],
)
def test_object_has_a_controller_only_if_an_owner_reference_is_a_controller(node: GraphNode, expected: bool) -> None:
    assert node.has_controller is expected


@pytest.mark.parametrize(
    ("before", "now", "affected"),
    [
        (None, owned("d", "o"), []),
        (owned("d", "o"), owned("d", "o", "p"), []),
        (owned("d", "o", "p"), owned("d", "p"), ["o"]),
        (owned("d", "o", "p"), owned("d"), ["o", "p"]),
        (owned("d", "o", "p"), owned("d", "o", "p", blocking=False), ["o", "p"]),
        (owned("d", "o", "p"), replace(owned("d", "o", "p"), deleting=True), ["o", "p"]),
        (owned("d", "o"), replace(owned("d", "o"), finalizers=(FOREGROUND,)), ["o"]),
    ],
    ids=["new", "owner added", "owner removed", "all removed", "no longer blocking", "being deleted", "finalizer"],
)
def test_change_of_an_object_affects_only_owners_that_depend_on_it(
    before: GraphNode | None, now: GraphNode, affected: list[str]
) -> None:
    assert [owner.uid for owner in list_affected_owners(before, now)] == affected
