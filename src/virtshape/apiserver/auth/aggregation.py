"""
Cluster roles that gather the rules of others: which ones, and what comes of it.

Pure: roles in, rules out.
"""

from collections.abc import Iterator, Mapping

from virtshape.api.codec import to_tree
from virtshape.api.meta import LabelSelector
from virtshape.api.rbac import ClusterRole, PolicyRule
from virtshape.api.status import StatusError
from virtshape.apiserver.selectors.selector import Predicate, compile_requirements, read_selector


def aggregate_rules(role: ClusterRole, roles: Mapping[str, ClusterRole]) -> list[PolicyRule]:
    """The rules that the role gathers: those of all roles that it selects, and of those that these select in turn."""
    rules: list[PolicyRule] = []
    for gathered in _gather(role, roles):
        rules += [rule for rule in gathered.rules or () if rule not in rules]
    return rules


def _gather(role: ClusterRole, roles: Mapping[str, ClusterRole]) -> Iterator[ClusterRole]:
    """The roles that rules are taken from; each once, even where roles select one another."""
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
    labels = (role.metadata.labels if role.metadata else None) or {}
    return any(selects(labels) for selects in selectors)


def _compile(selector: LabelSelector) -> Predicate:
    try:
        return compile_requirements(read_selector(to_tree(selector)))
    except StatusError:  # such a role is refused when it is written; one that got in all the same selects nothing
        return lambda _: False
