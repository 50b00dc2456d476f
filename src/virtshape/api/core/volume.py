"""
Structs of the spec of persistent volume claims, and of references to claims.

They are Kubernetes' structs, plus the volume mode that data volumes add.
"""

from typing import Literal

from virtshape.api.meta import LabelSelector
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class PersistentVolumeClaimVolumeSource(Model):
    """A claim used as a volume."""

    claim_name: str
    """The PersistentVolumeClaim to use, in the VM's namespace."""
    read_only: bool | None = None
    """Set true to mount the claim read-only."""


class TypedLocalObjectReference(Model):
    """A reference to an object of any kind in the same namespace."""

    name: str
    """The object's name."""
    kind: str
    """The object's kind."""
    api_group: str | None = None
    """The kind's API group; absent for the core group."""


class TypedObjectReference(Model):
    """A reference to an object of any kind, possibly in another namespace."""

    name: str
    """The object's name."""
    kind: str
    """The object's kind."""
    api_group: str | None = None
    """The kind's API group; absent for the core group."""
    namespace: str | None = None
    """The object's namespace, which must grant the reference; the claim's own by default."""


class VolumeResourceRequirements(Model):
    """Requested amount of storage."""

    requests: dict[str, Quantity] | None = None
    """The minimum; `storage` is the size, such as 30Gi."""
    limits: dict[str, Quantity] | None = None
    """The maximum."""


class PersistentVolumeClaimSpec(Model):
    """The storage that a claim requests."""

    resources: VolumeResourceRequirements | None = None
    """Size of the requested volume."""
    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    """Access modes; live migration needs ReadWriteMany."""
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None
    """Filesystem (default) or a raw Block device; FromStorageProfile leaves it to the storage class."""
    storage_class_name: str | None = None
    """Storage class; absent for the default class, empty for volumes without a class."""
    data_source: TypedLocalObjectReference | None = None
    """A VolumeSnapshot or claim in this namespace to populate the volume from."""
    data_source_ref: TypedObjectReference | None = None
    """Like dataSource, but of any kind with a populator, also in other namespaces."""
    selector: LabelSelector | None = None
    """Selects existing volumes by label; no new volume is provisioned."""
    volume_name: str | None = None
    """Bind to the PersistentVolume with this name."""
    volume_attributes_class_name: str | None = None
    """Class of mutable attributes, such as I/O rates; can be changed later, unlike the storage class."""
