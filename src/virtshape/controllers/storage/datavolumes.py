"""
DataVolume controller: create claims for DataVolumes, populate them and report progress.

Failed transfers are retried with back-off; a transfer that can never succeed is not retried.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume, DataVolumeSource
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.meta import ObjectMeta
from virtshape.api.ownerreferences import is_controlled_by, make_owner_reference
from virtshape.api.status import StatusError
from virtshape.api.storage import StorageClass
from virtshape.api.times import Clock, format_time
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.binding import waits_for_consumer
from virtshape.controllers.storage.claimspec import (
    build_claim,
    can_adopt,
    fills_itself,
    inherit_defaults,
    states_size,
)
from virtshape.controllers.storage.claimusage import list_claim_users
from virtshape.controllers.storage.datavolumestatus import (
    FAILED,
    SUCCEEDED,
    DataVolumeObservation,
    get_transfer_method,
    is_finished,
    make_data_volume_status,
    retry_delay,
)
from virtshape.controllers.storage.fillrequests import build_fill_request, make_fill_request
from virtshape.controllers.storage.protocol import Copy, FillRequest, Storage, Upload
from virtshape.controllers.storage.sources import (
    CopySource,
    SourceProblem,
    find_copy_source,
    find_writers,
    resolve_source,
)
from virtshape.controllers.storage.uploads import mark_filled, mark_ready, mark_waiting
from virtshape.controllers.storage.volumeobjects import read_volume
from virtshape.engine.claims import class_name, count_attempts, find_default_class, is_bound, is_bound_to, is_filled

POLL_SECONDS: Final = 1.0
WAIT_SECONDS: Final = 5.0
QUOTA_RETRY_SECONDS: Final = 60.0
"""Delay before a DataVolume whose claim exceeds a quota is tried again."""


class DataVolumeReconciler:
    """Reconciles DataVolumes through a client and the storage that populates them; `wake` requeues a DataVolume."""

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
        self._keys: dict[Name, str] = {}
        self._started: set[Name] = set()
        self._pauses: dict[Name, tuple[float, float]] = {}
        """The beginning and the end of the pause before the next attempt."""

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one DataVolume."""
        volume = self._cache.find(DataVolume, name.name, name.namespace)
        if volume is None or volume.metadata.deletion_timestamp is not None:
            await self._forget(name)
            return DONE
        if is_finished(volume):
            await self._forget(name)
            return DONE
        now = self._clock()
        since, until = self._pauses.get(name, (0.0, 0.0))
        if since <= now < until:  # the clock may have been set back
            return Result(after=until - now)
        self._keys[name] = volume.metadata.uid or ""
        return await self._advance(name, volume)

    def _wait(self, name: Name, seconds: float) -> None:
        now = self._clock()
        self._pauses[name] = now, now + seconds

    async def _forget(self, name: Name) -> None:
        self._pauses.pop(name, None)
        self._started.discard(name)
        key = self._keys.pop(name, None)
        if key is not None:
            await self._storage.forget(key)

    async def _advance(self, name: Name, volume: DataVolume) -> Result:
        source = resolve_source(volume.spec, name.namespace, self._cache) if not fills_itself(volume) else None
        known = source if isinstance(source, DataVolumeSource) else None
        seen = DataVolumeObservation(method=get_transfer_method(known))
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None:
            claim = await self._make_claim(name, volume, source, seen)
        elif not is_controlled_by(claim.metadata, volume):
            claim = await self._adopt(volume, claim, seen)
        seen.claim = claim
        if claim is not None and not is_bound(claim):
            seen.waits_for_consumer = self._waits(claim)
        elif claim is not None and (is_filled(claim) or await self._fill(name, volume, claim, source, seen)):
            seen.filled = True
            volume = await self._label(volume, known, seen.claim or claim)
        return await self._report(name, volume, seen)

    async def _make_claim(
        self,
        name: Name,
        volume: DataVolume,
        source: DataVolumeSource | SourceProblem | None,
        seen: DataVolumeObservation,
    ) -> PersistentVolumeClaim | None:
        """Create the claim of the DataVolume; return None while the size is unknown or a problem prevents creation."""
        origin, size = None, None
        if isinstance(source, SourceProblem) and (source.final or not states_size(volume)):
            seen.problem = source
            return None
        if isinstance(source, DataVolumeSource):
            copied = find_copy_source(source, name.namespace, self._cache)
            origin = copied.metadata if isinstance(copied, CopySource) else None
            if not states_size(volume):
                size = await self._measure(name, volume, source, copied, seen)
                if size is None:
                    return None
        wanted = build_claim(volume, size, origin)
        try:
            made = await self._client.create(wanted)
        except StatusError as error:
            if error.reason == "Forbidden" and "exceeded quota" in error.message:
                # Remove the data that was fetched to measure its size, because no quota counts that data.
                await self._storage.forget(self._keys[name])
                self._wait(name, QUOTA_RETRY_SECONDS)
                seen.problem = SourceProblem("ErrExceededQuota", error.message)
                return None
            if error.reason != "AlreadyExists":
                raise
            return await self._client.get(PersistentVolumeClaim, name.name, name.namespace)
        self._recorder.event(volume, "Pending", f"created PersistentVolumeClaim {name.name}")
        return made

    async def _measure(
        self,
        name: Name,
        volume: DataVolume,
        source: DataVolumeSource,
        copied: CopySource | SourceProblem | None,
        seen: DataVolumeObservation,
    ) -> int | None:
        """Return the size of the DataVolume's source; while unknown, record the reason in `seen` and return None."""
        if isinstance(copied, SourceProblem):
            seen.problem = copied
            return None
        if isinstance(copied, CopySource):
            return copied.size
        if source.blank is not None:
            message = "no size is set: set spec.storage.resources.requests.storage"
            seen.problem = SourceProblem("SizeMissing", message, final=True)
            return None
        request = await build_fill_request(volume, source, self._client)
        if isinstance(request, SourceProblem):
            seen.problem = request
            return None
        work = await self._storage.measure(
            self._keys[name], str(name), request, count_attempts(volume), lambda: self._wake(name)
        )
        if work.state == "done":
            return work.size
        seen.work = work
        return None

    async def _adopt(
        self, volume: DataVolume, claim: PersistentVolumeClaim, seen: DataVolumeObservation
    ) -> PersistentVolumeClaim | None:
        """Adopt an existing claim and return it; if that is not allowed, record the problem and return None."""
        if not can_adopt(volume, claim):
            name = claim.metadata.name
            message = f"PersistentVolumeClaim {name} already exists and is not owned by this DataVolume"
            seen.problem = SourceProblem("ErrClaimNotValid", message)
            return None
        metadata = claim.metadata
        owners = [*(metadata.owner_references or ()), make_owner_reference(volume)]
        return await self._client.update(replace(claim, metadata=replace(metadata, owner_references=owners)))

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        name = class_name(claim)
        of = self._cache.find(StorageClass, name) if name else None
        of = of or (find_default_class(self._cache.list(StorageClass)) if name is None else None)
        return of is not None and waits_for_consumer(claim, of, has_consumer=bool(list_claim_users(self._cache, claim)))

    async def _fill(
        self,
        name: Name,
        volume: DataVolume,
        claim: PersistentVolumeClaim,
        source: DataVolumeSource | SourceProblem | None,
        seen: DataVolumeObservation,
    ) -> bool:
        """Start or continue to populate the claim and record the progress in `seen`; return True if populated."""
        target = self._cache.find(PersistentVolume, (claim.spec.volume_name if claim.spec else None) or "")
        if target is None or not is_bound_to(claim, target):
            return False
        request = source if isinstance(source, SourceProblem) else await self._order(name, volume, source)
        if isinstance(request, SourceProblem):
            seen.problem = request
            return False
        self._started.add(name)
        seen.work = await self._storage.fill(
            self._keys[name], str(name), read_volume(target), request, count_attempts(volume), lambda: self._wake(name)
        )
        if seen.work.state == "done":
            defaults = await self._storage.read_image_defaults(self._keys[name])
            inherited = inherit_defaults(claim.metadata, ObjectMeta(labels=defaults.labels))
            seen.claim = await self._mark(claim, _add_labels(mark_filled(claim), inherited))
            for message in defaults.ignored:
                self._recorder.event(volume, "ImageDefaultIgnored", message, warning=True)
        elif isinstance(request.source, Upload):
            await self._mark(claim, mark_waiting(claim) if seen.work.state == "failed" else mark_ready(claim))
        return seen.work.state == "done"

    async def _mark(self, claim: PersistentVolumeClaim, metadata: ObjectMeta) -> PersistentVolumeClaim:
        """Update the claim's metadata, and return the claim."""
        return await self._client.update(replace(claim, metadata=metadata)) if metadata != claim.metadata else claim

    async def _label(
        self, volume: DataVolume, source: DataVolumeSource | None, claim: PersistentVolumeClaim
    ) -> DataVolume:
        """Copy the defaults of an imported container image from the claim to the DataVolume; return the DataVolume."""
        if source is None or source.registry is None:
            return volume
        metadata = _add_labels(volume.metadata, inherit_defaults(volume.metadata, claim.metadata))
        if metadata == volume.metadata:
            return volume
        return await self._client.update(replace(volume, metadata=metadata))

    async def _order(
        self, name: Name, volume: DataVolume, source: DataVolumeSource | None
    ) -> FillRequest | SourceProblem:
        if source is None:
            return SourceProblem("NoSource", "the DataVolume has neither source nor sourceRef", final=True)
        copied = find_copy_source(source, name.namespace, self._cache)
        if copied is None:
            return await build_fill_request(volume, source, self._client)
        if isinstance(copied, SourceProblem):
            return copied
        writers = find_writers(copied.source, self._cache) if isinstance(copied.source, Copy) else ""
        if writers and name not in self._started:
            return SourceProblem("CloneSourceInUse", f"the source is in use by {writers}")
        return make_fill_request(volume, copied.source)

    async def _report(self, name: Name, volume: DataVolume, seen: DataVolumeObservation) -> Result:
        """Write the status of the DataVolume and return when to check it again."""
        before = volume.status
        status = make_data_volume_status(volume, seen, format_time(self._clock()))
        if status != before:
            volume = await self._client.update_status(replace(volume, status=status))
            self._report_progress(volume, (before.phase if before else None) or "", seen)
        if status.phase in (SUCCEEDED, FAILED):
            return DONE
        if seen.work is not None and seen.work.state == "failed":
            pause = retry_delay(count_attempts(volume) - 1)
            self._wait(name, pause)
            self._started.discard(name)
            return Result(after=pause)
        if seen.work is not None:
            return Result(after=POLL_SECONDS)
        return Result(after=WAIT_SECONDS)

    def _report_progress(self, volume: DataVolume, before: str, seen: DataVolumeObservation) -> None:
        """Record an event if the work failed, there is a problem, or the DataVolume entered a phase with a message."""
        phase = (volume.status.phase if volume.status else None) or ""
        if seen.work is not None and seen.work.state == "failed":
            self._recorder.event(volume, "Error", seen.work.message, warning=True)
        elif seen.problem is not None:
            self._recorder.event(volume, seen.problem.reason, seen.problem.message, warning=True)
        elif phase != before and phase in _MESSAGES:
            self._recorder.event(volume, phase, _MESSAGES[phase])


def _add_labels(metadata: ObjectMeta, added: ObjectMeta) -> ObjectMeta:
    return replace(metadata, labels={**(metadata.labels or {}), **added.labels}) if added.labels else metadata


_MESSAGES: Final = {
    "PVCBound": "the claim is bound",
    "WaitForFirstConsumer": "waiting for the first consumer of the claim",
    "ImportScheduled": "the import is scheduled",
    "ImportInProgress": "the import has started",
    "CloneScheduled": "the clone is scheduled",
    "CloneInProgress": "the clone has started",
    "UploadScheduled": "the upload server is being prepared",
    "UploadReady": "ready for an upload",
    "Succeeded": "the volume is populated",
    "Failed": "the volume cannot be populated",
}
