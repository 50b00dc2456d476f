"""
Snapshot controller: create and remove volume snapshots.

A snapshot waits until no instance writes to the volume.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from virtshape.api.quantity import Quantity
from virtshape.api.snapshot import VolumeSnapshot, VolumeSnapshotError, VolumeSnapshotStatus
from virtshape.api.times import Clock, format_time
from virtshape.api.wellknown import SNAPSHOT_PROTECTION
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.protocol import Copy, Storage
from virtshape.controllers.storage.sources import CopySource, SourceProblem, find_writers, get_claim_source

POLL_SECONDS: Final = 1.0
WAIT_SECONDS: Final = 5.0


class SnapshotReconciler:
    """Reconciles snapshots through a client and the storage that has their data; `wake` requeues a snapshot."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        recorder: EventRecorder,
        clock: Clock,
        storage: Storage,
        wake: Callable[[Name], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._storage = storage
        self._wake = wake
        self._started: set[Name] = set()

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one snapshot."""
        snapshot = self._cache.find(VolumeSnapshot, name.name, name.namespace)
        if snapshot is None:
            self._started.discard(name)
            return DONE
        if snapshot.metadata.deletion_timestamp is not None:
            return await self._finalize(snapshot)
        claim = snapshot.spec.source.persistent_volume_claim_name
        if claim is None or (snapshot.status is not None and snapshot.status.ready_to_use):
            return DONE
        if SNAPSHOT_PROTECTION not in (snapshot.metadata.finalizers or ()):
            finalizers = [*(snapshot.metadata.finalizers or ()), SNAPSHOT_PROTECTION]
            metadata = replace(snapshot.metadata, finalizers=finalizers)
            snapshot = await self._client.update(replace(snapshot, metadata=metadata))
        return await self._take(name, snapshot, claim)

    async def _take(self, name: Name, snapshot: VolumeSnapshot, claim: str) -> Result:
        found = get_claim_source(claim, name.namespace, self._cache)
        if isinstance(found, CopySource) and isinstance(found.source, Copy) and name not in self._started:
            writers = find_writers(found.source, self._cache)
            found = SourceProblem("InUse", f"the claim is in use by {writers}: stop it first") if writers else found
        if isinstance(found, SourceProblem) or not isinstance(found.source, Copy):
            await self._fail(snapshot, found.message if isinstance(found, SourceProblem) else "the claim has no volume")
            return Result(after=WAIT_SECONDS)
        self._started.add(name)
        content = name_content(snapshot)
        work = await self._storage.take_snapshot(content, str(name), found.source.volume, lambda: self._wake(name))
        if work.state == "failed":
            self._started.discard(name)
            await self._storage.remove_snapshot(content)
            await self._fail(snapshot, work.message)
            return Result(after=WAIT_SECONDS)
        if work.state != "done":
            return Result(after=POLL_SECONDS)
        status = VolumeSnapshotStatus(
            bound_volume_snapshot_content_name=content,
            creation_time=format_time(self._clock()),
            ready_to_use=True,
            restore_size=Quantity.of(found.size, "BinarySI"),
        )
        await self._client.update_status(replace(snapshot, status=status))
        self._recorder.event(snapshot, "SnapshotReady", f"the snapshot of claim {claim} is ready")
        return DONE

    async def _fail(self, snapshot: VolumeSnapshot, message: str) -> None:
        """Report why the snapshot is not ready, once per message."""
        before = snapshot.status or VolumeSnapshotStatus()
        if before.error is not None and before.error.message == message:
            return
        error = VolumeSnapshotError(message, format_time(self._clock()))
        await self._client.update_status(replace(snapshot, status=replace(before, ready_to_use=False, error=error)))
        self._recorder.event(snapshot, "SnapshotPending", message, warning=True)

    async def _finalize(self, snapshot: VolumeSnapshot) -> Result:
        metadata = snapshot.metadata
        held = metadata.finalizers or []
        if SNAPSHOT_PROTECTION not in held:
            return DONE
        await self._storage.remove_snapshot(name_content(snapshot))
        left = [one for one in held if one != SNAPSHOT_PROTECTION]
        await self._client.update(replace(snapshot, metadata=replace(metadata, finalizers=left or None)))
        return DONE


def name_content(snapshot: VolumeSnapshot) -> str:
    """Return the name of the snapshot in storage."""
    return f"snapcontent-{snapshot.metadata.uid}"
