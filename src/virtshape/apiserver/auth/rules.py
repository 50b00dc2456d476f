"""
What a rule of a role permits, and whether some rules permit all that others do.

Pure: rules in, answers out. Whose rules they are is not known here.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import product

from virtshape.api.rbac import PolicyRule

ALL = "*"
EVERYTHING = (
    PolicyRule(verbs=[ALL], api_groups=[ALL], resources=[ALL]),
    PolicyRule(verbs=[ALL], non_resource_urls=[ALL]),
)
"""The rules that permit everything."""


def permits_resource(rule: PolicyRule, verb: str, group: str, resource: str, subresource: str = "") -> bool:
    """Whether the rule permits the verb on the resource, or on some of its objects if it has resource names."""
    return (
        _has(rule.verbs, verb)
        and _has(rule.api_groups or (), group)
        and _has_resource(rule.resources or (), resource, subresource)
    )


def permits_path(rule: PolicyRule, verb: str, path: str) -> bool:
    """Whether the rule permits the verb on a path that is no resource."""
    return _has(rule.verbs, verb) and any(_covers_path(pattern, path) for pattern in rule.non_resource_urls or ())


def find_missing(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Find the parts of the wanted rules that none of the owned ones permits."""
    parts = [part for rule in wanted for part in _take_apart(rule)]
    return _compact(part for part in parts if not any(_covers(rule, part) for rule in owned))


def describe_rule(rule: PolicyRule) -> str:
    """The rule on one line, as Kubernetes words it in refusals."""
    parts = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.non_resource_urls,
        "ResourceNames": rule.resource_names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:{quote_list(values)}" for name, values in parts.items() if values) + "}"


def quote(text: str) -> str:
    """The text in double quotes, with what would break them escaped."""
    return json.dumps(text, ensure_ascii=False)


def quote_list(texts: Iterable[str]) -> str:
    """Texts in double quotes within brackets, with spaces between."""
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
    """Whether a rule permits all of a part, which has one entry in each list at most."""
    if not _has(owned.verbs, part.verbs[0]):
        return False
    if part.non_resource_urls:
        return any(_covers_path(pattern, part.non_resource_urls[0]) for pattern in owned.non_resource_urls or ())
    if not part.api_groups or not part.resources:
        return True  # it permits nothing
    resource, _, subresource = part.resources[0].partition("/")
    return (
        _has(owned.api_groups or (), part.api_groups[0])
        and _has_resource(owned.resources or (), resource, subresource)
        and (not owned.resource_names or set(part.resource_names or [""]) <= set(owned.resource_names))
    )


def _take_apart(rule: PolicyRule) -> list[PolicyRule]:
    """Rules with one entry in each list that together permit what the rule does."""
    parts = [
        PolicyRule(verbs=[verb], api_groups=[group], resources=[resource], resource_names=names)
        for group, resource, verb in product(rule.api_groups or (), rule.resources or (), rule.verbs)
        for names in ([[name] for name in rule.resource_names] if rule.resource_names else [None])
    ]
    urls = product(rule.non_resource_urls or (), rule.verbs)
    return parts + [PolicyRule(verbs=[verb], non_resource_urls=[url]) for url, verb in urls]


def _compact(parts: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Join parts that differ only in their verb."""
    joined: dict[str, PolicyRule] = {}
    for part in parts:
        subject = PolicyRule([], part.api_groups, part.non_resource_urls, part.resource_names, part.resources)
        rule = joined.setdefault(describe_rule(subject), subject)
        if part.verbs[0] not in rule.verbs:
            rule.verbs.append(part.verbs[0])
    return list(joined.values())
