"""
Privilege escalation checks: a user cannot grant permissions that the user does not have.

The check is skipped if the user may `escalate` the role, or `bind` the role of a binding. As in kube-apiserver,
any change except to finalizers and owner references is checked: a label alone can aggregate a role into another one.
"""

from collections.abc import Sequence

from virtshape.api.rbac import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import MASTERS, User
from virtshape.apiserver.auth.authorization import (
    RBAC_GROUP,
    AccessObject,
    Attributes,
    Authorizer,
    Binding,
    forbidden_object_error,
)
from virtshape.apiserver.auth.rules import EVERYTHING, describe_rule, find_missing, quote, quote_list


def prevent_role_escalation(
    user: User, authorizer: Authorizer, role: Role | ClusterRole, before: Role | ClusterRole | None = None
) -> None:
    """Raise StatusError if a role grants permissions that the user lacks, unless the user may escalate the role."""
    if MASTERS in user.groups or _changes_nothing(role, before):
        return
    resource = "clusterroles" if isinstance(role, ClusterRole) else "roles"
    name, namespace = role.metadata.name or "", role.metadata.namespace or ""
    if authorizer.authorize(user, Attributes("escalate", RBAC_GROUP, resource, "", namespace, name)).allowed:
        return
    if problem := _find_escalation(user, authorizer, namespace, role.rules or ()):
        raise forbidden_object_error(RBAC_GROUP, resource, name, problem)
    if (_aggregates(role) or _aggregates(before)) and _find_escalation(user, authorizer, namespace, EVERYTHING):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden_object_error(RBAC_GROUP, resource, name, why)


def prevent_binding_escalation(
    user: User, authorizer: Authorizer, binding: Binding, before: Binding | None = None
) -> None:
    """Raise StatusError if a binding grants permissions that the user lacks, unless the user may bind its role."""
    if MASTERS in user.groups or _changes_nothing(binding, before):
        return
    name, namespace = binding.metadata.name or "", binding.metadata.namespace or ""
    reference = binding.role_ref
    if authorizer.authorize(user, _bind(reference, namespace)).allowed:
        return
    rules = authorizer.find_rules(reference, namespace)
    if rules is None:
        kind = f"{reference.kind.lower()}s"
        message = f"{kind}.{RBAC_GROUP} {quote(reference.name)} not found"
        raise StatusError(404, "NotFound", message).about(RBAC_GROUP, kind, reference.name)
    if problem := _find_escalation(user, authorizer, namespace, rules):
        resource = "rolebindings" if isinstance(binding, RoleBinding) else "clusterrolebindings"
        raise forbidden_object_error(RBAC_GROUP, resource, name, problem)


def _find_escalation(user: User, authorizer: Authorizer, namespace: str, rules: Sequence[PolicyRule]) -> str | None:
    missing = find_missing(authorizer.rules_for(user, namespace), rules)
    if not missing:
        return None
    return (
        f"user {quote(user.name)} (groups={quote_list(user.groups)}) is attempting to grant RBAC permissions "
        "not currently held:\n" + "\n".join(sorted({describe_rule(rule) for rule in missing}))
    )


def _bind(reference: RoleRef, namespace: str) -> Attributes:
    resource = "clusterroles" if reference.kind == "ClusterRole" else "roles"
    return Attributes("bind", RBAC_GROUP, resource, "", namespace, reference.name)


def _aggregates(role: Role | ClusterRole | None) -> bool:
    return isinstance(role, ClusterRole) and role.aggregation_rule is not None


def _changes_nothing(item: AccessObject, before: AccessObject | None) -> bool:
    """Return True if an update changes no labels, annotations or permissions; garbage collection makes such updates."""
    return before is not None and _list_content(item) == _list_content(before)


def _list_content(item: AccessObject) -> tuple[object, ...]:
    metadata = item.metadata
    described = metadata.labels or {}, metadata.annotations or {}
    match item:
        case ClusterRole():
            return (*described, item.rules or [], item.aggregation_rule)
        case Role():
            return (*described, item.rules or [])
        case RoleBinding() | ClusterRoleBinding():
            return (*described, item.role_ref, item.subjects or [])
