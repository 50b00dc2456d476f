"""Structs of snapshot.storage.k8s.io/v1: volume snapshots."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model, Time
from virtshape.api.quantity import Quantity


class VolumeSnapshotSource(Model):
    """Source of a snapshot; exactly one field must be set."""

    persistent_volume_claim_name: str | None = None
    """Name of the claim to take a snapshot of."""
    volume_snapshot_content_name: str | None = None
    """Name of an existing VolumeSnapshotContent to bind to."""


class VolumeSnapshotSpec(Model):
    """Desired state of the snapshot."""

    source: VolumeSnapshotSource
    """Source of the snapshot."""
    volume_snapshot_class_name: str | None = None
    """Snapshot class; the driver's default if absent."""


class VolumeSnapshotError(Model):
    """The last error of a snapshot."""

    message: str | None = None
    """Human-readable details of the error."""
    time: Time | None = None
    """When the error occurred."""


class VolumeSnapshotStatus(Model):
    """Observed state of the snapshot."""

    bound_volume_snapshot_content_name: str | None = None
    """Name of the VolumeSnapshotContent that the snapshot is bound to."""
    creation_time: Time | None = None
    """When the snapshot was taken."""
    error: VolumeSnapshotError | None = None
    """The last error, if any."""
    ready_to_use: bool | None = None
    """Whether a volume can be restored from the snapshot."""
    restore_size: Quantity | None = None
    """Minimum size of a volume that is restored from the snapshot."""
    volume_group_snapshot_name: str | None = None
    """The group snapshot that the snapshot is part of."""


class VolumeSnapshot(KubernetesObject, kw_only=True):
    """A point-in-time copy of a volume."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `VolumeSnapshot`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VolumeSnapshotSpec
    """Desired state of the snapshot."""
    status: VolumeSnapshotStatus | None = None
    """Observed state of the snapshot."""
