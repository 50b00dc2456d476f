"""
Namespaces: the spaces that names are unique in.

Only structs: nothing here creates or empties one.
"""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model, Time


class NamespaceSpec(Model):
    """What holds on to a namespace."""

    finalizers: list[str] | None = None
    """Who must give it free before it can go."""


class NamespaceCondition(Model):
    """One observed fact about a namespace."""

    type: str
    """Which fact."""
    status: str
    """Whether it holds: `True`, `False` or `Unknown`."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """The details, for people."""
    reason: str | None = None
    """The cause, as one word."""


class NamespaceStatus(Model):
    """The life of a namespace."""

    conditions: list[NamespaceCondition] | None = None
    """The observed facts."""
    phase: str | None = None
    """`Active` or `Terminating`."""


class Namespace(Model, kw_only=True):
    """A space that names are unique in."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Namespace`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: NamespaceSpec | None = None
    """The namespace, as wanted."""
    status: NamespaceStatus | None = None
    """The namespace, as observed."""
