"""Node affinity and taints."""

from typing import Any

import pytest
from tests.support.instances import build_node

from virtshape.api.codec import from_tree
from virtshape.api.core.scheduling import Affinity, Toleration
from virtshape.api.model import JsonObject
from virtshape.controllers.vmi.nodeaffinity import find_mismatches

LABELS = {"arch": "amd64", "age": "5"}
OUTSIDE = ["does not match the node affinity"]


def need(*terms: JsonObject) -> Affinity:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return from_tree({"nodeAffinity": required}, Affinity)


def label(key: str, operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values) or None}]}


AFFINITIES = {
    "none": (None, []),
    "preferred only": (
        from_tree({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}, Affinity),
        [],
    ),
    "in": (need(label("arch", "In", "amd64", "arm64")), []),
    "in others": (need(label("arch", "In", "arm64")), OUTSIDE),
    "not in": (need(label("arch", "NotIn", "amd64")), OUTSIDE),
    "not in, and absent": (need(label("zone", "NotIn", "a")), []),
    "exists": (need(label("arch", "Exists")), []),
    "Exists without the label": (need(label("zone", "Exists")), OUTSIDE),
    "DoesNotExist without the label": (need(label("zone", "DoesNotExist")), []),
    "DoesNotExist with the label": (need(label("arch", "DoesNotExist")), OUTSIDE),
    "greater": (need(label("age", "Gt", "4")), []),
    "not greater": (need(label("age", "Gt", "5")), OUTSIDE),
    "less": (need(label("age", "Lt", "6")), []),
    "not a number": (need(label("arch", "Lt", "6")), OUTSIDE),
    "one of two terms": (need(label("arch", "In", "arm64"), label("age", "Exists")), []),
    "empty term": (need({}), OUTSIDE),
    "by name": (need({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node1"]}]}), []),
    "by another name": (need({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}), OUTSIDE),
}


@pytest.mark.parametrize(("affinity", "objections"), AFFINITIES.values(), ids=AFFINITIES)
def test_node_affinity_selects_nodes(affinity: Affinity | None, objections: list[str]) -> None:
    assert list(find_mismatches(build_node(labels=LABELS), affinity, ())) == objections


TAINT = {"key": "only", "value": "db", "effect": "NoSchedule"}
REFUSED = ["has the untolerated taint only=db"]
TOLERATIONS: dict[str, tuple[JsonObject, JsonObject, list[str]]] = {
    "none": (TAINT, {"key": "other", "operator": "Exists"}, REFUSED),
    "the same": (TAINT, {"key": "only", "value": "db"}, []),
    "another value": (TAINT, {"key": "only", "value": "web"}, REFUSED),
    "any value": (TAINT, {"key": "only", "operator": "Exists"}, []),
    "anything": (TAINT, {"operator": "Exists"}, []),
    "another effect": (TAINT, {"key": "only", "value": "db", "effect": "NoExecute"}, REFUSED),
    "PreferNoSchedule": ({**TAINT, "effect": "PreferNoSchedule"}, {"key": "other", "operator": "Exists"}, []),
    "no value": (
        {"key": "only", "effect": "NoExecute"},
        {"key": "x"},
        ["has the untolerated taint only"],
    ),
}


@pytest.mark.parametrize(("taint", "toleration", "objections"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_only_untolerated_taints_exclude_a_node(taint: JsonObject, toleration: Any, objections: list[str]) -> None:
    node = build_node(spec={"taints": [taint]})
    assert list(find_mismatches(node, None, [from_tree(toleration, Toleration)])) == objections
