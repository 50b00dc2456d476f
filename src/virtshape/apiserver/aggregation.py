"""
Cluster roles that gather the rules of others: which ones, and what comes of it.

Pure: roles in, rules out.
"""

from collections.abc import Iterator, Mapping

from virtshape.api.meta import LabelSelector, LabelSelectorRequirement
from virtshape.api.rbac import ClusterRole, PolicyRule


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
        selectors = current.aggregation_rule.cluster_role_selectors or []
        found = [name for name in sorted(roles) if name not in seen and _is_selected(roles[name], selectors)]
        seen.update(found)
        waiting += [roles[name] for name in reversed(found)]


def _is_selected(role: ClusterRole, selectors: list[LabelSelector]) -> bool:
    labels = (role.metadata.labels if role.metadata else None) or {}
    return any(_matches(selector, labels) for selector in selectors)


def _matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    wanted = selector.match_labels or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(requirement, labels) for requirement in selector.match_expressions or ()
    )


def _holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in (requirement.values or ())
        case "NotIn":
            return value not in (requirement.values or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:  # admission refuses other words; a role that has one all the same gathers nothing by it
            return False
