"""
Structs shared by all kinds: metadata, owner references, conditions, label selectors.

Times are RFC 3339 strings in UTC.
"""

from typing import Any

from msgspec import field

from virtshape.api.model import Model, Time


class Condition(Model):
    """A condition of an object: status, reason, and when it last changed."""

    type: str
    """Type of the condition in CamelCase, such as Ready; one condition per type."""
    last_transition_time: Time
    """When status last changed."""
    message: str
    """Human-readable details; may be empty."""
    reason: str
    """Reason for the status, in CamelCase."""
    status: str
    """True, False or Unknown."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""
    observed_generation: int | None = None
    """Generation that the condition is about; out of date if lower than metadata.generation."""


class LabelSelectorRequirement(Model):
    """A test of one label."""

    key: str
    """The label to look at."""
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: list[str] | None = None
    """Values to compare with; at least one for In and NotIn, none for the others."""


class LabelSelector(Model):
    """Picks objects by their labels; all parts must hold, and an empty selector picks everything."""

    match_labels: dict[str, str] | None = None
    """Labels that an object must have with exactly these values."""
    match_expressions: list[LabelSelectorRequirement] | None = None
    """Tests that an object's labels must all pass."""


class ListMeta(Model):
    """Metadata of a list."""

    resource_version: str | None = None
    """State of the server that the list shows; a watch can go on from here."""
    continue_: str | None = field(default=None, name="continue")
    """Token to ask for the next part of a list cut by limit; absent on the last part."""
    remaining_item_count: int | None = None
    """How many items are still to come, where the server knows."""
    self_link: str | None = None
    """Path of the list; no longer filled in."""


class ManagedFieldsEntry(Model):
    """Which fields one writer owns."""

    manager: str | None = None
    """Name of the writer, such as kubectl-edit."""
    operation: str | None = None
    """How it wrote: Apply or Update."""
    api_version: str | None = None
    """Group and version in which the field paths are given."""
    time: Time | None = None
    """When the set of fields, or a value among them, last changed."""
    fields_type: str | None = None
    """Format of the field set; always FieldsV1."""
    fields_v1: dict[str, Any] | None = None
    """The fields, as a tree with keys such as f:spec."""
    subresource: str | None = None
    """Subresource written through, such as status; absent for the object itself."""


class OwnerReference(Model):
    """An owner of this object. The object is deleted when its last owner is deleted."""

    name: str
    """The owner's name, in the same namespace or cluster-wide."""
    api_version: str
    """The owner's group and version."""
    kind: str
    """The owner's kind."""
    uid: str
    """The owner's UID; another object of the same name is not the owner."""
    controller: bool | None = None
    """Whether the owner also manages this object; at most one does."""
    block_owner_deletion: bool | None = None
    """Whether a foreground deletion of the owner waits for this object to go first."""


class ObjectMeta(Model):
    """Name, labels and other data that an object of any kind carries."""

    name: str | None = None
    """The object's name, unique for its kind in the namespace; never changes."""
    generate_name: str | None = None
    """Beginning of a name that the server completes with random characters; only read where name is absent."""
    namespace: str | None = None
    """The namespace it lives in; absent for cluster-wide kinds."""
    uid: str | None = None
    """Set by the server: tells this object from earlier ones of the same name."""
    resource_version: str | None = None
    """Set by the server with every write; sent back in an update, it refuses to overwrite a newer state."""
    generation: int | None = None
    """Set by the server: counts the changes of spec."""
    creation_timestamp: Time | None = None
    """Set by the server: when the object was made."""
    deletion_timestamp: Time | None = None
    """Set by the server once deletion was asked for; the object goes when its finalizers are gone."""
    deletion_grace_period_seconds: int | None = None
    """Set by the server: seconds between the request to delete and the end."""
    labels: dict[str, str] | None = None
    """Short key-value pairs to select objects by; values have at most 63 characters."""
    annotations: dict[str, str] | None = None
    """Arbitrary key-value pairs for people and tools; selectors cannot use them."""
    owner_references: list[OwnerReference] | None = None
    """The objects that this one belongs to."""
    finalizers: list[str] | None = None
    """Names of the parties that still have to clean up before the object may go."""
    managed_fields: list[ManagedFieldsEntry] | None = None
    """Set by the server: who owns which field; kubectl hides it unless given --show-managed-fields."""
    self_link: str | None = None
    """Path of the object; no longer filled in."""


def find_annotation(metadata: ObjectMeta | None, key: str) -> str | None:
    """Return the value of an annotation, or None."""
    return ((metadata.annotations if metadata else None) or {}).get(key)
