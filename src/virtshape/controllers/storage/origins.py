"""
Where the content of claims and DataVolumes comes from, followed to its end: data sources, claims, snapshots.

Reads what is at hand, and nothing else. What is not there yet is told apart from what never will be.
"""

from typing import Final

from msgspec import Struct

from virtshape.api.cdi import DataSource, DataSourceSource, DataVolumeSource, DataVolumeSpec
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.core.volume import PersistentVolumeClaimSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.storage.binding import is_bound_to, volume_size
from virtshape.controllers.storage.claimstatus import is_bound, is_filled
from virtshape.controllers.storage.protocol import Copy, Restore
from virtshape.controllers.storage.uses import list_users, list_uses, name_users
from virtshape.controllers.storage.volumes import read_volume

LONGEST_CHAIN: Final = 8


class NotYet(Struct, frozen=True):
    """What an origin waits for; `final` if waiting is no use."""

    reason: str
    message: str
    final: bool = False


class Found(Struct, frozen=True):
    """An origin that can be copied, its size, and the object whose labels say what it is."""

    origin: Copy | Restore
    size: int
    metadata: ObjectMeta


def follow_source(spec: DataVolumeSpec, namespace: str, cache: Cache) -> DataVolumeSource | NotYet:
    """The source of a DataVolume; for one that names a data source, what that stands for."""
    if spec.source is not None:
        return spec.source
    reference = spec.source_ref
    if reference is None:
        return NotYet("NoSource", "the DataVolume says neither source nor sourceRef", final=True)
    if reference.kind != "DataSource":
        words = f"sourceRef is to a {reference.kind}, and only a DataSource can be"
        return NotYet("NotSupported", words, final=True)
    found = follow_data_source(reference.name, reference.namespace or namespace, cache)
    return found if isinstance(found, NotYet) else DataVolumeSource(pvc=found.pvc, snapshot=found.snapshot)


def follow_data_source(name: str, namespace: str, cache: Cache) -> DataSourceSource | NotYet:
    """The claim or snapshot that a data source stands for, over all that stand in between."""
    for _ in range(LONGEST_CHAIN):
        found = cache.find(DataSource, name, namespace)
        if found is None:
            return NotYet("NotFound", f"DataSource {namespace}/{name} is not there")
        following = found.spec.source.data_source
        if following is None:
            return found.spec.source
        name, namespace = following.name, following.namespace or namespace
    return NotYet("MaxReferenceDepth", f"DataSources refer to each other more than {LONGEST_CHAIN} times, up to {name}")


def find_copied(source: DataVolumeSource | DataSourceSource, namespace: str, cache: Cache) -> Found | NotYet | None:
    """The volume or snapshot that a source means; None if the source is neither a claim nor a snapshot."""
    if source.pvc is not None:
        return find_copied_claim(source.pvc.name, source.pvc.namespace or namespace, cache)
    if source.snapshot is not None:
        return find_copied_snapshot(source.snapshot.name, source.snapshot.namespace or namespace, cache)
    return None


def find_copied_claim(name: str, namespace: str, cache: Cache) -> Found | NotYet:
    """A claim whose volume can be copied."""
    claim = cache.find(PersistentVolumeClaim, name, namespace)
    if claim is None or claim.metadata is None or claim.metadata.deletion_timestamp is not None:
        return NotYet("NotFound", f"PersistentVolumeClaim {namespace}/{name} is not there")
    volume = cache.find(PersistentVolume, (claim.spec.volume_name if claim.spec else None) or "")
    if volume is None or not is_bound(claim) or not is_bound_to(claim, volume):
        return NotYet("Pending", f"PersistentVolumeClaim {namespace}/{name} is not bound yet")
    if not is_filled(claim):
        return NotYet("NotReady", f"PersistentVolumeClaim {namespace}/{name} is not filled yet")
    return Found(Copy(read_volume(volume)), volume_size(volume), claim.metadata)


def find_writers(origin: Copy, cache: Cache) -> str:
    """The instances that may write to a volume while it is copied, for people; empty if there are none."""
    volume = cache.find(PersistentVolume, origin.volume.name)
    reference = volume.spec.claim_ref if volume is not None and volume.spec is not None else None
    claim = cache.find(PersistentVolumeClaim, reference.name or "", reference.namespace or "") if reference else None
    if claim is None:
        return ""
    name = (claim.metadata or ObjectMeta()).name
    users = list_users(cache, claim)
    return name_users([vmi for vmi in users if any(use.claim == name and not use.reads for use in list_uses(vmi))])


def find_copied_snapshot(name: str, namespace: str, cache: Cache) -> Found | NotYet:
    """A snapshot that can be restored."""
    snapshot = cache.find(VolumeSnapshot, name, namespace)
    if snapshot is None or snapshot.metadata is None or snapshot.metadata.deletion_timestamp is not None:
        return NotYet("NotFound", f"VolumeSnapshot {namespace}/{name} is not there")
    status = snapshot.status
    if status is None or not status.ready_to_use or not status.bound_volume_snapshot_content_name:
        return NotYet("NotReady", f"VolumeSnapshot {namespace}/{name} is not ready to use yet")
    size = (status.restore_size or Quantity("0")).value()
    return Found(Restore(status.bound_volume_snapshot_content_name), size, snapshot.metadata)


def find_claim_origin(claim: PersistentVolumeClaim, cache: Cache) -> Copy | Restore | NotYet | None:
    """What a claim itself asks to be filled from; None if it does not."""
    spec = claim.spec or PersistentVolumeClaimSpec()
    asked = spec.data_source or spec.data_source_ref
    if asked is None:
        return None
    namespace = (claim.metadata or ObjectMeta()).namespace or ""
    elsewhere = spec.data_source_ref.namespace if spec.data_source_ref is not None else None
    if elsewhere not in (None, "", namespace):
        words = f"a claim cannot be filled from another namespace ({elsewhere}): use a DataVolume"
        return NotYet("ProvisioningFailed", words, final=True)
    match asked.api_group or "", asked.kind:
        case "", "PersistentVolumeClaim":
            found = find_copied_claim(asked.name, namespace, cache)
        case "snapshot.storage.k8s.io", "VolumeSnapshot":
            found = find_copied_snapshot(asked.name, namespace, cache)
        case group, kind:
            what = f"{kind}.{group}" if group else kind
            return NotYet("ProvisioningFailed", f"nothing here fills claims from a {what}", final=True)
    return found.origin if isinstance(found, Found) else NotYet("ProvisioningFailed", found.message, final=found.final)
