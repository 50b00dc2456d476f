"""Structs for namespaces."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model, Time


class NamespaceSpec(Model):
    """Desired state of a namespace."""

    finalizers: list[str] | None = None
    """Finalizers that must be removed before the namespace is deleted."""


class NamespaceCondition(Model):
    """A condition of a namespace."""

    type: str
    """Type of the condition."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class NamespaceStatus(Model):
    """Observed state of a namespace."""

    conditions: list[NamespaceCondition] | None = None
    """Current conditions of the namespace."""
    phase: str | None = None
    """Phase of the namespace: `Active` or `Terminating`."""


class Namespace(KubernetesObject, kw_only=True):
    """A scope for the names of objects."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `Namespace`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: NamespaceSpec | None = None
    """Desired state of the namespace."""
    status: NamespaceStatus | None = None
    """Observed state of the namespace."""
