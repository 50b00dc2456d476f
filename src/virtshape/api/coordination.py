"""Structs of coordination.k8s.io/v1: leases for leader election."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time


class LeaseSpec(Model):
    """Holder and duration of a lease."""

    acquire_time: Time | None = None
    """When the current holder acquired the lease."""
    holder_identity: str | None = None
    """Identity of the current holder."""
    lease_duration_seconds: Int32 | None = None
    """Seconds after the last renewal until the lease expires."""
    lease_transitions: Int32 | None = None
    """Number of times that the holder has changed."""
    preferred_holder: str | None = None
    """Preferred holder, for which the current holder should release the lease."""
    renew_time: Time | None = None
    """When the holder last renewed the lease."""
    strategy: str | None = None
    """Strategy for coordinated leader election."""


class Lease(KubernetesObject, kw_only=True):
    """A lease, held by one process until it expires."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `Lease`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: LeaseSpec | None = None
    """Holder and duration of the lease."""
