"""
Events: what happened to an object, told to people.

Only structs: nothing here records or merges events.
"""

from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, Time


class EventSeries(Model):
    """An event that keeps happening."""

    count: Int32 | None = None
    """How often it happened so far."""
    last_observed_time: Time | None = None
    """When it was last seen."""


class EventSource(Model):
    """Who reports an event."""

    component: str | None = None
    """The component."""
    host: str | None = None
    """The node it runs on."""


class Event(Model, kw_only=True):
    """Something that happened to an object."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Event`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    involved_object: ObjectReference
    """The object that it happened to."""
    action: str | None = None
    """What was done or failed."""
    count: Int32 | None = None
    """How often it happened."""
    event_time: Time | None = None
    """When it was first seen."""
    first_timestamp: Time | None = None
    """When it first happened."""
    last_timestamp: Time | None = None
    """When it last happened."""
    message: str | None = None
    """The details, for people."""
    reason: str | None = None
    """The cause, as one word."""
    related: ObjectReference | None = None
    """A second object that has part in it."""
    reporting_component: str | None = None
    """The controller that reports it."""
    reporting_instance: str | None = None
    """Which instance of that controller."""
    series: EventSeries | None = None
    """How it goes on, if it keeps happening."""
    source: EventSource | None = None
    """The component that reports it, in the older form."""
    type: str | None = None
    """`Normal` or `Warning`."""
