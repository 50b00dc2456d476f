"""Aggregated cluster roles: collect the rules of the roles that their selectors match."""

from collections.abc import Iterator, Mapping

from virtshape.api.codec import to_tree
from virtshape.api.meta import LabelSelector
from virtshape.api.rbac import ClusterRole, PolicyRule
from virtshape.api.status import StatusError
from virtshape.apiserver.selectors.labelselector import Predicate, compile_requirements, read_selector


def aggregate_rules(role: ClusterRole, roles: Mapping[str, ClusterRole]) -> list[PolicyRule]:
    """Return the distinct rules of all roles that the role selects, directly or through other aggregated roles."""
    rules: list[PolicyRule] = []
    for source in _collect_roles(role, roles):
        rules += [rule for rule in source.rules or () if rule not in rules]
    return rules


def _collect_roles(role: ClusterRole, roles: Mapping[str, ClusterRole]) -> Iterator[ClusterRole]:
    """Yield the roles that provide rules, each role only once, even if roles select each other."""
    seen: set[str] = set()
    waiting = [role]
    while waiting:
        current = waiting.pop()
        if current.aggregation_rule is None:
            yield current
            continue
        selectors = [_compile(selector) for selector in current.aggregation_rule.cluster_role_selectors or ()]
        found = [name for name in sorted(roles) if name not in seen and _is_selected(roles[name], selectors)]
        seen.update(found)
        waiting += [roles[name] for name in reversed(found)]


def _is_selected(role: ClusterRole, selectors: list[Predicate]) -> bool:
    labels = role.metadata.labels or {}
    return any(selects(labels) for selects in selectors)


def _compile(selector: LabelSelector) -> Predicate:
    try:
        return compile_requirements(read_selector(to_tree(selector)))
    except StatusError:  # an invalid selector is rejected in new roles, but older roles may have been stored with one
        return lambda _: False
