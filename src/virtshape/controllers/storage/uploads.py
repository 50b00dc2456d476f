"""
Upload controller: populate claims with data that clients upload.

A rejected upload is discarded and reported; the claim then waits for the next upload.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.meta import ObjectMeta, find_annotation
from virtshape.api.wellknown import POD_PHASE, POD_READY, POD_RESTARTS, RUNNING_MESSAGE, UPLOAD_TARGET
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.claimusage import format_users, list_claim_users
from virtshape.controllers.storage.protocol import FillRequest, Storage, Upload
from virtshape.controllers.storage.volumeobjects import is_provisioned_by, read_volume
from virtshape.controllers.vmi.phases import phase_of
from virtshape.engine.claims import (
    FILLED,
    count_failures,
    find_upload_key,
    get_content,
    is_bound,
    is_bound_to,
    is_upload_target,
)

POLL_SECONDS: Final = 1.0
WAIT_SECONDS: Final = 5.0
RECEIVING: Final = "Running"


class UploadReconciler:
    """Reconciles claims that are populated by uploads; `wake` requeues a claim."""

    def __init__(
        self, client: Client, cache: Cache, recorder: EventRecorder, storage: Storage, wake: Callable[[Name], None]
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._storage = storage
        self._wake = wake
        self._cleaned_up: set[Name] = set()
        self._reported: dict[Name, str] = {}

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one claim."""
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            self._cleaned_up.discard(name)
            self._reported.pop(name, None)
            return DONE
        data_volume = self._cache.find(DataVolume, name.name, name.namespace)
        if not is_upload_target(claim, data_volume) or not is_bound(claim):
            return DONE
        volume = self._cache.find(PersistentVolume, (claim.spec.volume_name if claim.spec else None) or "")
        if volume is None or not is_bound_to(claim, volume):
            return Result(after=POLL_SECONDS)
        key = find_upload_key(claim, data_volume, volume)
        if find_annotation(claim.metadata, POD_PHASE) == FILLED:
            return await self._clean_up(name, key)
        self._cleaned_up.discard(name)
        return await self._receive(name, claim, volume, key)

    async def _clean_up(self, name: Name, key: str) -> Result:
        """Remove the data of the finished job, unless that was done before."""
        if name not in self._cleaned_up:
            await self._storage.forget(key)
            self._cleaned_up.add(name)
        return DONE

    async def _receive(self, name: Name, claim: PersistentVolumeClaim, volume: PersistentVolume, key: str) -> Result:
        obstacle = self._find_obstacle(claim, volume)
        if obstacle:
            self._report(name, claim, "UploadNotPossible", obstacle)
            await self._mark(claim, mark_waiting(claim))
            return Result(after=WAIT_SECONDS)
        request = FillRequest(source=Upload(), content=get_content(claim))
        work = await self._storage.fill(key, str(name), read_volume(volume), request, 0, lambda: self._wake(name))
        if work.state == "done":
            await self._mark(claim, mark_filled(claim))
            self._recorder.event(claim, "UploadSucceeded", "the upload was written to the claim")
            return await self._clean_up(name, key)
        if work.state == "failed":
            self._report(name, claim, "UploadFailed", work.message)
            await self._mark(claim, mark_failed(claim, work.message))
            await self._storage.forget(key)
        else:
            await self._mark(claim, mark_ready(claim))
        return Result(after=POLL_SECONDS)

    def _find_obstacle(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> str:
        """Return the reason why data cannot be uploaded to the claim now, or an empty string if there is none."""
        if not is_provisioned_by(volume, self._storage.provisioner):
            return f"the volume was not provisioned by {self._storage.provisioner}: uploads to it are not supported"
        users = [user for user in list_claim_users(self._cache, claim) if phase_of(user) == "Running"]
        return f"the claim is in use by {format_users(users)}" if users else ""

    async def _mark(self, claim: PersistentVolumeClaim, metadata: ObjectMeta) -> None:
        if metadata != claim.metadata:
            await self._client.update(replace(claim, metadata=metadata))

    def _report(self, name: Name, claim: PersistentVolumeClaim, reason: str, message: str) -> None:
        if self._reported.get(name) != message:
            self._reported[name] = message
            self._recorder.event(claim, reason, message, warning=True)


def mark_ready(claim: PersistentVolumeClaim) -> ObjectMeta:
    """Return the claim's metadata, with annotations that mark the claim as ready for uploads."""
    return _annotate(claim, {POD_PHASE: RECEIVING, POD_READY: "true"})


def mark_waiting(claim: PersistentVolumeClaim) -> ObjectMeta:
    """Return the claim's metadata, with annotations that mark the claim as not ready for uploads yet."""
    return _annotate(claim, {POD_PHASE: "Pending", POD_READY: "false"})


def mark_filled(claim: PersistentVolumeClaim) -> ObjectMeta:
    """Return the claim's metadata, with annotations that mark the claim as populated."""
    marks = {POD_PHASE: FILLED}
    if find_annotation(claim.metadata, UPLOAD_TARGET) is not None:
        marks[POD_READY] = "false"
    kept = {key: text for key, text in _annotations(claim).items() if key != RUNNING_MESSAGE}
    return replace(claim.metadata, annotations=kept | marks)


def mark_simulated(claim: PersistentVolumeClaim) -> ObjectMeta:
    """Return the claim's metadata, with annotations that mark the claim as populated and as ready for uploads."""
    return _annotate(claim, {POD_PHASE: FILLED, POD_READY: "true"})


def mark_failed(claim: PersistentVolumeClaim, message: str) -> ObjectMeta:
    """Return the claim's metadata, with annotations that report a rejected upload."""
    count = str(count_failures(claim.metadata) + 1)
    return _annotate(
        claim,
        {POD_PHASE: RECEIVING, POD_READY: "true", POD_RESTARTS: count, RUNNING_MESSAGE: message},
    )


def _annotate(claim: PersistentVolumeClaim, marks: dict[str, str]) -> ObjectMeta:
    return replace(claim.metadata, annotations=_annotations(claim) | marks)


def _annotations(claim: PersistentVolumeClaim) -> dict[str, str]:
    return claim.metadata.annotations or {}
