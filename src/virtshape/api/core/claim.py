"""
Claims to storage, and what became of them.

What a claim asks for is described with volumes; nothing here binds one.
"""

from virtshape.api.core.volume import PersistentVolumeClaimSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model, Time
from virtshape.api.quantity import Quantity


class PersistentVolumeClaimCondition(Model):
    """One observed fact about a claim."""

    type: str
    """Which fact."""
    status: str
    """Whether it holds: `True`, `False` or `Unknown`."""
    last_probe_time: Time | None = None
    """When it was last looked at."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """The details, for people."""
    reason: str | None = None
    """The cause, as one word."""


class ModifyVolumeStatus(Model):
    """A change of attributes class that is under way."""

    status: str
    """`Pending`, `InProgress` or `Infeasible`."""
    target_volume_attributes_class_name: str | None = None
    """The attributes class that the volume is to have."""


class VolumeHealthCondition(Model):
    """One thing that is wrong with a volume."""

    reason: str
    """The cause, as one word."""
    status: str
    """How bad it is: `Inaccessible`, `DataLoss` or `Degraded`."""
    message: str | None = None
    """The details, for people."""


class VolumeHealthStatus(Model):
    """The health of a volume, as its storage sees it."""

    health_conditions: list[VolumeHealthCondition] | None = None
    """What is wrong; empty if all is well."""
    last_transition_time: Time | None = None
    """When this list last changed."""


class PersistentVolumeClaimStatus(Model):
    """The storage that a claim got."""

    access_modes: list[str] | None = None
    """How many nodes may mount the volume, and whether to write."""
    allocated_resource_statuses: dict[str, str] | None = None
    """How far the resizing of each resource has come."""
    allocated_resources: dict[str, Quantity] | None = None
    """What is reserved for the claim, a resize under way included."""
    capacity: dict[str, Quantity] | None = None
    """What the volume really offers."""
    conditions: list[PersistentVolumeClaimCondition] | None = None
    """The observed facts."""
    current_volume_attributes_class_name: str | None = None
    """The attributes class that the volume now has."""
    health_status: VolumeHealthStatus | None = None
    """What the storage says of the volume's health."""
    modify_volume_status: ModifyVolumeStatus | None = None
    """A change of attributes class that is under way."""
    phase: str | None = None
    """`Pending`, `Bound` or `Lost`."""


class PersistentVolumeClaim(Model, kw_only=True):
    """A claim to storage by someone of a namespace."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`PersistentVolumeClaim`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    spec: PersistentVolumeClaimSpec | None = None
    """The storage that is wanted."""
    status: PersistentVolumeClaimStatus | None = None
    """The storage that there is."""


class PersistentVolumeClaimTemplate(Model):
    """A claim to make for each pod."""

    spec: PersistentVolumeClaimSpec
    """The storage that is wanted."""
    metadata: ObjectMeta | None = None
    """Labels and annotations for the claim."""
