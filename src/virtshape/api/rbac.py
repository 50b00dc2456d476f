"""Structs of rbac.authorization.k8s.io/v1: roles and bindings."""

from msgspec import field

from virtshape.api.meta import NO_METADATA, KubernetesObject, LabelSelector, Metadata
from virtshape.api.model import Model


class PolicyRule(Model):
    """A rule that permits actions."""

    verbs: list[str]
    """The verbs, such as `get`; `*` for all."""
    api_groups: list[str] | None = None
    """The API groups; `*` means all groups, and an empty string the core group."""
    non_resource_urls: list[str] | None = field(default=None, name="nonResourceURLs")
    """Non-resource paths, such as `/healthz`."""
    resource_names: list[str] | None = None
    """Names of the objects; all objects if absent."""
    resources: list[str] | None = None
    """The resources; `*` for all."""


class Role(KubernetesObject, kw_only=True):
    """Permissions within one namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `Role`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    rules: list[PolicyRule] | None = None
    """Rules of the role."""


class AggregationRule(Model):
    """Selects the roles whose rules are aggregated into another role."""

    cluster_role_selectors: list[LabelSelector] | None = None
    """Selectors for the labels of those roles; at least one must match."""


class ClusterRole(KubernetesObject, kw_only=True):
    """Permissions for the whole cluster."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `ClusterRole`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    aggregation_rule: AggregationRule | None = None
    """Selects the roles whose rules are aggregated into this role."""
    rules: list[PolicyRule] | None = None
    """Rules of the role."""


class RoleRef(Model):
    """The role that a binding grants."""

    name: str
    """Name of the role."""
    kind: str
    """Kind of the role: `Role` or `ClusterRole`."""
    api_group: str | None = None
    """The API group of the role."""


class Subject(Model):
    """A user, a group or a service account."""

    name: str
    """Name of the user, group or service account."""
    kind: str
    """Kind of the subject: `User`, `Group` or `ServiceAccount`."""
    api_group: str | None = None
    """The API group of the subject; empty for service accounts."""
    namespace: str | None = None
    """The namespace of a service account."""


class RoleBinding(KubernetesObject, kw_only=True):
    """Grants a role to subjects, within one namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `RoleBinding`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    role_ref: RoleRef
    """The role that the binding grants."""
    subjects: list[Subject] | None = None
    """The subjects of the binding."""


class ClusterRoleBinding(KubernetesObject, kw_only=True):
    """Grants a role to subjects, in the whole cluster."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `ClusterRoleBinding`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    role_ref: RoleRef
    """The role that the binding grants."""
    subjects: list[Subject] | None = None
    """The subjects of the binding."""
