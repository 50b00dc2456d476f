"""
Claim controller: bind claims to volumes, provision and expand volumes, and protect claims in use.

The PersistentVolume object is created before its data, so that data always has an owner.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from virtshape.api.core.claim import PersistentVolumeClaim, PersistentVolumeClaimStatus
from virtshape.api.core.claimspec import PersistentVolumeClaimSpec
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.api.storage import StorageClass
from virtshape.api.wellknown import BIND_COMPLETED, BOUND_BY_CONTROLLER, CLAIM_PROTECTION, PROVISIONER
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.binding import Bind, Lost, Provision, Wait, decide_binding
from virtshape.controllers.storage.claimusage import format_users, list_claim_users
from virtshape.controllers.storage.protocol import Copy, FillRequest, Storage, StorageError
from virtshape.controllers.storage.sources import SourceProblem, find_claim_data_source, find_writers
from virtshape.controllers.storage.volumeobjects import (
    BY_RESERVATION,
    FREE,
    build_volume,
    is_provisioned_by,
    plan_volume,
    read_volume,
    refer_to_claim,
)
from virtshape.engine.claims import (
    STORAGE,
    class_name,
    find_default_class,
    is_bound,
    is_for,
    requested_size,
    volume_size,
)

RETRY_SECONDS: Final = 10.0
POLL_SECONDS: Final = 1.0


class ClaimReconciler:
    """Reconciles claims through a client and the storage that provisions volumes; `wake` requeues a claim."""

    def __init__(
        self, client: Client, cache: Cache, recorder: EventRecorder, storage: Storage, wake: Callable[[Name], None]
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._storage = storage
        self._wake = wake
        self._reported: dict[Name, str] = {}
        self._started: set[Name] = set()

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one claim."""
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None:
            self._reported.pop(name, None)
            self._started.discard(name)
            return DONE
        if claim.metadata.deletion_timestamp is not None:
            return await self._finalize(name, claim)
        claim = await self._complete(claim)
        if is_bound(claim) or (claim.status is not None and claim.status.phase == "Lost"):
            return await self._keep(name, claim)
        return await self._bind_or_provision(name, claim)

    async def _complete(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Add the finalizer, and the default volume mode and storage class if unset; return the claim."""
        metadata, spec = claim.metadata, claim.spec or PersistentVolumeClaimSpec()
        default = find_default_class(self._cache.list(StorageClass)) if class_name(claim) is None else None
        finalizers = metadata.finalizers or []
        if CLAIM_PROTECTION not in finalizers:
            metadata = replace(metadata, finalizers=[*finalizers, CLAIM_PROTECTION])
        if spec.volume_mode is None:
            spec = replace(spec, volume_mode="Filesystem")
        if default is not None and not spec.volume_name:
            annotations = {**(metadata.annotations or {}), PROVISIONER: default.provisioner}
            metadata = replace(metadata, annotations=annotations)
            spec = replace(spec, storage_class_name=default.metadata.name)
        completed = replace(claim, metadata=metadata, spec=spec)
        return claim if completed == claim else await self._client.update(completed)

    async def _bind_or_provision(self, name: Name, claim: PersistentVolumeClaim) -> Result:
        """Bind an unbound claim or provision its volume; otherwise report what the claim waits for."""
        step = decide_binding(
            claim,
            self._cache.list(StorageClass),
            self._list_volumes(claim),
            self._storage.provisioner,
            has_consumer=bool(self._list_claim_users(claim)),
        )
        match step:
            case Bind(volume=wanted):
                volume = self._cache.find(PersistentVolume, wanted)
                return await self._bind(name, claim, volume) if volume is not None else Result(after=POLL_SECONDS)
            case Provision(of=of):
                return await self._provision(name, claim, of)
            case Lost(message=message):
                self._report(name, claim, "ClaimLost", message, warning=True)
                await self._write_status(claim, describe_unbound(claim, "Lost"))
            case Wait(reason=reason, message=message, warning=warning):
                self._report(name, claim, reason, message, warning=warning)
                await self._write_status(claim, describe_unbound(claim, "Pending"))
        return DONE

    async def _provision(self, name: Name, claim: PersistentVolumeClaim, of: StorageClass) -> Result:
        """Create the volume object for the claim, and bind the claim to it."""
        planned = plan_volume(claim)
        wanted = build_volume(claim, of, self._storage.locate(planned))
        try:
            volume = await self._client.create(wanted)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            volume = await self._client.get(PersistentVolume, planned.name)
        return await self._bind(name, claim, volume)

    async def _bind(self, name: Name, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Result:
        """Reserve the volume, populate it if it was just provisioned in this storage, and then bind the claim to it."""
        metadata, spec = claim.metadata, claim.spec or PersistentVolumeClaimSpec()
        if not is_for(volume, claim) or not (volume.spec and volume.spec.claim_ref and volume.spec.claim_ref.uid):
            reserved = replace(volume.spec, claim_ref=refer_to_claim(claim)) if volume.spec else None
            volume = await self._client.update(replace(volume, spec=reserved))
        if is_provisioned_by(volume, self._storage.provisioner) and not spec.volume_name:
            waiting = await self._fill_new(name, claim, volume)
            if waiting is not None:
                return waiting
        bound_name = volume.metadata.name
        if spec.volume_name != bound_name or BIND_COMPLETED not in (metadata.annotations or {}):
            marks = {BIND_COMPLETED: "yes"} | ({} if spec.volume_name else {BOUND_BY_CONTROLLER: "yes"})
            metadata = replace(metadata, annotations={**(metadata.annotations or {}), **marks})
            bound = replace(claim, metadata=metadata, spec=replace(spec, volume_name=bound_name))
            claim = await self._client.update(bound)
            self._recorder.event(claim, "ProvisioningSucceeded", f"bound to volume {bound_name}")
        self._reported.pop(name, None)
        await self._write_status(claim, describe_bound(claim, volume))
        return DONE

    async def _fill_new(self, name: Name, claim: PersistentVolumeClaim, volume: PersistentVolume) -> Result | None:
        """Create and populate a new volume; return None if the volume is complete, or else when to try again."""
        kept = read_volume(volume)
        try:
            await self._storage.make(kept)
        except StorageError as error:
            self._report(name, claim, "ProvisioningFailed", str(error), warning=True)
            return Result(after=RETRY_SECONDS)
        origin = find_claim_data_source(claim, self._cache)
        if origin is None:
            return None
        writers = find_writers(origin, self._cache) if isinstance(origin, Copy) and name not in self._started else ""
        if writers:
            origin = SourceProblem("ProvisioningFailed", f"the data source of the claim is in use by {writers}")
        if isinstance(origin, SourceProblem):
            self._report(name, claim, origin.reason, origin.message, warning=True)
            return Result(after=RETRY_SECONDS)
        self._started.add(name)
        work = await self._storage.fill(
            kept.name, str(name), kept, FillRequest(source=origin), 0, lambda: self._wake(name)
        )
        if work.state == "failed":
            self._report(name, claim, "ProvisioningFailed", work.message, warning=True)
            self._started.discard(name)
            await self._storage.forget(kept.name)
            return Result(after=RETRY_SECONDS)
        return None if work.state == "done" else Result(after=POLL_SECONDS)

    async def _keep(self, name: Name, claim: PersistentVolumeClaim) -> Result:
        """Check that a bound or lost claim still has its volume, and expand the volume if requested."""
        volume_name = (claim.spec.volume_name if claim.spec else None) or ""
        volume = self._cache.find(PersistentVolume, volume_name)
        if volume is None or not is_for(volume, claim):
            return await self._bind_or_provision(name, claim) if await self._has_lost(claim, volume_name) else DONE
        if find_claim_data_source(claim, self._cache) is not None:
            # The job's record prevents populating the volume twice, so it is removed only after the claim is bound.
            await self._storage.forget(volume_name)
        if is_too_small(claim, volume):
            volume = await self._grow(name, claim, volume)
        await self._write_status(claim, describe_bound(claim, volume))
        return DONE

    async def _has_lost(self, claim: PersistentVolumeClaim, volume_name: str) -> bool:
        """Return True if the server confirms that the volume is missing or belongs to another claim."""
        try:
            volume = await self._client.get(PersistentVolume, volume_name)
        except StatusError as error:
            if error.code != 404:
                raise
            return True
        return not is_for(volume, claim)

    async def _grow(self, name: Name, claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolume:
        """Expand the volume to the requested size if possible; return the volume."""
        of = self._cache.find(StorageClass, (volume.spec.storage_class_name if volume.spec else None) or "")
        if not is_provisioned_by(volume, self._storage.provisioner) or of is None or not of.allow_volume_expansion:
            message = "the volume cannot be expanded: its storage class does not exist or does not allow it"
            self._report(name, claim, "VolumeResizeFailed", message, warning=True)
            return volume
        larger = enlarge(claim, volume)
        try:
            await self._storage.make(read_volume(larger))
        except StorageError as error:
            self._report(name, claim, "VolumeResizeFailed", str(error), warning=True)
            return volume
        volume = await self._client.update(larger)
        size = volume.spec.capacity["storage"] if volume.spec and volume.spec.capacity else "?"
        seen = "; running guests see the new size after a restart" if self._list_claim_users(claim) else ""
        self._recorder.event(claim, "VolumeResizeSuccessful", f"the volume was expanded to {size}{seen}")
        return volume

    async def _finalize(self, name: Name, claim: PersistentVolumeClaim) -> Result:
        """Remove the finalizer of a deleted claim once it is not in use."""
        metadata = claim.metadata
        if CLAIM_PROTECTION not in (metadata.finalizers or ()):
            return DONE
        users = self._list_claim_users(claim)
        if users:
            self._report(
                name, claim, "InUse", f"deletion waits until the claim is not in use: used by {format_users(users)}"
            )
            return DONE
        left = [one for one in metadata.finalizers or () if one != CLAIM_PROTECTION]
        await self._client.update(replace(claim, metadata=replace(metadata, finalizers=left or None)))
        return DONE

    def _list_claim_users(self, claim: PersistentVolumeClaim) -> list[VirtualMachineInstance]:
        return list_claim_users(self._cache, claim)

    def _list_volumes(self, claim: PersistentVolumeClaim) -> dict[str, PersistentVolume]:
        """Return volumes by name: the volume that the claim refers to, or else all that are free or reserved for it."""
        named = claim.spec.volume_name if claim.spec else None
        if named:
            found = self._cache.find(PersistentVolume, named)
            return {named: found} if found is not None else {}
        metadata = claim.metadata
        possible = [
            *self._cache.find_by(PersistentVolume, BY_RESERVATION, f"{metadata.namespace}/{metadata.name}"),
            *self._cache.find_by(PersistentVolume, BY_RESERVATION, FREE),
        ]
        return {one.metadata.name or "": one for one in possible}

    async def _write_status(self, claim: PersistentVolumeClaim, status: PersistentVolumeClaimStatus) -> None:
        if status != claim.status:
            await self._client.update_status(replace(claim, status=status))

    def _report(
        self, name: Name, claim: PersistentVolumeClaim, reason: str, message: str, *, warning: bool = False
    ) -> None:
        """Record an event about the claim, unless the last event had the same message."""
        if self._reported.get(name) != message:
            self._reported[name] = message
            self._recorder.event(claim, reason, message, warning=warning)


def describe_bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaimStatus:
    """Return the status of a claim bound to this volume."""
    before = claim.status or PersistentVolumeClaimStatus()
    offered = volume.spec
    return replace(
        before,
        phase="Bound",
        access_modes=list(offered.access_modes) if offered and offered.access_modes else None,
        capacity=dict(offered.capacity) if offered and offered.capacity else None,
    )


def describe_unbound(claim: PersistentVolumeClaim, phase: str) -> PersistentVolumeClaimStatus:
    """Return the status of a claim without a volume."""
    return replace(claim.status or PersistentVolumeClaimStatus(), phase=phase)


def is_too_small(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return True if the claim requests more than the size of its volume."""
    wanted = requested_size(claim)
    return wanted is not None and wanted.value() > volume_size(volume)


def enlarge(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolume:
    """Return the volume with the size that the claim requests."""
    wanted = requested_size(claim)
    if volume.spec is None or wanted is None:
        return volume
    return replace(volume, spec=replace(volume.spec, capacity={**(volume.spec.capacity or {}), STORAGE: wanted}))
