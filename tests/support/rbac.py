"""
Builders of roles, bindings and users for tests.

A subject or role is `Kind/name`; a service account is `ServiceAccount/namespace:name`.
"""

from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.model import JsonObject
from virtshape.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import AccessObject, Attributes, Authorizer

RBAC = "rbac.authorization.k8s.io"
BOB = User("bob", ("dev", "system:authenticated"))
ADMIN = User("admin", ("system:masters", "system:authenticated"))
ROBOT = User("system:serviceaccount:prod:robot", ("system:serviceaccounts", "system:serviceaccounts:prod"))

_STRUCTS: dict[str, type[AccessObject]] = {
    "Role": Role,
    "ClusterRole": ClusterRole,
    "RoleBinding": RoleBinding,
    "ClusterRoleBinding": ClusterRoleBinding,
}


def build(kind: str, name: str, namespace: str | None = None, labels: JsonObject | None = None, **rest: Any) -> Any:
    tree = {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        **rest,
    }
    return from_tree(tree, _STRUCTS[kind])


def build_rule(verbs: str, resources: str = "", groups: str = "kubevirt.io", **rest: Any) -> JsonObject:
    rule: JsonObject = {"verbs": verbs.split(), **rest}
    if resources:
        rule |= {"resources": resources.split(), "apiGroups": groups.split() or [""]}
    return rule


def build_role(*rules: JsonObject, name: str = "r", namespace: str | None = None, **rest: Any) -> Any:
    return build("Role" if namespace else "ClusterRole", name, namespace, rules=list(rules), **rest)


def build_binding(subject: str, role: str = "ClusterRole/r", namespace: str | None = None, name: str = "b") -> Any:
    """Build a binding of the subject to the role, cluster-wide unless a namespace is given."""
    kind, _, whom = subject.partition("/")
    role_kind, _, role_name = role.partition("/")
    account_namespace, _, account = whom.rpartition(":")
    who = {"name": account, "namespace": account_namespace or None} if kind == "ServiceAccount" else {"name": whom}
    return build(
        "RoleBinding" if namespace else "ClusterRoleBinding",
        name,
        namespace,
        roleRef={"apiGroup": RBAC, "kind": role_kind, "name": role_name},
        subjects=[{"kind": kind, **who}],
    )


def build_attributes(
    verb: str, resource: str = "virtualmachines", namespace: str = "prod", name: str = ""
) -> Attributes:
    resource, _, subresource = resource.partition("/")
    return Attributes(verb, "kubevirt.io", resource, subresource, namespace, name)


def build_aggregated_role(name: str, label: str, **labels: str) -> ClusterRole:
    selectors = [{"matchLabels": {label: "true"}}]
    role: ClusterRole = build_role(name=name, labels=labels, aggregationRule={"clusterRoleSelectors": selectors})
    return role


def is_allowed(user: User, wanted: Attributes, *objects: AccessObject) -> bool:
    return Authorizer(objects).authorize(user, wanted).allowed
