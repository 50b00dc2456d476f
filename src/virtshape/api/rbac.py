"""
The rbac.authorization.k8s.io group at v1: who may do what.

Only structs: nothing here decides a request.
"""

from msgspec import field

from virtshape.api.meta import LabelSelector, ObjectMeta
from virtshape.api.model import Model


class PolicyRule(Model):
    """A set of actions that are permitted."""

    verbs: list[str]
    """The actions, `*` for all."""
    api_groups: list[str] | None = None
    """The API groups; `*` means all and the empty text the core group."""
    non_resource_urls: list[str] | None = field(default=None, name="nonResourceURLs")
    """The paths that are no resources, such as `/healthz`."""
    resource_names: list[str] | None = None
    """The only objects that are meant; all if absent."""
    resources: list[str] | None = None
    """The resources, `*` for all."""


class Role(Model, kw_only=True):
    """Permissions within one namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`Role`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    rules: list[PolicyRule] | None = None
    """What it permits."""


class AggregationRule(Model):
    """Which roles are gathered into another."""

    cluster_role_selectors: list[LabelSelector] | None = None
    """The labels of those roles; one selector has to match."""


class ClusterRole(Model, kw_only=True):
    """Permissions for the whole cluster."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`ClusterRole`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    aggregation_rule: AggregationRule | None = None
    """The roles whose rules are gathered here."""
    rules: list[PolicyRule] | None = None
    """What it permits."""


class RoleRef(Model):
    """The role that a binding grants."""

    name: str
    """The role's name."""
    kind: str
    """`Role` or `ClusterRole`."""
    api_group: str | None = None
    """The API group of the role."""


class Subject(Model):
    """A user, a group or a service account."""

    name: str
    """The subject's name."""
    kind: str
    """`User`, `Group` or `ServiceAccount`."""
    api_group: str | None = None
    """The API group of the subject; empty for service accounts."""
    namespace: str | None = None
    """The namespace of a service account."""


class RoleBinding(Model, kw_only=True):
    """Grants a role to subjects, within one namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`RoleBinding`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    role_ref: RoleRef
    """The role."""
    subjects: list[Subject] | None = None
    """Who gets it."""


class ClusterRoleBinding(Model, kw_only=True):
    """Grants a role to subjects, in the whole cluster."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`ClusterRoleBinding`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    role_ref: RoleRef
    """The role."""
    subjects: list[Subject] | None = None
    """Who gets it."""
