"""Deletion removes an object, or sets its deletion timestamp until its finalizers are removed."""

from copy import deepcopy
from typing import Any

import pytest

from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.deleteoptions import DeleteOptions, Preconditions, read_delete_options
from virtshape.apiserver.finalizers import Deletion, decide_deletion, is_finished


def kind(name: str, api_version: str = "v1") -> Kind:
    found = find_kind(api_version, name)
    assert found is not None
    return found


VM = kind("VirtualMachine", "kubevirt.io/v1")
INSTANCETYPE = kind("VirtualMachineInstancetype", "instancetype.kubevirt.io/v1beta1")
NAMESPACE = kind("Namespace")
NOW = "2026-01-01T00:00:00Z"
EARLIER = "2025-01-01T00:00:00Z"


def build(*finalizers: str, **metadata: Any) -> JsonObject:
    held = {"finalizers": list(finalizers)} if finalizers else {}
    return {
        "metadata": {"name": "a", "uid": "1", "resourceVersion": "7", "generation": 1, **held, **metadata},
        "spec": {},
    }


def marked(*finalizers: str, generation: int = 2, when: str = NOW) -> JsonObject:
    return build(*finalizers, deletionTimestamp=when, deletionGracePeriodSeconds=0, generation=generation)


def policy(name: str) -> DeleteOptions:
    return DeleteOptions(propagation_policy=name)


NONE = DeleteOptions()
MARKED_BEFORE = marked("foregroundDeletion", when=EARLIER)

DECIDED: dict[str, tuple[JsonObject, DeleteOptions, JsonObject | None]] = {
    "no finalizer": (build(), NONE, None),
    "background": (build(), policy("Background"), None),
    "grace period": (build(), DeleteOptions(grace_period_seconds=30), None),
    "negative grace period": (build(), DeleteOptions(grace_period_seconds=-5), None),
    "finalizer": (build("a/b"), NONE, marked("a/b")),
    "foreground": (build(), policy("Foreground"), marked("foregroundDeletion")),
    "foreground with a finalizer": (build("a/b"), policy("Foreground"), marked("a/b", "foregroundDeletion")),
    "orphan": (build(), policy("Orphan"), marked("orphan")),
    "deprecated orphanDependents": (build(), DeleteOptions(orphan_dependents=True), marked("orphan")),
    "deprecated orphanDependents false": (build("orphan"), DeleteOptions(orphan_dependents=False), None),
    "no generation": (
        {"metadata": {"name": "a", "finalizers": ["a/b"]}},
        NONE,
        {
            "metadata": {
                "name": "a",
                "finalizers": ["a/b"],
                "deletionTimestamp": NOW,
                "deletionGracePeriodSeconds": 0,
            }
        },
    ),
    "second deletion": (MARKED_BEFORE, NONE, MARKED_BEFORE),
    "second deletion with orphan": (MARKED_BEFORE, policy("Orphan"), marked("orphan", when=EARLIER)),
    "second deletion with background": (MARKED_BEFORE, policy("Background"), None),
    "matching preconditions": (build(), DeleteOptions(preconditions=Preconditions("1", "7")), None),
}


@pytest.mark.parametrize(("tree", "options", "expected"), DECIDED.values(), ids=DECIDED)
def test_deletion_depends_on_propagation_policy_and_finalizers(
    tree: JsonObject, options: DeleteOptions, expected: JsonObject | None
) -> None:
    before = deepcopy(tree)
    assert decide_deletion(tree, options, VM, NOW) == Deletion(expected is None, tree if expected is None else expected)
    assert tree == before


def test_second_deletion_leaves_a_terminating_object_unchanged() -> None:
    assert decide_deletion(MARKED_BEFORE, NONE, VM, NOW).tree is MARKED_BEFORE


CONFLICTS: dict[str, tuple[Preconditions, str]] = {
    "other uid": (
        Preconditions(uid="2"),
        (
            'Operation cannot be fulfilled on VirtualMachineInstancetype.instancetype.kubevirt.io "a": '
            "the UID in the precondition (2) does not match the UID in record (1). "
            "The object might have been deleted and then recreated"
        ),
    ),
    "other version": (
        Preconditions(uid="1", resource_version="6"),
        (
            'Operation cannot be fulfilled on VirtualMachineInstancetype.instancetype.kubevirt.io "a": '
            "the ResourceVersion in the precondition (6) does not match the ResourceVersion in record (7). "
            "The object might have been modified"
        ),
    ),
}


@pytest.mark.parametrize(("preconditions", "message"), CONFLICTS.values(), ids=CONFLICTS)
def test_unmet_delete_precondition_is_a_conflict(preconditions: Preconditions, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        decide_deletion(build(), DeleteOptions(preconditions=preconditions), INSTANCETYPE, NOW)
    error = caught.value
    assert (error.code, error.reason, error.message) == (409, "Conflict", message)
    assert (error.details.kind, error.details.name) == ("VirtualMachineInstancetype", "a")


def namespace(*finalizers: str, phase: str = "Active", **metadata: Any) -> JsonObject:
    spec = {"finalizers": list(finalizers)} if finalizers else {}
    return {"metadata": {"name": "n", **metadata}, "spec": spec, "status": {"phase": phase}}


def test_deleted_namespace_is_terminating() -> None:
    decided = decide_deletion(namespace("kubernetes"), NONE, NAMESPACE, NOW)
    assert decided == Deletion(False, namespace("kubernetes", phase="Terminating", deletionTimestamp=NOW))


def test_second_deletion_leaves_a_terminating_namespace_unchanged() -> None:
    terminating = namespace("kubernetes", phase="Terminating", deletionTimestamp=EARLIER, finalizers=[])
    assert decide_deletion(terminating, NONE, NAMESPACE, NOW).tree is terminating


def test_namespace_without_finalizers_is_removed() -> None:
    assert decide_deletion(namespace(), NONE, NAMESPACE, NOW).gone


FINISHED: dict[str, tuple[Kind, JsonObject, bool]] = {
    "alive": (VM, build(), False),
    "not deleted, with a finalizer": (VM, build("a/b"), False),
    "deleted, with a finalizer": (VM, marked("a/b"), False),
    "finalizers removed": (VM, marked(), True),
    "empty list of finalizers": (VM, build(deletionTimestamp=NOW, finalizers=[]), True),
    "namespace with content": (NAMESPACE, namespace("kubernetes", deletionTimestamp=NOW), False),
    "empty namespace": (NAMESPACE, namespace(deletionTimestamp=NOW), True),
    "empty namespace with a finalizer": (NAMESPACE, namespace(deletionTimestamp=NOW, finalizers=["a/b"]), False),
}


@pytest.mark.parametrize(("kind", "tree", "expected"), FINISHED.values(), ids=FINISHED)
def test_deletion_is_finished_only_when_a_deleted_object_has_no_finalizers(
    kind: Kind, tree: JsonObject, expected: bool
) -> None:
    assert is_finished(tree, kind) is expected


Query = dict[str, list[str]]

READ: dict[str, tuple[bytes, Query, DeleteOptions]] = {
    "nothing": (b"", {}, DeleteOptions()),
    "query": (
        b"",
        {"propagationPolicy": ["Foreground"], "gracePeriodSeconds": ["5"], "dryRun": ["All"], "pretty": ["true"]},
        DeleteOptions(propagation_policy="Foreground", grace_period_seconds=5, dry_run=["All"]),
    ),
    "deprecated query parameter": (b"", {"orphanDependents": ["true"]}, DeleteOptions(orphan_dependents=True)),
    "deprecated query parameter false": (b"", {"orphanDependents": ["0"]}, DeleteOptions(orphan_dependents=False)),
    "deprecated query parameter with another value": (
        b"",
        {"orphanDependents": ["x"]},
        DeleteOptions(orphan_dependents=True),
    ),
    "null": (b"null", {}, DeleteOptions()),
    "body": (
        b'{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"1","resourceVersion":"7"},"dryRun":["All"]}',
        {},
        DeleteOptions(preconditions=Preconditions("1", "7"), dry_run=["All"]),
    ),
    "body takes precedence over the query": (b"{}", {"propagationPolicy": ["Orphan"]}, DeleteOptions()),
    "unknown option": (b'{"bogusOption":true}', {}, DeleteOptions()),
    "nulls": (b'{"propagationPolicy":null,"preconditions":null}', {}, DeleteOptions()),
}


@pytest.mark.parametrize(("body", "query", "expected"), READ.values(), ids=READ)
def test_delete_options_are_parsed(body: bytes, query: Query, expected: DeleteOptions) -> None:
    assert read_delete_options(body, query) == expected


REFUSED: dict[str, tuple[bytes, Query, int, str]] = {
    "not JSON": (b"{", {}, 400, "error decoding delete options: "),
    "not an object": (b"[]", {}, 400, "error decoding delete options: "),
    "wrong type": (b'{"gracePeriodSeconds":"x"}', {}, 400, "error decoding delete options: "),
    "wrong kind": (b'{"kind":"Pod"}', {}, 400, "expected DeleteOptions, got Pod"),
    "not a number": (b"", {"gracePeriodSeconds": ["x"]}, 400, "error decoding delete options: "),
    "unknown policy": (
        b"",
        {"propagationPolicy": ["Later"]},
        422,
        (
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Later": '
            'supported values: "Foreground", "Background", "Orphan", "nil"'
        ),
    ),
    "two policies": (
        b"",
        {"propagationPolicy": ["Orphan"], "orphanDependents": ["false"]},
        422,
        (
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": '
            "orphanDependents and deletionPropagation cannot be both set"
        ),
    ),
    "invalid dry run": (
        b"",
        {"dryRun": ["yes"]},
        422,
        'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["yes"]: supported values: "All"',
    ),
}


@pytest.mark.parametrize(("body", "query", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_delete_options_are_rejected(body: bytes, query: Query, code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        read_delete_options(body, query)
    assert caught.value.code == code
    assert caught.value.message.startswith(message)


def test_delete_options_are_json_or_yaml() -> None:
    read = read_delete_options(b"propagationPolicy: Orphan\n", {}, "application/yaml")
    assert read == DeleteOptions(propagation_policy="Orphan")
    with pytest.raises(StatusError) as caught:
        read_delete_options(b"{}", {}, "text/plain")
    assert (caught.value.code, caught.value.reason) == (415, "UnsupportedMediaType")
