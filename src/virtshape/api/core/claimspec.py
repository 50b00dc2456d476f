"""
Structs for the spec of persistent volume claims, and for references to claims.

The structs are those of Kubernetes, with one more volume mode for data volumes.
"""

from typing import Literal

from virtshape.api.meta import LabelSelector
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class PersistentVolumeClaimVolumeSource(Model):
    """A claim used as a volume."""

    claim_name: str
    """Name of the PersistentVolumeClaim, in the same namespace."""
    read_only: bool | None = None
    """Whether the claim is mounted read-only."""


class TypedLocalObjectReference(Model):
    """A reference to an object of any kind in the same namespace."""

    name: str
    """Name of the referenced object."""
    kind: str
    """Kind of the referenced object."""
    api_group: str | None = None
    """The kind's API group; absent for the core group."""


class TypedObjectReference(Model):
    """A reference to an object of any kind, possibly in another namespace."""

    name: str
    """Name of the referenced object."""
    kind: str
    """Kind of the referenced object."""
    api_group: str | None = None
    """The kind's API group; absent for the core group."""
    namespace: str | None = None
    """The object's namespace, which must grant the reference; the claim's namespace by default."""


class VolumeResourceRequirements(Model):
    """Requested amount of storage."""

    requests: dict[str, Quantity] | None = None
    """Minimum amounts by resource; `storage` is the size, such as 30Gi."""
    limits: dict[str, Quantity] | None = None
    """Maximum amounts by resource."""


class PersistentVolumeClaimSpec(Model):
    """The storage that a claim requests."""

    resources: VolumeResourceRequirements | None = None
    """Size of the requested volume."""
    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    """Access modes; live migration needs ReadWriteMany."""
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None
    """Filesystem (default), Block for a raw device, or FromStorageProfile to use the mode in the storage profile."""
    storage_class_name: str | None = None
    """Storage class; absent for the default class, empty for volumes without a class."""
    data_source: TypedLocalObjectReference | None = None
    """A VolumeSnapshot or claim in this namespace to populate the volume from."""
    data_source_ref: TypedObjectReference | None = None
    """An object to populate the volume from, of any kind that has a populator, possibly in another namespace."""
    selector: LabelSelector | None = None
    """Selects existing volumes by label; no new volume is provisioned."""
    volume_name: str | None = None
    """Name of an existing PersistentVolume to bind to."""
    volume_attributes_class_name: str | None = None
    """Class of mutable attributes, such as I/O rates; can be changed later, unlike the storage class."""
