"""
Controllers of volumes, as far as names, phases and ownership go: DataVolumes get claims, data sources get ready.

Moves no bytes. Where storage is only played, claims are bound and volumes filled at once; otherwise they wait for
something that provides storage.
"""

from msgspec.structs import replace

from virtshape.api.cdi import (
    DataSource,
    DataSourceCondition,
    DataSourceStatus,
    DataVolume,
    DataVolumeCondition,
    DataVolumeStatus,
)
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.core.claim import PersistentVolumeClaim, PersistentVolumeClaimStatus
from virtshape.api.core.volume import PersistentVolumeClaimSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.control.cache import Cache
from virtshape.control.clock import Clock, format_time
from virtshape.control.events import Recorder
from virtshape.control.loop import DONE, Name, Result
from virtshape.control.ownership import is_controlled_by, make_owner_reference


class VolumeReconciler:
    """Reconciles DataVolumes, claims and data sources over a client; `plays` if storage is only played."""

    def __init__(self, client: Client, cache: Cache, recorder: Recorder, clock: Clock, *, plays: bool) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._plays = plays

    async def reconcile_data_volume(self, name: Name) -> Result:
        """See to it that a DataVolume has its claim, and say how far it is."""
        volume = self._cache.find(DataVolume, name.name, name.namespace)
        if volume is None or volume.metadata is None or volume.metadata.deletion_timestamp is not None:
            return DONE
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None:
            claim = await self._make_claim(volume)
        if not is_controlled_by(claim.metadata, volume) and not _is_filled(volume):
            words = f"a claim {name.name} is there that is not this DataVolume's"
            self._recorder.tell(volume, "ErrClaimNotValid", words, warning=True)
            return DONE
        status = describe_data_volume(volume, claim, format_time(self._clock()))
        if status != volume.status:
            await self._client.update_status(replace(volume, status=status))
        return DONE

    async def reconcile_claim(self, name: Name) -> Result:
        """Bind a claim where storage is only played."""
        claim = self._cache.find(PersistentVolumeClaim, name.name, name.namespace)
        if claim is None or claim.metadata is None or claim.metadata.deletion_timestamp is not None:
            return DONE
        status = describe_claim(claim, bound=self._plays)
        if status != claim.status:
            await self._client.update_status(replace(claim, status=status))
        return DONE

    async def reconcile_data_source(self, name: Name) -> Result:
        """Say whether what a data source stands for is there."""
        source = self._cache.find(DataSource, name.name, name.namespace)
        if source is None or source.metadata is None or source.metadata.deletion_timestamp is not None:
            return DONE
        status = describe_data_source(source, self._cache, format_time(self._clock()))
        if status != source.status:
            await self._client.update_status(replace(source, status=status))
        return DONE

    async def _make_claim(self, volume: DataVolume) -> PersistentVolumeClaim:
        wanted = build_claim(volume)
        try:
            made = await self._client.create(wanted)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            metadata = wanted.metadata or ObjectMeta()
            return await self._client.get(PersistentVolumeClaim, metadata.name or "", metadata.namespace or "")
        self._recorder.tell(
            volume, "Pending", f"created PersistentVolumeClaim {wanted.metadata and wanted.metadata.name}"
        )
        return made


def build_claim(volume: DataVolume) -> PersistentVolumeClaim:
    """The claim of a DataVolume: of the same name, with its labels and annotations, owned by it."""
    metadata = volume.metadata or ObjectMeta()
    return PersistentVolumeClaim(
        api_version="v1",
        kind="PersistentVolumeClaim",
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            labels=metadata.labels,
            annotations=metadata.annotations,
            owner_references=[make_owner_reference(volume)],
        ),
        spec=_claim_spec(volume),
    )


def _claim_spec(volume: DataVolume) -> PersistentVolumeClaimSpec:
    if volume.spec.pvc is not None:
        return volume.spec.pvc
    asked = volume.spec.storage
    spec = from_tree(to_tree(asked), PersistentVolumeClaimSpec) if asked else PersistentVolumeClaimSpec()
    return spec if spec.access_modes else replace(spec, access_modes=["ReadWriteOnce"])


def describe_claim(claim: PersistentVolumeClaim, *, bound: bool) -> PersistentVolumeClaimStatus:
    """How a claim is: bound with all it asks for, or waiting."""
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
    """How far a DataVolume is: filled once its claim is bound, which only played storage does by itself."""
    before = volume.status or DataVolumeStatus()
    if _is_filled(volume):
        return before
    bound = claim.status is not None and claim.status.phase == "Bound"
    name = claim.metadata.name if claim.metadata else None
    conditions = [
        _stamp_volume(
            before, DataVolumeCondition("Bound", _truth(bound), reason="Bound" if bound else "Pending"), stamp
        ),
        _stamp_volume(before, DataVolumeCondition("Ready", _truth(bound)), stamp),
        _stamp_volume(before, DataVolumeCondition("Running", "False", reason="Completed" if bound else None), stamp),
    ]
    return replace(
        before,
        claim_name=name,
        phase="Succeeded" if bound else "Pending",
        progress="100.0%" if bound else "N/A",
        conditions=conditions,
    )


def describe_data_source(source: DataSource, cache: Cache, stamp: str) -> DataSourceStatus:
    """Whether a data source can be used."""
    origin = source.spec.source
    namespace = (source.metadata.namespace if source.metadata else None) or ""
    found: object = None
    named = "nothing"
    if origin.pvc is not None:
        named = f"PVC {origin.pvc.name}"
        found = cache.find(PersistentVolumeClaim, origin.pvc.name, origin.pvc.namespace or namespace)
    elif origin.snapshot is not None:
        named = f"snapshot {origin.snapshot.name}"
        found = cache.find(VolumeSnapshot, origin.snapshot.name, origin.snapshot.namespace or namespace)
    elif origin.data_source is not None:
        named = f"DataSource {origin.data_source.name}"
        found = cache.find(DataSource, origin.data_source.name, origin.data_source.namespace or namespace)
    ready = found is not None
    words = "DataSource is ready to be consumed" if ready else f"{named} is not there"
    wanted = DataSourceCondition("Ready", _truth(ready), message=words, reason="Ready" if ready else "NotFound")
    before = source.status or DataSourceStatus()
    old = next((one for one in before.conditions or () if one.type == "Ready"), None)
    since = old.last_transition_time if old is not None and old.status == wanted.status else stamp
    others = [one for one in before.conditions or () if one.type != "Ready"]
    return replace(before, source=origin, conditions=[*others, replace(wanted, last_transition_time=since)])


def _stamp_volume(before: DataVolumeStatus, wanted: DataVolumeCondition, stamp: str) -> DataVolumeCondition:
    old = next((one for one in before.conditions or () if one.type == wanted.type), None)
    since = old.last_transition_time if old is not None and old.status == wanted.status else stamp
    return replace(wanted, last_transition_time=since)


def _is_filled(volume: DataVolume) -> bool:
    return volume.status is not None and volume.status.phase == "Succeeded"


def _truth(holds: bool) -> str:
    return "True" if holds else "False"
