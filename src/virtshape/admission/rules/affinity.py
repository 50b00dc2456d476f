"""Validate node affinity, pod affinity and pod anti-affinity."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.names import MAX_LABEL_LENGTH, is_label, is_subdomain
from virtshape.api.core.scheduling import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
)
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.meta import LabelSelector

_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_MAX_WEIGHT: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_NODE_FIELD: Final = "metadata.name"
_SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def check_affinity(affinity: Affinity, at: str) -> Iterator[FieldError]:
    """Check all affinity terms; `at` is the field path of the affinity."""
    if affinity.node_affinity is not None:
        yield from _check_nodes(affinity.node_affinity, f"{at}.nodeAffinity")
    if affinity.pod_affinity is not None:
        yield from _check_pods(affinity.pod_affinity, f"{at}.podAffinity")
    if affinity.pod_anti_affinity is not None:
        yield from _check_pods(affinity.pod_anti_affinity, f"{at}.podAntiAffinity")


def _check_nodes(affinity: NodeAffinity, at: str) -> Iterator[FieldError]:
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        field = f"{at}.{_REQUIRED}.nodeSelectorTerms"
        if not required.node_selector_terms:
            message = f"{field}: must have at least one node selector term"
            yield FieldError(field, message, VALUE_REQUIRED, rule="invalid-value")
        for index, term in enumerate(required.node_selector_terms):
            yield from _check_node_term(term, f"{field}[{index}]")
    for index, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        field = f"{at}.{_PREFERRED}[{index}]"
        yield from _check_weight(weighted.weight, f"{field}.weight")
        yield from _check_node_term(weighted.preference, f"{field}.preference")


def _check_node_term(term: NodeSelectorTerm, at: str) -> Iterator[FieldError]:
    for index, test in enumerate(term.match_expressions or ()):
        yield from _check_values(test, f"{at}.matchExpressions[{index}]")
        yield from _check_key(test.key, f"{at}.matchExpressions[{index}].key")
    for index, test in enumerate(term.match_fields or ()):
        field = f"{at}.matchFields[{index}]"
        if test.operator not in ("In", "NotIn"):
            yield FieldError(
                f"{field}.operator", f"{field}.operator: not a valid selector operator", rule="unsupported-value"
            )
        elif len(test.values or ()) != 1:
            reason = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield FieldError(f"{field}.values", f"{field}.values: {reason}", VALUE_REQUIRED, rule="invalid-value")
        if test.key != _NODE_FIELD:
            reason = f"not a valid field selector key, only {_NODE_FIELD} is"
            yield FieldError(f"{field}.key", f"{field}.key: {reason}", rule="unsupported-value")


def _check_values(test: NodeSelectorRequirement, at: str) -> Iterator[FieldError]:
    count, field = len(test.values or ()), f"{at}.values"
    match test.operator:
        case "In" | "NotIn" if not count:
            message = f"{field}: must be specified when `operator` is 'In' or 'NotIn'"
            yield FieldError(field, message, VALUE_REQUIRED, rule="invalid-value")
        case "Exists" | "DoesNotExist" if count:
            message = f"{field}: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield FieldError(field, message, rule="impossible-combination")
        case "Gt" | "Lt" if count != 1:
            message = f"{field}: must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield FieldError(field, message, VALUE_REQUIRED, rule="invalid-value")


def _check_pods(affinity: PodAffinity | PodAntiAffinity, at: str) -> Iterator[FieldError]:
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution or ()):
        yield from _check_pod_term(term, f"{at}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        field = f"{at}.{_PREFERRED}[{index}]"
        yield from _check_weight(weighted.weight, f"{field}.weight")
        yield from _check_pod_term(weighted.pod_affinity_term, f"{field}.podAffinityTerm")


def _check_pod_term(term: PodAffinityTerm, at: str) -> Iterator[FieldError]:
    for name, selector in (("labelSelector", term.label_selector), ("namespaceSelector", term.namespace_selector)):
        if selector is not None:
            yield from _check_selector(selector, f"{at}.{name}")
    yield from _check_namespaces(term.namespaces or (), f"{at}.namespaces")
    if not term.topology_key:
        message = f"{at}.topologyKey: can not be empty"
        yield FieldError(f"{at}.topologyKey", message, VALUE_REQUIRED, rule="invalid-value")
    else:
        yield from _check_key(term.topology_key, f"{at}.topologyKey")


def _check_namespaces(names: Sequence[str], at: str) -> Iterator[FieldError]:
    for index, name in enumerate(names):
        if not is_label(name):
            yield FieldError(
                f"{at}[{index}]", f"{at}[{index}]: {name} is not a valid namespace name", rule="invalid-name"
            )


def _check_selector(selector: LabelSelector, at: str) -> Iterator[FieldError]:
    for key in selector.match_labels or ():
        yield from _check_key(key, f"{at}.matchLabels")
    for index, test in enumerate(selector.match_expressions or ()):
        field = f"{at}.matchExpressions[{index}]"
        yield from _check_key(test.key, f"{field}.key")
        if test.operator not in _SELECTOR_OPERATORS:
            message = f"{field}.operator: not a valid selector operator"
            yield FieldError(f"{field}.operator", message, rule="unsupported-value")
        elif bool(test.values) != (test.operator in ("In", "NotIn")):
            rule = "may not be specified" if test.values else "must be specified"
            message = f"{field}.values: {rule} when `operator` is '{test.operator}'"
            yield FieldError(f"{field}.values", message, rule="invalid-value")


def _check_weight(weight: int, field: str) -> Iterator[FieldError]:
    if not 0 < weight <= _MAX_WEIGHT:
        yield FieldError(field, f"{field}: must be in the range 1-{_MAX_WEIGHT}, not {weight}", rule="invalid-value")


def _check_key(key: str, field: str) -> Iterator[FieldError]:
    prefix, slash, name = key.rpartition("/")
    has_prefix = not slash or is_subdomain(prefix)
    if not has_prefix or len(name) > MAX_LABEL_LENGTH or not _NAME.fullmatch(name):
        yield FieldError(field, f"{field}: {key} is not a valid label key", rule="invalid-name")
