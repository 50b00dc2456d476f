"""
Check the node affinity and tolerations of an instance against a node.

The functions are pure. Preferred terms are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence

from virtshape.api.core.node import Node, Taint
from virtshape.api.core.scheduling import Affinity, NodeSelectorRequirement, NodeSelectorTerm, Toleration


def find_mismatches(node: Node, affinity: Affinity | None, tolerations: Sequence[Toleration]) -> Iterator[str]:
    """Yield why the instance cannot run on the node; in messages, each reason follows the node's name."""
    wanted = affinity.node_affinity if affinity is not None else None
    required = wanted.required_during_scheduling_ignored_during_execution if wanted is not None else None
    if required is not None and not any(_matches(node, term) for term in required.node_selector_terms):
        yield "does not match the node affinity"
    for taint in (node.spec.taints if node.spec is not None else None) or ():
        if taint.effect != "PreferNoSchedule" and not any(_tolerates(one, taint) for one in tolerations):
            yield f"has the untolerated taint {taint.key}{f'={taint.value}' if taint.value else ''}"


def _matches(node: Node, term: NodeSelectorTerm) -> bool:
    metadata = node.metadata
    labels, fields = metadata.labels or {}, {"metadata.name": metadata.name or ""}
    tests = [*(term.match_expressions or ()), *(term.match_fields or ())]
    return (
        bool(tests)
        and all(_passes(labels, one) for one in term.match_expressions or ())
        and all(_passes(fields, one) for one in term.match_fields or ())
    )


def _passes(labels: Mapping[str, str], test: NodeSelectorRequirement) -> bool:
    has, values = labels.get(test.key), test.values or []
    match test.operator:
        case "In":
            return has in values
        case "NotIn":
            return has not in values
        case "Exists":
            return has is not None
        case "DoesNotExist":
            return has is None
        case "Gt" | "Lt":
            return _compares(has, values, greater=test.operator == "Gt")


def _compares(has: str | None, values: Sequence[str], *, greater: bool) -> bool:
    try:
        mine, other = int(has or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return mine > other if greater else mine < other


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return toleration.key == taint.key and (toleration.value or "") == (taint.value or "")
