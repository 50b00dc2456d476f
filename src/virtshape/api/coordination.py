"""
The coordination.k8s.io group at v1: leases, by which processes agree who acts.

Only structs: nothing here takes or renews a lease.
"""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, Time


class LeaseSpec(Model):
    """Who holds a lease and for how long."""

    acquire_time: Time | None = None
    """When the holder got it."""
    holder_identity: str | None = None
    """Who holds it."""
    lease_duration_seconds: Int32 | None = None
    """How long after its last renewal others must keep away."""
    lease_transitions: Int32 | None = None
    """How often it went to another holder."""
    preferred_holder: str | None = None
    """Who should rather hold it; asks the holder to give it up."""
    renew_time: Time | None = None
    """When the holder last renewed it."""
    strategy: str | None = None
    """How the next holder is chosen, where that is coordinated."""


class Lease(Model, kw_only=True):
    """A claim of one process to a role, good until it runs out."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`Lease`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    spec: LeaseSpec | None = None
    """Who holds it and for how long."""
