"""Structs for events."""

from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time


class EventSeries(Model):
    """A series of occurrences of the same event."""

    count: Int32 | None = None
    """Number of occurrences in the series."""
    last_observed_time: Time | None = None
    """When the event was last observed."""


class EventSource(Model):
    """Source of an event."""

    component: str | None = None
    """The component that reports the event."""
    host: str | None = None
    """The node that the component runs on."""


class Event(KubernetesObject, kw_only=True):
    """An event about an object."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `Event`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    involved_object: ObjectReference
    """The object that the event is about."""
    action: str | None = None
    """Action that was taken or failed."""
    count: Int32 | None = None
    """Number of times that the event occurred."""
    event_time: Time | None = None
    """When the event was first observed."""
    first_timestamp: Time | None = None
    """When the event first occurred."""
    last_timestamp: Time | None = None
    """When the event last occurred."""
    message: str | None = None
    """Human-readable details of the event."""
    reason: str | None = None
    """Reason for the event, in CamelCase."""
    related: ObjectReference | None = None
    """Another object that is involved in the event."""
    reporting_component: str | None = None
    """The controller that reports the event."""
    reporting_instance: str | None = None
    """The instance of the reporting controller."""
    series: EventSeries | None = None
    """The series that this event belongs to, if it repeats."""
    source: EventSource | None = None
    """The component that reports the event; superseded by `reportingComponent`."""
    type: str | None = None
    """Type of the event: `Normal` or `Warning`."""
