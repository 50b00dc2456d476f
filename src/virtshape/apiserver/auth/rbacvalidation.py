"""
Defaults and validation of roles and bindings, with the messages of Kubernetes.

All functions are pure. Privilege escalation is checked separately.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from virtshape.api.codec import to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import invalid_value, required_value, unsupported_value
from virtshape.apiserver.auth.authorization import RBAC_GROUP, AccessObject, Binding
from virtshape.apiserver.selectors.labelselector import read_selector

_SUBJECT_GROUPS = {"User": RBAC_GROUP, "Group": RBAC_GROUP, "ServiceAccount": ""}


def default_rbac_object(item: AccessObject) -> AccessObject:
    """Return the object with default API groups in its role reference and subjects."""
    if isinstance(item, Role | ClusterRole):
        return item
    subjects = [_complete_subject(subject) for subject in item.subjects or ()]
    role_ref = replace(item.role_ref, api_group=item.role_ref.api_group or RBAC_GROUP)
    return replace(item, role_ref=role_ref, subjects=subjects or None)


def check_rbac_object(item: AccessObject, before: AccessObject | None = None) -> list[FieldError]:
    """Return all problems with a role or binding, including changes to immutable fields."""
    match item:
        case Role():
            return list(_check_rules(item.rules or (), namespaced=True))
        case ClusterRole():
            return [*_check_rules(item.rules or (), namespaced=False), *_check_selectors(item)]
        case RoleBinding() | ClusterRoleBinding():
            return [*_check_reference(item), *_check_subjects(item), *_check_change(item, before)]


def _complete_subject(subject: Subject) -> Subject:
    return replace(subject, api_group=subject.api_group or _SUBJECT_GROUPS.get(subject.kind) or None)


def _check_rules(rules: Sequence[PolicyRule], *, namespaced: bool) -> Iterator[FieldError]:
    for index, rule in enumerate(rules):
        yield from _check_rule(rule, f"rules[{index}]", namespaced=namespaced)


def _check_rule(rule: PolicyRule, field: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.verbs:
        yield required_value(f"{field}.verbs", "verbs must contain at least one value")
    if rule.non_resource_urls:
        problem = ""
        if namespaced:
            problem = "namespaced rules cannot apply to non-resource URLs"
        elif rule.api_groups or rule.resources or rule.resource_names:
            problem = "rules cannot apply to both regular resources and non-resource URLs"
        if problem:
            yield invalid_value(f"{field}.nonResourceURLs", rule.non_resource_urls, problem)
        return
    if not rule.api_groups:
        yield required_value(f"{field}.apiGroups", "resource rules must supply at least one api group")
    if not rule.resources:
        yield required_value(f"{field}.resources", "resource rules must supply at least one resource")


def _check_selectors(role: ClusterRole) -> Iterator[FieldError]:
    if role.aggregation_rule is None:
        return
    field = "aggregationRule.clusterRoleSelectors"
    selectors = role.aggregation_rule.cluster_role_selectors or []
    if not selectors:
        yield required_value(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors):
        try:
            read_selector(to_tree(selector))
        except StatusError as error:
            yield invalid_value(f"{field}[{index}]", to_tree(selector), error.message)


def _check_reference(binding: Binding) -> Iterator[FieldError]:
    reference = binding.role_ref
    kinds = ["ClusterRole", "Role"] if isinstance(binding, RoleBinding) else ["ClusterRole"]
    if reference.api_group != RBAC_GROUP:
        yield unsupported_value("roleRef.apiGroup", reference.api_group or "", [RBAC_GROUP])
    if reference.kind not in kinds:
        yield unsupported_value("roleRef.kind", reference.kind, kinds)
    if not reference.name:
        yield required_value("roleRef.name")


def _check_subjects(binding: Binding) -> Iterator[FieldError]:
    has_namespace = isinstance(binding, RoleBinding)  # service accounts default to the binding's namespace
    for index, subject in enumerate(binding.subjects or ()):
        field = f"subjects[{index}]"
        if not subject.name:
            yield required_value(f"{field}.name")
        group = _SUBJECT_GROUPS.get(subject.kind)
        if group is None:
            yield unsupported_value(f"{field}.kind", subject.kind, sorted(_SUBJECT_GROUPS))
        elif (subject.api_group or "") != group:
            yield unsupported_value(f"{field}.apiGroup", subject.api_group or "", [group])
        if subject.kind == "ServiceAccount" and not (subject.namespace or has_namespace):
            yield required_value(f"{field}.namespace")


def _check_change(binding: Binding, before: AccessObject | None) -> Iterator[FieldError]:
    old: RoleRef | None = before.role_ref if isinstance(before, RoleBinding | ClusterRoleBinding) else None
    if old is not None and old != binding.role_ref:
        yield invalid_value("roleRef", to_tree(binding.role_ref), "cannot change roleRef")
