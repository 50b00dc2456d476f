"""Structs of authorization.k8s.io/v1: access reviews, which are never stored."""

from msgspec import field

from virtshape.api.meta import NO_METADATA, KubernetesObject, LabelSelectorRequirement, Metadata
from virtshape.api.model import Model


class FieldSelectorRequirement(Model):
    """A requirement on one field."""

    key: str
    """Path of the field that the requirement applies to."""
    operator: str
    """Operator: `In`, `NotIn`, `Exists` or `DoesNotExist`."""
    values: list[str] | None = None
    """The values to compare with."""


class FieldSelectorAttributes(Model):
    """A field selector, as text or parsed."""

    raw_selector: str | None = None
    """The selector as text, as in the query parameter of a request."""
    requirements: list[FieldSelectorRequirement] | None = None
    """The parsed selector; all requirements must match."""


class LabelSelectorAttributes(Model):
    """A label selector, as text or parsed."""

    raw_selector: str | None = None
    """The selector as text, as in the query parameter of a request."""
    requirements: list[LabelSelectorRequirement] | None = None
    """The parsed selector; all requirements must match."""


class ResourceAttributes(Model):
    """An action on a resource."""

    name: str | None = None
    """Name of the object; all objects if empty."""
    field_selector: FieldSelectorAttributes | None = None
    """The field selector of the request."""
    group: str | None = None
    """The API group; `*` for all."""
    label_selector: LabelSelectorAttributes | None = None
    """The label selector of the request."""
    namespace: str | None = None
    """The namespace; if empty, all namespaces, or none for a cluster-wide resource."""
    resource: str | None = None
    """The resource; `*` for all."""
    subresource: str | None = None
    """The subresource, such as `status`; empty for the object itself."""
    verb: str | None = None
    """The verb, such as `get`; `*` for all."""
    version: str | None = None
    """The API version; `*` for all."""


class NonResourceAttributes(Model):
    """An action on a non-resource path."""

    path: str | None = None
    """The URL path of the request."""
    verb: str | None = None
    """The HTTP method, in lower case."""


class SelfSubjectAccessReviewSpec(Model):
    """The action to check; exactly one field must be set."""

    non_resource_attributes: NonResourceAttributes | None = None
    """An action on a non-resource path."""
    resource_attributes: ResourceAttributes | None = None
    """An action on a resource."""


class SubjectAccessReviewStatus(Model):
    """Whether an action is permitted."""

    allowed: bool
    """Whether the action is allowed."""
    denied: bool | None = None
    """Whether the action is denied, whatever other authorizers decide."""
    evaluation_error: str | None = None
    """Error during the evaluation."""
    reason: str | None = None
    """Human-readable reason for the decision."""


class SelfSubjectAccessReview(KubernetesObject, kw_only=True):
    """A request to check whether the current user may perform an action."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `SelfSubjectAccessReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: SelfSubjectAccessReviewSpec
    """The action to check."""
    status: SubjectAccessReviewStatus | None = None
    """Result of the check."""


class SubjectAccessReviewSpec(Model):
    """The user and the action to check."""

    extra: dict[str, list[str]] | None = None
    """Additional information from the authenticator."""
    groups: list[str] | None = None
    """The groups that the user belongs to."""
    non_resource_attributes: NonResourceAttributes | None = None
    """An action on a non-resource path."""
    resource_attributes: ResourceAttributes | None = None
    """An action on a resource."""
    uid: str | None = None
    """Unique identifier of the user."""
    user: str | None = None
    """Name of the user whose permissions are checked."""


class SubjectAccessReview(KubernetesObject, kw_only=True):
    """A request to check whether a user may perform an action."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `SubjectAccessReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: SubjectAccessReviewSpec
    """The user and the action to check."""
    status: SubjectAccessReviewStatus | None = None
    """Result of the check."""


class LocalSubjectAccessReview(KubernetesObject, kw_only=True):
    """A request to check whether a user may perform an action in a namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `LocalSubjectAccessReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: SubjectAccessReviewSpec
    """The action to check; its namespace must be that of this object."""
    status: SubjectAccessReviewStatus | None = None
    """Result of the check."""


class SelfSubjectRulesReviewSpec(Model):
    """The namespace to list the rules for."""

    namespace: str | None = None
    """Namespace to list the rules for."""


class NonResourceRule(Model):
    """Allowed actions on non-resource paths."""

    verbs: list[str]
    """The HTTP methods, in lower case."""
    non_resource_urls: list[str] | None = field(default=None, name="nonResourceURLs")
    """The URL paths; `*` for all."""


class ResourceRule(Model):
    """Permitted actions on resources."""

    verbs: list[str]
    """The verbs, such as `get`; `*` for all."""
    api_groups: list[str] | None = None
    """The API groups; `*` for all."""
    resource_names: list[str] | None = None
    """Names of the objects; all objects if absent."""
    resources: list[str] | None = None
    """The resources; `*` for all."""


class SubjectRulesReviewStatus(Model):
    """The permissions of a user."""

    incomplete: bool
    """Whether the list is incomplete."""
    non_resource_rules: list[NonResourceRule]
    """Allowed actions on non-resource paths."""
    resource_rules: list[ResourceRule]
    """The permitted actions on resources."""
    evaluation_error: str | None = None
    """Error that made the list incomplete."""


class SelfSubjectRulesReview(KubernetesObject, kw_only=True):
    """A request for the permissions of the current user in a namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `SelfSubjectRulesReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: SelfSubjectRulesReviewSpec
    """The namespace to list the rules for."""
    status: SubjectRulesReviewStatus | None = None
    """Permissions of the current user in the namespace."""
