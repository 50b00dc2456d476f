"""
Simulated storage: claims are bound and DataVolumes populated at once, and no data is stored.

Simulated storage is used with simulated guests. Without a launcher, claims stay Pending until another component binds
them.
"""

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume, DataVolumeCondition, DataVolumeStatus
from virtshape.api.core.claim import PersistentVolumeClaim, PersistentVolumeClaimStatus
from virtshape.api.ownerreferences import is_controlled_by
from virtshape.api.status import StatusError
from virtshape.api.times import Clock, format_time
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.claimspec import build_claim
from virtshape.controllers.storage.datavolumestatus import is_finished, stamp_condition
from virtshape.controllers.storage.uploads import mark_simulated
from virtshape.engine.claims import is_filled, is_upload_target


class SimulatedStorageReconciler:
    """Reconciles claims and DataVolumes without storage; with `bind_claims`, also reports claims as bound."""

    def __init__(
        self, client: Client, cache: Cache, recorder: EventRecorder, clock: Clock, *, bind_claims: bool
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._bind_claims = bind_claims

    async def reconcile_data_volume(self, name: Name) -> Result:
        """Create the claim of a DataVolume and report success once the claim is bound."""
        volume = self._cache.find(DataVolume, name.name, name.namespace)
        if volume is None or volume.metadata.deletion_timestamp is not None:
            return DONE
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None:
            claim = await self._make_claim(volume, name)
        if not is_controlled_by(claim.metadata, volume) and not is_finished(volume):
            message = f"PersistentVolumeClaim {name.name} already exists and is not owned by this DataVolume"
            self._recorder.event(volume, "ErrClaimNotValid", message, warning=True)
            return DONE
        status = describe_data_volume(volume, claim, format_time(self._clock()))
        if status != volume.status:
            await self._client.update_status(replace(volume, status=status))
        return DONE

    async def reconcile_claim(self, name: Name) -> Result:
        """Report a claim as bound if `bind_claims` is set, otherwise as pending."""
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return DONE
        if (
            self._bind_claims
            and is_upload_target(claim, self._cache.find(DataVolume, name.name, name.namespace))
            and not is_filled(claim)
        ):
            claim = await self._client.update(replace(claim, metadata=mark_simulated(claim)))
        status = describe_claim(claim, bound=self._bind_claims)
        if status != claim.status:
            await self._client.update_status(replace(claim, status=status))
        return DONE

    async def _make_claim(self, volume: DataVolume, name: Name) -> PersistentVolumeClaim:
        wanted = build_claim(volume, is_simulated=True)
        try:
            made = await self._client.create(wanted)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            return await self._client.get(PersistentVolumeClaim, name.name, name.namespace)
        self._recorder.event(volume, "Pending", f"created PersistentVolumeClaim {name.name}")
        return made


def describe_claim(claim: PersistentVolumeClaim, *, bound: bool) -> PersistentVolumeClaimStatus:
    """Return the status of a simulated claim: bound with the requested size and access modes, or pending."""
    before = claim.status or PersistentVolumeClaimStatus()
    if before.phase == "Bound":
        return before
    if not bound:
        return replace(before, phase=before.phase or "Pending")
    resources = claim.spec.resources if claim.spec else None
    return replace(
        before,
        phase="Bound",
        access_modes=list(claim.spec.access_modes) if claim.spec and claim.spec.access_modes else None,
        capacity=resources.requests if resources else None,
    )


def describe_data_volume(volume: DataVolume, claim: PersistentVolumeClaim, stamp: str) -> DataVolumeStatus:
    """Return the status of a simulated DataVolume: succeeded once its claim is bound."""
    before = volume.status or DataVolumeStatus()
    if is_finished(volume):
        return before
    bound = claim.status is not None and claim.status.phase == "Bound"
    status = "True" if bound else "False"
    conditions = [
        DataVolumeCondition("Bound", status, reason="Bound" if bound else "Pending"),
        DataVolumeCondition("Ready", status),
        DataVolumeCondition("Running", "False", reason="Completed" if bound else None),
    ]
    return replace(
        before,
        claim_name=claim.metadata.name,
        phase="Succeeded" if bound else "Pending",
        progress="100.0%" if bound else "N/A",
        conditions=[stamp_condition(before, condition, stamp) for condition in conditions],
    )
