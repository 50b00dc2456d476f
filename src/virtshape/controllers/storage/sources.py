"""
Resolve the sources of claims and DataVolumes: DataSources, claims and snapshots.

All objects are read from the cache. A problem is marked final if waiting cannot help.
"""

from typing import Final

from msgspec import Struct

from virtshape.api.cdi import DataSource, DataSourceSource, DataVolumeSource, DataVolumeSpec
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.claimspec import PersistentVolumeClaimSpec
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.storage.claimusage import format_users, list_claim_users, list_claim_uses
from virtshape.controllers.storage.protocol import Copy, Restore
from virtshape.controllers.storage.volumeobjects import read_volume
from virtshape.engine.claims import is_bound, is_bound_to, is_filled, volume_size

MAX_CHAIN_LENGTH: Final = 8


class SourceProblem(Struct, frozen=True):
    """Why a source cannot be used; `final` is True if waiting does not help."""

    reason: str
    message: str
    final: bool = False


class CopySource(Struct, frozen=True):
    """A source to copy: its volume or snapshot, its size, and the metadata of its object."""

    source: Copy | Restore
    size: int
    metadata: ObjectMeta


def resolve_source(spec: DataVolumeSpec, namespace: str, cache: Cache) -> DataVolumeSource | SourceProblem:
    """Return the source of a DataVolume, with `sourceRef` resolved, or a problem."""
    if spec.source is not None:
        return spec.source
    reference = spec.source_ref
    if reference is None:
        return SourceProblem("NoSource", "the DataVolume has neither source nor sourceRef", final=True)
    if reference.kind != "DataSource":
        message = f"sourceRef refers to a {reference.kind}: only DataSource is supported"
        return SourceProblem("NotSupported", message, final=True)
    found = resolve_data_source(reference.name, reference.namespace or namespace, cache)
    return found if isinstance(found, SourceProblem) else DataVolumeSource(pvc=found.pvc, snapshot=found.snapshot)


def resolve_data_source(name: str, namespace: str, cache: Cache) -> DataSourceSource | SourceProblem:
    """Return the source that a DataSource refers to, directly or through other DataSources, or a problem."""
    for _ in range(MAX_CHAIN_LENGTH):
        found = cache.find(DataSource, name, namespace)
        if found is None:
            return SourceProblem("NotFound", f"DataSource {namespace}/{name} not found")
        following = found.spec.source.data_source
        if following is None:
            return found.spec.source
        name, namespace = following.name, following.namespace or namespace
    return SourceProblem(
        "MaxReferenceDepth", f"DataSources refer to each other more than {MAX_CHAIN_LENGTH} times, up to {name}"
    )


def find_copy_source(
    source: DataVolumeSource | DataSourceSource, namespace: str, cache: Cache
) -> CopySource | SourceProblem | None:
    """Return the volume or snapshot of a source, or a problem; None if the source is neither a claim nor a snapshot."""
    if source.pvc is not None:
        return get_claim_source(source.pvc.name, source.pvc.namespace or namespace, cache)
    if source.snapshot is not None:
        return get_snapshot_source(source.snapshot.name, source.snapshot.namespace or namespace, cache)
    return None


def get_claim_source(name: str, namespace: str, cache: Cache) -> CopySource | SourceProblem:
    """Return a claim's volume as a source, or a problem."""
    claim = cache.find(PersistentVolumeClaim, name, namespace)
    if claim is None or claim.metadata.deletion_timestamp is not None:
        return SourceProblem("NotFound", f"PersistentVolumeClaim {namespace}/{name} not found")
    volume = cache.find(PersistentVolume, (claim.spec.volume_name if claim.spec else None) or "")
    if volume is None or not is_bound(claim) or not is_bound_to(claim, volume):
        return SourceProblem("Pending", f"PersistentVolumeClaim {namespace}/{name} is not bound yet")
    if not is_filled(claim):
        return SourceProblem("NotReady", f"PersistentVolumeClaim {namespace}/{name} is not populated yet")
    return CopySource(Copy(read_volume(volume)), volume_size(volume), claim.metadata)


def find_writers(origin: Copy, cache: Cache) -> str:
    """Return the instances that may write to a volume, formatted for messages; an empty string if there are none."""
    volume = cache.find(PersistentVolume, origin.volume.name)
    reference = volume.spec.claim_ref if volume is not None and volume.spec is not None else None
    claim = cache.find(PersistentVolumeClaim, reference.name or "", reference.namespace or "") if reference else None
    if claim is None:
        return ""
    name = claim.metadata.name
    users = list_claim_users(cache, claim)
    return format_users(
        [vmi for vmi in users if any(use.claim == name and not use.read_only for use in list_claim_uses(vmi))]
    )


def get_snapshot_source(name: str, namespace: str, cache: Cache) -> CopySource | SourceProblem:
    """Return a snapshot as a source, or a problem."""
    snapshot = cache.find(VolumeSnapshot, name, namespace)
    if snapshot is None or snapshot.metadata.deletion_timestamp is not None:
        return SourceProblem("NotFound", f"VolumeSnapshot {namespace}/{name} not found")
    status = snapshot.status
    if status is None or not status.ready_to_use or not status.bound_volume_snapshot_content_name:
        return SourceProblem("NotReady", f"VolumeSnapshot {namespace}/{name} is not ready to use yet")
    size = (status.restore_size or Quantity("0")).value()
    return CopySource(Restore(status.bound_volume_snapshot_content_name), size, snapshot.metadata)


def find_claim_data_source(claim: PersistentVolumeClaim, cache: Cache) -> Copy | Restore | SourceProblem | None:
    """Return the data source of a claim, or a problem; None if the claim has no data source."""
    spec = claim.spec or PersistentVolumeClaimSpec()
    asked = spec.data_source or spec.data_source_ref
    if asked is None:
        return None
    namespace = claim.metadata.namespace or ""
    elsewhere = spec.data_source_ref.namespace if spec.data_source_ref is not None else None
    if elsewhere not in (None, "", namespace):
        message = f"a claim cannot use a data source in another namespace ({elsewhere}): use a DataVolume"
        return SourceProblem("ProvisioningFailed", message, final=True)
    match asked.api_group or "", asked.kind:
        case "", "PersistentVolumeClaim":
            found = get_claim_source(asked.name, namespace, cache)
        case "snapshot.storage.k8s.io", "VolumeSnapshot":
            found = get_snapshot_source(asked.name, namespace, cache)
        case group, kind:
            what = f"{kind}.{group}" if group else kind
            return SourceProblem("ProvisioningFailed", f"data sources of kind {what} are not supported", final=True)
    return (
        found.source
        if isinstance(found, CopySource)
        else SourceProblem("ProvisioningFailed", found.message, final=found.final)
    )
