"""
Structs shared by all kinds: metadata, owner references, conditions, label selectors.

Times are RFC 3339 strings in UTC.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import field

from virtshape.api.model import Model, Time


class Condition(Model):
    """A condition of an object: status, reason, and when it last changed."""

    type: str
    """Type of the condition in CamelCase, such as Ready; one condition per type."""
    last_transition_time: Time
    """When the status last changed."""
    message: str
    """Human-readable details; may be empty."""
    reason: str
    """Reason for the status, in CamelCase."""
    status: str
    """Status of the condition: True, False or Unknown."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""
    observed_generation: int | None = None
    """Generation that the condition refers to; outdated if lower than metadata.generation."""


class LabelSelectorRequirement(Model):
    """A requirement on one label."""

    key: str
    """Key of the label."""
    operator: str
    """Operator: In, NotIn, Exists or DoesNotExist."""
    values: list[str] | None = None
    """Values; at least one for In and NotIn, none for the others."""

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return True if the labels meet the requirement."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in (self.values or ())
            case "NotIn":
                return value not in (self.values or ())
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return False


class LabelSelector(Model):
    """Selects objects by labels; all labels and requirements must match. An empty selector matches everything."""

    match_labels: dict[str, str] | None = None
    """Labels that an object must have with exactly these values."""
    match_expressions: list[LabelSelectorRequirement] | None = None
    """Requirements that an object's labels must all meet."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return True if the labels match the selector."""
        exact = all(labels.get(key) == value for key, value in (self.match_labels or {}).items())
        return exact and all(each.holds(labels) for each in self.match_expressions or ())


class ListMeta(Model):
    """Metadata of a list."""

    resource_version: str | None = None
    """Revision of the list; a watch can start from it."""
    continue_: str | None = field(default=None, name="continue")
    """Token for the next page of a limited list; absent on the last page."""
    remaining_item_count: int | None = None
    """Number of remaining items, if known."""
    self_link: str | None = None
    """Path of the list; no longer set."""


class ManagedFieldsEntry(Model):
    """The fields that a manager owns."""

    manager: str | None = None
    """Name of the manager, such as kubectl-edit."""
    operation: str | None = None
    """Operation: Apply or Update."""
    api_version: str | None = None
    """Group and version of the field paths."""
    time: Time | None = None
    """When the fields or their values last changed."""
    fields_type: str | None = None
    """Format of the field set; always FieldsV1."""
    fields_v1: dict[str, Any] | None = None
    """The fields, as a tree with keys such as f:spec."""
    subresource: str | None = None
    """Subresource that was written, such as status; absent for the object itself."""


class OwnerReference(Model):
    """An owner of this object. The object is deleted when its last owner is deleted."""

    name: str
    """The owner's name, in the same namespace or cluster-wide."""
    api_version: str
    """The owner's group and version."""
    kind: str
    """Kind of the owner."""
    uid: str
    """The owner's UID; another object of the same name is not the owner."""
    controller: bool | None = None
    """Whether the owner also manages this object; at most one owner does."""
    block_owner_deletion: bool | None = None
    """Whether a foreground deletion of the owner waits until this object is deleted."""


class ObjectMeta(Model):
    """Metadata that objects of all kinds have."""

    name: str | None = None
    """The object's name, unique for its kind in the namespace; never changes."""
    generate_name: str | None = None
    """Prefix of a generated name; only used if name is absent."""
    namespace: str | None = None
    """The namespace of the object; absent for cluster-wide kinds."""
    uid: str | None = None
    """Set by the server: unique ID, different for earlier objects of the same name."""
    resource_version: str | None = None
    """Set by the server with every write; an update with an outdated value is rejected."""
    generation: int | None = None
    """Set by the server: increases with each change to the spec."""
    creation_timestamp: Time | None = None
    """Set by the server: when the object was created."""
    deletion_timestamp: Time | None = None
    """Set by the server when deletion is requested; the object is removed when it has no finalizers left."""
    deletion_grace_period_seconds: int | None = None
    """Set by the server: grace period of the deletion in seconds."""
    labels: dict[str, str] | None = None
    """Short key-value pairs by which objects can be selected; values have at most 63 characters."""
    annotations: dict[str, str] | None = None
    """Arbitrary key-value pairs for people and tools; selectors cannot use them."""
    owner_references: list[OwnerReference] | None = None
    """The objects that this one belongs to."""
    finalizers: list[str] | None = None
    """Finalizers: each must be removed before the object is deleted."""
    managed_fields: list[ManagedFieldsEntry] | None = None
    """Set by the server: the managers of fields; kubectl shows them with --show-managed-fields."""
    self_link: str | None = None
    """Path of the object; no longer set."""


def find_annotation(metadata: ObjectMeta, key: str) -> str | None:
    """Return the value of an annotation, or None."""
    return (metadata.annotations or {}).get(key)


class _NoMetadata(ObjectMeta, frozen=True):  # type: ignore[misc]  # msgspec allows it
    """The metadata of objects that have none: empty, not encoded, and read-only because these objects share it."""

    def __reduce__(self) -> str:
        return "NO_METADATA"  # copying and unpickling return the object NO_METADATA itself


NO_METADATA: Final[ObjectMeta] = _NoMetadata()

# Decoding accepts null, which `KubernetesObject` replaces with `NO_METADATA`.
if TYPE_CHECKING:
    Metadata = ObjectMeta
else:
    Metadata = ObjectMeta | None


class KubernetesObject(Model):
    """Base class of all kinds. Objects always have metadata: `NO_METADATA` if it is absent or null in the input."""

    def __post_init__(self: Any) -> None:
        if self.metadata is None:
            self.metadata = NO_METADATA
