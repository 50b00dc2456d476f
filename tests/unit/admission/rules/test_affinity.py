"""Validation of node affinity, pod affinity and their selectors."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import Findings, assert_findings, guest

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


INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "no node selector term": (
        node(),
        [(TERM.removesuffix("[0]"), "must have at least one node selector term")],
    ),
    "In without values": (
        expression(operator="In"),
        [(f"{TERM}.matchExpressions[0].values", "must be specified when `operator` is 'In' or 'NotIn'")],
    ),
    "Exists with values": (
        expression(operator="Exists", values=["b"]),
        [(f"{TERM}.matchExpressions[0].values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")],
    ),
    "Gt with two values": (
        expression(operator="Gt", values=["1", "2"]),
        [(f"{TERM}.matchExpressions[0].values", "must be specified single value when `operator` is 'Lt' or 'Gt'")],
    ),
    "invalid label key": (
        expression(key="a b", operator="Exists"),
        [(f"{TERM}.matchExpressions[0].key", "is not a valid label key")],
    ),
    "unknown node field": (
        node({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]}),
        [(f"{TERM}.matchFields[0].key", "not a valid field selector key")],
    ),
    "two values for a node field": (
        node({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}),
        [(f"{TERM}.matchFields[0].values", "must be only one value when `operator` is 'In' or 'NotIn' for node field")],
    ),
    "unsupported operator for a node field": (
        node({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}),
        [(f"{TERM}.matchFields[0].operator", "not a valid selector operator")],
    ),
    "weight 0": (
        weighed(0),
        [
            (f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight", "must be in the range 1-100"),
            (f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight", "must be in the range 1-100"),
        ],
    ),
    "empty topology key": (pod(topologyKey=""), [(f"{POD}.topologyKey", "can not be empty")]),
    "invalid namespace name": (
        pod(namespaces=["A"]),
        [(f"{POD}.namespaces[0]", "is not a valid namespace name")],
    ),
    "invalid label key in a pod selector": (
        pod(labelSelector={"matchLabels": {"/a": "b"}}),
        [(f"{POD}.labelSelector.matchLabels", "is not a valid label key")],
    ),
    "NotIn without values in a pod selector": (
        pod(labelSelector={"matchExpressions": [{"key": "a", "operator": "NotIn"}]}),
        [(f"{POD}.labelSelector.matchExpressions[0].values", "must be specified when `operator` is 'NotIn'")],
    ),
    "unknown operator in a namespace selector": (
        pod(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
        [(f"{POD}.namespaceSelector.matchExpressions[0].operator", "not a valid selector operator")],
    ),
}

VALID: dict[str, JsonObject] = {
    "node affinity": expression(key="kubernetes.io/arch", operator="In", values=["amd64"]),
    "Gt": expression(operator="Gt", values=["1"]),
    "node by name": node({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}),
    "weights": weighed(100),
    "pod affinity": pod(
        labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]}, namespaces=["default"]
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_affinity_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_valid_affinity_is_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional, tree, [])
