"""RBAC rules: what a rule permits, and which permissions in one list of rules are missing from another."""

import json
from collections.abc import Iterable, Sequence
from itertools import product

from virtshape.api.rbac import PolicyRule

ALL = "*"
EVERYTHING = (
    PolicyRule(verbs=[ALL], api_groups=[ALL], resources=[ALL]),
    PolicyRule(verbs=[ALL], non_resource_urls=[ALL]),
)
"""Rules that permit everything."""


def permits_resource(rule: PolicyRule, verb: str, group: str, resource: str, subresource: str = "") -> bool:
    """Return True if the rule permits the verb on the resource; resource names are not compared."""
    return (
        _has(rule.verbs, verb)
        and _has(rule.api_groups or (), group)
        and _has_resource(rule.resources or (), resource, subresource)
    )


def permits_path(rule: PolicyRule, verb: str, path: str) -> bool:
    """Return True if the rule permits the verb on a non-resource path."""
    return _has(rule.verbs, verb) and any(_covers_path(pattern, path) for pattern in rule.non_resource_urls or ())


def find_missing(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return rules with the permissions that the wanted rules grant and none of the owned rules grants."""
    parts = [part for rule in wanted for part in _split_rule(rule)]
    return _compact(part for part in parts if not any(_covers(rule, part) for rule in owned))


def describe_rule(rule: PolicyRule) -> str:
    """Format the rule on one line, as Kubernetes does in error messages."""
    parts = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.non_resource_urls,
        "ResourceNames": rule.resource_names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:{quote_list(values)}" for name, values in parts.items() if values) + "}"


def quote(text: str) -> str:
    """Return the string in double quotes, escaped."""
    return json.dumps(text, ensure_ascii=False)


def quote_list(texts: Iterable[str]) -> str:
    """Return the strings in double quotes, separated by spaces and enclosed in brackets."""
    return "[" + " ".join(map(quote, texts)) + "]"


def _has(stated: Sequence[str], wanted: str) -> bool:
    return wanted in stated or ALL in stated


def _has_resource(stated: Sequence[str], resource: str, subresource: str) -> bool:
    if not subresource:
        return _has(stated, resource)
    return _has(stated, f"{resource}/{subresource}") or f"{ALL}/{subresource}" in stated


def _covers_path(pattern: str, path: str) -> bool:
    return pattern in (ALL, path) or (pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL)))


def _covers(owned: PolicyRule, part: PolicyRule) -> bool:
    """Return True if the owned rule permits everything in `part`, a rule with at most one entry in each list."""
    if not _has(owned.verbs, part.verbs[0]):
        return False
    if part.non_resource_urls:
        return any(_covers_path(pattern, part.non_resource_urls[0]) for pattern in owned.non_resource_urls or ())
    if not part.api_groups or not part.resources:
        return True  # `part` permits nothing
    resource, _, subresource = part.resources[0].partition("/")
    return (
        _has(owned.api_groups or (), part.api_groups[0])
        and _has_resource(owned.resources or (), resource, subresource)
        and (not owned.resource_names or set(part.resource_names or [""]) <= set(owned.resource_names))
    )


def _split_rule(rule: PolicyRule) -> list[PolicyRule]:
    """Split a rule into rules with at most one entry in each list."""
    parts = [
        PolicyRule(verbs=[verb], api_groups=[group], resources=[resource], resource_names=names)
        for group, resource, verb in product(rule.api_groups or (), rule.resources or (), rule.verbs)
        for names in ([[name] for name in rule.resource_names] if rule.resource_names else [None])
    ]
    urls = product(rule.non_resource_urls or (), rule.verbs)
    return parts + [PolicyRule(verbs=[verb], non_resource_urls=[url]) for url, verb in urls]


def _compact(parts: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Merge rules that differ only in their verb."""
    joined: dict[str, PolicyRule] = {}
    for part in parts:
        subject = PolicyRule([], part.api_groups, part.non_resource_urls, part.resource_names, part.resources)
        rule = joined.setdefault(describe_rule(subject), subject)
        if part.verbs[0] not in rule.verbs:
            rule.verbs.append(part.verbs[0])
    return list(joined.values())
