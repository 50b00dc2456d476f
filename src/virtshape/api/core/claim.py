"""Structs for persistent volume claims and their status."""

from virtshape.api.core.claimspec import PersistentVolumeClaimSpec
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata, ObjectMeta
from virtshape.api.model import Model, Time
from virtshape.api.quantity import Quantity


class PersistentVolumeClaimCondition(Model):
    """A condition of a claim."""

    type: str
    """Type of the condition."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class ModifyVolumeStatus(Model):
    """State of a change to another attributes class."""

    status: str
    """State of the change: `Pending`, `InProgress` or `Infeasible`."""
    target_volume_attributes_class_name: str | None = None
    """The attributes class that is being applied."""


class VolumeHealthCondition(Model):
    """A health problem of a volume."""

    reason: str
    """Reason for the health problem, in CamelCase."""
    status: str
    """Severity: `Inaccessible`, `DataLoss` or `Degraded`."""
    message: str | None = None
    """Human-readable details of the health problem."""


class VolumeHealthStatus(Model):
    """Health of a volume, as reported by the storage."""

    health_conditions: list[VolumeHealthCondition] | None = None
    """Health problems; empty if the volume is healthy."""
    last_transition_time: Time | None = None
    """When the list of health problems last changed."""


class PersistentVolumeClaimStatus(Model):
    """Observed state of a claim."""

    access_modes: list[str] | None = None
    """Access modes of the volume."""
    allocated_resource_statuses: dict[str, str] | None = None
    """State of a resize, by resource."""
    allocated_resources: dict[str, Quantity] | None = None
    """Resources allocated to the claim, including a resize in progress."""
    capacity: dict[str, Quantity] | None = None
    """Actual resources of the volume."""
    conditions: list[PersistentVolumeClaimCondition] | None = None
    """Current conditions of the claim."""
    current_volume_attributes_class_name: str | None = None
    """Current attributes class of the volume."""
    health_status: VolumeHealthStatus | None = None
    """Health of the volume, as reported by the storage."""
    modify_volume_status: ModifyVolumeStatus | None = None
    """State of a change to another attributes class."""
    phase: str | None = None
    """Phase of the claim: `Pending`, `Bound` or `Lost`."""


class PersistentVolumeClaim(KubernetesObject, kw_only=True):
    """A request for storage in a namespace."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `PersistentVolumeClaim`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: PersistentVolumeClaimSpec | None = None
    """The storage that the claim requests."""
    status: PersistentVolumeClaimStatus | None = None
    """Observed state of the claim."""


class PersistentVolumeClaimTemplate(Model):
    """Template for a claim that is created for each pod."""

    spec: PersistentVolumeClaimSpec
    """The storage that the claim requests."""
    metadata: ObjectMeta | None = None
    """Labels and annotations for the claim."""
