"""Validation of node affinity, pod affinity and their selectors."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import Told, expect, guest

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
POD = f"spec.affinity.podAffinity.{REQUIRED}[0]"


def node(*terms: JsonObject) -> JsonObject:
    return guest(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}})


def expression(**test: Any) -> JsonObject:
    return node({"matchExpressions": [{"key": "a", **test}]})


def pod(**term: Any) -> JsonObject:
    return guest(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "z", **term}]}})


def weighed(weight: int) -> JsonObject:
    nodes = {PREFERRED: [{"weight": weight, "preference": {}}]}
    pods = {PREFERRED: [{"weight": weight, "podAffinityTerm": {"topologyKey": "z"}}]}
    return guest(affinity={"nodeAffinity": nodes, "podAntiAffinity": pods})


BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "no nodes at all": (
        node(),
        [(TERM.removesuffix("[0]"), "must have at least one node selector term")],
    ),
    "one of no values": (
        expression(operator="In"),
        [(f"{TERM}.matchExpressions[0].values", "must be specified when `operator` is 'In' or 'NotIn'")],
    ),
    "there with values": (
        expression(operator="Exists", values=["b"]),
        [(f"{TERM}.matchExpressions[0].values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")],
    ),
    "more than two values": (
        expression(operator="Gt", values=["1", "2"]),
        [(f"{TERM}.matchExpressions[0].values", "must be specified single value when `operator` is 'Lt' or 'Gt'")],
    ),
    "a label that is none": (
        expression(key="a b", operator="Exists"),
        [(f"{TERM}.matchExpressions[0].key", "is not a valid label key")],
    ),
    "a field of nodes that is none": (
        node({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]}),
        [(f"{TERM}.matchFields[0].key", "not a valid field selector key")],
    ),
    "two nodes by name": (
        node({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}),
        [(f"{TERM}.matchFields[0].values", "must be only one value when `operator` is 'In' or 'NotIn' for node field")],
    ),
    "nodes that have a name": (
        node({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}),
        [(f"{TERM}.matchFields[0].operator", "not a valid selector operator")],
    ),
    "a weight of nought": (
        weighed(0),
        [
            (f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight", "must be in the range 1-100"),
            (f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight", "must be in the range 1-100"),
        ],
    ),
    "neighbours nowhere": (pod(topologyKey=""), [(f"{POD}.topologyKey", "can not be empty")]),
    "neighbours in a namespace that is none": (
        pod(namespaces=["A"]),
        [(f"{POD}.namespaces[0]", "is not a valid namespace name")],
    ),
    "neighbours with a label that is none": (
        pod(labelSelector={"matchLabels": {"/a": "b"}}),
        [(f"{POD}.labelSelector.matchLabels", "is not a valid label key")],
    ),
    "neighbours of no values": (
        pod(labelSelector={"matchExpressions": [{"key": "a", "operator": "NotIn"}]}),
        [(f"{POD}.labelSelector.matchExpressions[0].values", "must be specified when `operator` is 'NotIn'")],
    ),
    "neighbours by an unknown test": (
        pod(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
        [(f"{POD}.namespaceSelector.matchExpressions[0].operator", "not a valid selector operator")],
    ),
}

KEPT: dict[str, JsonObject] = {
    "nodes": expression(key="kubernetes.io/arch", operator="In", values=["amd64"]),
    "more than": expression(operator="Gt", values=["1"]),
    "a node": node({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}),
    "weights": weighed(100),
    "neighbours": pod(labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]}, namespaces=["default"]),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_optional, tree, told)


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    expect(check_optional, tree, [])
