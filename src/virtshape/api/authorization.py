"""
The authorization.k8s.io group at v1: may someone do something.

Questions with their answers; never stored, and nothing here decides them.
"""

from msgspec import field

from virtshape.api.meta import LabelSelectorRequirement, ObjectMeta
from virtshape.api.model import Model


class FieldSelectorRequirement(Model):
    """What one field has to be."""

    key: str
    """The field."""
    operator: str
    """How to compare: `In`, `NotIn`, `Exists` or `DoesNotExist`."""
    values: list[str] | None = None
    """What to compare with."""


class FieldSelectorAttributes(Model):
    """Fields that narrow objects down, in one of two forms."""

    raw_selector: str | None = None
    """The selector, as in a request's query."""
    requirements: list[FieldSelectorRequirement] | None = None
    """The selector, taken apart; all must match."""


class LabelSelectorAttributes(Model):
    """Labels that narrow objects down, in one of two forms."""

    raw_selector: str | None = None
    """The selector, as in a request's query."""
    requirements: list[LabelSelectorRequirement] | None = None
    """The selector, taken apart; all must match."""


class ResourceAttributes(Model):
    """An action on a resource."""

    name: str | None = None
    """The object; all if empty."""
    field_selector: FieldSelectorAttributes | None = None
    """The fields that narrow the objects down."""
    group: str | None = None
    """The API group, `*` for all."""
    label_selector: LabelSelectorAttributes | None = None
    """The labels that narrow the objects down."""
    namespace: str | None = None
    """The namespace; all, or none, if empty."""
    resource: str | None = None
    """The resource, `*` for all."""
    subresource: str | None = None
    """The subresource."""
    verb: str | None = None
    """The action, `*` for all."""
    version: str | None = None
    """The API version, `*` for all."""


class NonResourceAttributes(Model):
    """An action on a path that is no resource."""

    path: str | None = None
    """The path."""
    verb: str | None = None
    """The HTTP method, in lower case."""


class SelfSubjectAccessReviewSpec(Model):
    """What the asker wants to do; exactly one of these."""

    non_resource_attributes: NonResourceAttributes | None = None
    """An action on a path that is no resource."""
    resource_attributes: ResourceAttributes | None = None
    """An action on a resource."""


class SubjectAccessReviewStatus(Model):
    """Whether an action is permitted."""

    allowed: bool
    """Whether it is."""
    denied: bool | None = None
    """Whether it is forbidden for certain, whatever others say."""
    evaluation_error: str | None = None
    """What went wrong while deciding."""
    reason: str | None = None
    """Why, for people."""


class SelfSubjectAccessReview(Model, kw_only=True):
    """Asks whether the one who asks may do something."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`SelfSubjectAccessReview`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: SelfSubjectAccessReviewSpec
    """The question."""
    status: SubjectAccessReviewStatus | None = None
    """The answer."""


class SubjectAccessReviewSpec(Model):
    """Who wants to do what."""

    extra: dict[str, list[str]] | None = None
    """What else the authenticator says of the user."""
    groups: list[str] | None = None
    """The groups that the user belongs to."""
    non_resource_attributes: NonResourceAttributes | None = None
    """An action on a path that is no resource."""
    resource_attributes: ResourceAttributes | None = None
    """An action on a resource."""
    uid: str | None = None
    """What tells users of the same name apart."""
    user: str | None = None
    """The user's name."""


class SubjectAccessReview(Model, kw_only=True):
    """Asks whether someone may do something."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`SubjectAccessReview`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: SubjectAccessReviewSpec
    """The question."""
    status: SubjectAccessReviewStatus | None = None
    """The answer."""


class LocalSubjectAccessReview(Model, kw_only=True):
    """Asks whether someone may do something in one namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`LocalSubjectAccessReview`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    spec: SubjectAccessReviewSpec
    """The question; its namespace must be that of this object."""
    status: SubjectAccessReviewStatus | None = None
    """The answer."""


class SelfSubjectRulesReviewSpec(Model):
    """Where the rules should be listed for."""

    namespace: str | None = None
    """The namespace."""


class NonResourceRule(Model):
    """Permitted actions on paths that are no resources."""

    verbs: list[str]
    """The HTTP methods, in lower case."""
    non_resource_urls: list[str] | None = field(default=None, name="nonResourceURLs")
    """The paths."""


class ResourceRule(Model):
    """Permitted actions on resources."""

    verbs: list[str]
    """The actions, `*` for all."""
    api_groups: list[str] | None = None
    """The API groups, `*` for all."""
    resource_names: list[str] | None = None
    """The only objects that are meant; all if absent."""
    resources: list[str] | None = None
    """The resources, `*` for all."""


class SubjectRulesReviewStatus(Model):
    """What someone may do."""

    incomplete: bool
    """Whether there may be more than is listed."""
    non_resource_rules: list[NonResourceRule]
    """The permitted actions on paths that are no resources."""
    resource_rules: list[ResourceRule]
    """The permitted actions on resources."""
    evaluation_error: str | None = None
    """Why the list is incomplete."""


class SelfSubjectRulesReview(Model, kw_only=True):
    """Asks for all that the asker may do in a namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`SelfSubjectRulesReview`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: SelfSubjectRulesReviewSpec
    """The question."""
    status: SubjectRulesReviewStatus | None = None
    """The answer."""
