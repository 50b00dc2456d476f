"""Structs of events."""

from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time


class EventSeries(Model):
    """A series of the same event."""

    count: Int32 | None = None
    """Number of occurrences."""
    last_observed_time: Time | None = None
    """When it was last seen."""


class EventSource(Model):
    """Source of an event."""

    component: str | None = None
    """The component."""
    host: str | None = None
    """The node it runs on."""


class Event(KubernetesObject, kw_only=True):
    """An event about an object."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Event`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    involved_object: ObjectReference
    """The object that the event is about."""
    action: str | None = None
    """Action that was taken or failed."""
    count: Int32 | None = None
    """Number of occurrences."""
    event_time: Time | None = None
    """When it was first seen."""
    first_timestamp: Time | None = None
    """When it first happened."""
    last_timestamp: Time | None = None
    """When it last happened."""
    message: str | None = None
    """Human-readable details."""
    reason: str | None = None
    """Reason in CamelCase."""
    related: ObjectReference | None = None
    """Related object."""
    reporting_component: str | None = None
    """The controller that reports it."""
    reporting_instance: str | None = None
    """Instance of that controller."""
    series: EventSeries | None = None
    """The series that this event belongs to, if it repeats."""
    source: EventSource | None = None
    """The component that reports it, in the older form."""
    type: str | None = None
    """`Normal` or `Warning`."""
