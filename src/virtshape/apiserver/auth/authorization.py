"""
Role-based access control as in Kubernetes: rules only grant permissions.

Bindings are indexed by subject. Decisions are cached until a role or binding changes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.rbac import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.aggregation import aggregate_rules
from virtshape.apiserver.auth.authentication import MASTERS, User
from virtshape.apiserver.auth.rules import EVERYTHING, permits_path, permits_resource, quote

RBAC_GROUP = "rbac.authorization.k8s.io"
MAX_CACHED_DECISIONS = 50_000

Binding = RoleBinding | ClusterRoleBinding
AccessObject = Role | ClusterRole | Binding


class Attributes(NamedTuple):
    """
    What a request needs permission for: a verb on a resource, or on a non-resource path.

    For a list or watch whose field selector selects one object by name, `name` is that object's name.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(NamedTuple):
    """Whether a request is allowed, and why."""

    allowed: bool
    reason: str = ""


class _Grant(NamedTuple):
    """Why a verb is permitted on all objects, and on objects with certain names; `problem` lists missing roles."""

    everything: str | None
    names: dict[str, str]
    problem: str


class Authorizer:
    """Authorizes requests by roles and bindings."""

    def __init__(self, objects: Iterable[AccessObject] = ()) -> None:
        self._roles: dict[tuple[str, str], Role] = {}
        self._cluster_roles: dict[str, ClusterRole] = {}
        self._bindings: dict[tuple[str, str], Binding] = {}
        # Bindings by namespace ("" for the whole cluster) and subject, then by name.
        self._by_subject: dict[tuple[str, str], dict[str, tuple[Binding, Subject]]] = {}
        self._aggregated: dict[str, list[PolicyRule]] = {}
        self._cache: dict[tuple[object, ...], _Grant] = {}
        self.changes = 0
        """How many times roles and bindings have changed."""
        for item in objects:
            self.update(item.kind, item.metadata.namespace or "", item.metadata.name or "", item)

    def update(self, kind: str, namespace: str, name: str, item: AccessObject | None) -> None:
        """
        Add or replace a role or binding; if `item` is None, remove the role or binding.

        Cluster-scoped objects have no namespace.
        """
        self._cache.clear()
        self.changes += 1
        match kind:
            case "Role":
                self._roles.pop((namespace, name), None)
            case "ClusterRole":
                self._aggregated.clear()
                self._cluster_roles.pop(name, None)
            case "RoleBinding" | "ClusterRoleBinding":
                self._forget_binding(namespace, name)
        match item:
            case Role():
                self._roles[namespace, name] = item
            case ClusterRole():
                self._cluster_roles[name] = item
            case RoleBinding() | ClusterRoleBinding():
                self._note_binding(namespace, name, item)

    def authorize(self, user: User, wanted: Attributes) -> Decision:
        """Return the decision: whether the user may make this request, and the reason."""
        if MASTERS in user.groups:
            return _MASTERS_MAY
        if wanted.path:
            return self._authorize_path(user, wanted)
        key = (user.name, user.groups, *wanted[:5])
        grant = self._cache.get(key)
        if grant is None:
            grant = self._get_grant(user, wanted)
            if len(self._cache) >= MAX_CACHED_DECISIONS:
                self._cache.clear()
            self._cache[key] = grant
        reason = grant.everything or grant.names.get(wanted.name)
        return Decision(False, grant.problem) if reason is None else Decision(True, reason)

    def require(self, user: User, wanted: Attributes) -> None:
        """Raise StatusError 403 unless the user may make this request."""
        decision = self.authorize(user, wanted)
        if not decision.allowed:
            raise forbidden(user, wanted, decision.reason)

    def rules_for(self, user: User, namespace: str) -> list[PolicyRule]:
        """Return the rules that apply to the user in the namespace; only cluster-wide rules if `namespace` is empty."""
        rules = list(EVERYTHING) if MASTERS in user.groups else []
        for binding, _ in self._bindings_of(user, namespace):
            rules += self.find_rules(binding.role_ref, _namespace(binding)) or []
        return rules

    def find_rules(self, reference: RoleRef, namespace: str) -> list[PolicyRule] | None:
        """Return the rules of the role that a binding in the namespace refers to; None if the role does not exist."""
        if reference.kind == "Role":
            role = self._roles.get((namespace, reference.name))
            return None if role is None else role.rules or []
        cluster_role = self._cluster_roles.get(reference.name)
        if cluster_role is None:
            return None
        if cluster_role.aggregation_rule is None:
            return cluster_role.rules or []
        if reference.name not in self._aggregated:
            self._aggregated[reference.name] = aggregate_rules(cluster_role, self._cluster_roles)
        return self._aggregated[reference.name]

    def _forget_binding(self, namespace: str, name: str) -> None:
        binding = self._bindings.pop((namespace, name), None)
        for subject in (binding.subjects if binding else None) or ():
            key = namespace, _subject_key(subject, namespace)
            bound = self._by_subject.get(key, {})
            bound.pop(name, None)
            if not bound:
                self._by_subject.pop(key, None)

    def _note_binding(self, namespace: str, name: str, binding: Binding) -> None:
        self._bindings[namespace, name] = binding
        for subject in binding.subjects or ():
            key = namespace, _subject_key(subject, namespace)
            self._by_subject.setdefault(key, {})[name] = binding, subject

    def _bindings_of(self, user: User, namespace: str) -> Iterator[tuple[Binding, Subject]]:
        keys = [f"User {user.name}", *(f"Group {group}" for group in user.groups)]
        for where in ("", namespace) if namespace else ("",):
            for key in keys:
                yield from self._by_subject.get((where, key), {}).values()

    def _get_grant(self, user: User, wanted: Attributes) -> _Grant:
        names: dict[str, str] = {}
        missing: list[str] = []
        for binding, subject in self._bindings_of(user, wanted.namespace):
            rules = self.find_rules(binding.role_ref, _namespace(binding))
            if rules is None:
                missing.append(_describe_missing(binding.role_ref))
            for rule in rules or ():
                if not permits_resource(rule, wanted.verb, wanted.group, wanted.resource, wanted.subresource):
                    continue
                reason = _describe_permission(binding, subject)
                if not rule.resource_names:
                    return _Grant(reason, {}, "")
                for name in rule.resource_names:
                    names.setdefault(name, reason)
        return _Grant(None, names, _describe_problems(missing))

    def _authorize_path(self, user: User, wanted: Attributes) -> Decision:
        for binding, subject in self._bindings_of(user, ""):
            for rule in self.find_rules(binding.role_ref, "") or ():
                if permits_path(rule, wanted.verb, wanted.path):
                    return Decision(True, _describe_permission(binding, subject))
        return Decision(False)


def forbidden(user: User, wanted: Attributes, reason: str = "") -> StatusError:
    """Return a 403 error with the same message as kube-apiserver."""
    why = describe_refusal(user, wanted) + (f": {reason}" if reason else "")
    return forbidden_object_error(wanted.group, wanted.resource, wanted.name, why)


def forbidden_object_error(group: str, resource: str, name: str, why: str) -> StatusError:
    """Return a 403 error for an object, or for a resource if the name is empty."""
    if not resource:
        return StatusError(403, "Forbidden", f"forbidden: {why}")
    subject = f"{resource}.{group}" if group else resource
    message = f"{subject} {quote(name)} is forbidden: {why}" if name else f"{subject} is forbidden: {why}"
    return StatusError(403, "Forbidden", message).about(group, resource, name)


def describe_refusal(user: User, wanted: Attributes) -> str:
    """Return the message that says what the user may not do."""
    name = quote(user.name)
    if wanted.path:
        return f"User {name} cannot {wanted.verb} path {quote(wanted.path)}"
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    where = f"in the namespace {quote(wanted.namespace)}" if wanted.namespace else "at the cluster scope"
    return f"User {name} cannot {wanted.verb} resource {quote(resource)} in API group {quote(wanted.group)} {where}"


def _subject_key(subject: Subject, namespace: str) -> str:
    if subject.kind != "ServiceAccount":
        return f"{subject.kind} {subject.name}"
    return f"User {name_account_user(subject.namespace or namespace, subject.name)}"


def _namespace(binding: Binding) -> str:
    return (binding.metadata.namespace or "") if isinstance(binding, RoleBinding) else ""


def _describe_permission(binding: Binding, subject: Subject) -> str:
    namespace = _namespace(binding)
    bound = binding.metadata.name or ""
    whom = subject.name
    if subject.kind == "ServiceAccount":
        whom = f"{subject.name}/{subject.namespace or namespace}"
    return (
        f"RBAC: allowed by {binding.kind} {quote(f'{bound}/{namespace}' if namespace else bound)} "
        f"of {binding.role_ref.kind} {quote(binding.role_ref.name)} to {subject.kind} {quote(whom)}"
    )


def _describe_missing(reference: RoleRef) -> str:
    return f"{reference.kind.lower()}.{RBAC_GROUP} {quote(reference.name)} not found"


def _describe_problems(problems: list[str]) -> str:
    if not problems:
        return ""
    unique = list(dict.fromkeys(problems))
    return f"RBAC: {unique[0]}" if len(unique) == 1 else f"RBAC: [{', '.join(unique)}]"


_MASTERS_MAY = Decision(allowed=True)
