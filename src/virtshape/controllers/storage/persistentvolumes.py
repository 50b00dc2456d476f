"""
Volume controller: update the status of volumes and reclaim those whose claims were deleted.

A claim that is not in the cache is requested from the server before its volume is removed.
"""

from msgspec.structs import replace

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.status import StatusError
from virtshape.api.times import Clock, format_time
from virtshape.api.wellknown import KEEPS_BYTES, VOLUME_PROTECTION
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.claims import RETRY_SECONDS
from virtshape.controllers.storage.protocol import Storage, StorageError
from virtshape.controllers.storage.volumeobjects import (
    decide_phase,
    describe_volume,
    is_deleted_with_claim,
    is_provisioned_by,
)


class VolumeReconciler:
    """Reconciles persistent volumes through a client and the storage that has their data."""

    def __init__(self, client: Client, cache: Cache, recorder: EventRecorder, clock: Clock, storage: Storage) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._storage = storage

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one volume; delete a released volume if its reclaim policy is Delete."""
        volume = self._cache.find(PersistentVolume, name.name)
        if volume is None:
            return DONE
        phase = decide_phase(volume, await self._find_claim(volume))
        status = describe_volume(volume, phase, format_time(self._clock()))
        if status != volume.status:
            volume = await self._client.update_status(replace(volume, status=status))
        metadata = volume.metadata
        if metadata.deletion_timestamp is not None:
            return await self._finalize(volume) if phase != "Bound" else DONE
        is_ours = is_provisioned_by(volume, self._storage.provisioner)
        if phase == "Released" and is_ours and is_deleted_with_claim(volume):
            await self._client.delete(PersistentVolume, name.name, uid=metadata.uid or "")
        return DONE

    async def _find_claim(self, volume: PersistentVolume) -> PersistentVolumeClaim | None:
        """Return the claim that a volume refers to, or None."""
        reference = volume.spec.claim_ref if volume.spec else None
        if reference is None:
            return None
        name, namespace = reference.name or "", reference.namespace or ""
        found = self._cache.find(PersistentVolumeClaim, name, namespace)
        if found is not None and found.metadata.uid == reference.uid:
            return found
        try:
            return await self._client.get(PersistentVolumeClaim, name, namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def _finalize(self, volume: PersistentVolume) -> Result:
        """Remove the finalizers of a deleted volume, and before that its data if the reclaim policy is Delete."""
        metadata = volume.metadata
        held = metadata.finalizers or []
        if KEEPS_BYTES in held and is_deleted_with_claim(volume):
            try:
                await self._storage.remove(metadata.name or "")
            except StorageError as error:
                self._recorder.event(volume, "VolumeFailedDelete", str(error), warning=True)
                return Result(after=RETRY_SECONDS)
        left = [one for one in held if one not in (VOLUME_PROTECTION, KEEPS_BYTES)]
        if left != held:
            await self._client.update(replace(volume, metadata=replace(metadata, finalizers=left or None)))
        return DONE
