"""
Storage controllers: set up informers, work queues and reconcilers.

There are three variants: local storage, simulated storage, and none on clusters, which have their own controllers.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.api.cdi import DataSource, DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.core.quota import ResourceQuota
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import Model
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.api.storage import StorageClass
from virtshape.api.times import Clock
from virtshape.client.cache import Change, key_of
from virtshape.client.informer import Informers
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import Loop, Name
from virtshape.controllers.storage.claims import ClaimReconciler
from virtshape.controllers.storage.claimusage import list_claim_keys
from virtshape.controllers.storage.datasources import DataSourceReconciler
from virtshape.controllers.storage.datavolumes import DataVolumeReconciler
from virtshape.controllers.storage.datavolumestatus import is_finished
from virtshape.controllers.storage.persistentvolumes import VolumeReconciler
from virtshape.controllers.storage.protocol import Storage
from virtshape.controllers.storage.quotas import QuotaReconciler
from virtshape.controllers.storage.simulated import SimulatedStorageReconciler
from virtshape.controllers.storage.snapshots import SnapshotReconciler
from virtshape.controllers.storage.uploads import UploadReconciler
from virtshape.controllers.storage.volumeobjects import BY_RESERVATION, FREE, list_reservations
from virtshape.engine.claims import is_bound

_BY_SOURCE: Final = "origin"
_BY_BINDING: Final = "binding"
_UNBOUND: Final = "unbound"
_BY_NAMESPACE: Final = "namespace"


class ExternalStorageControllers:
    """No controllers: the cluster's controllers handle claims and DataVolumes."""

    loops: tuple[Loop, ...] = ()

    async def drop_stale_jobs(self) -> None:
        """Do nothing: the cluster's controllers have no jobs in this process."""


class SimulatedStorageControllers:
    """Controllers of simulated claims and DataVolumes; with `bind_claims`, claims are reported as bound."""

    def __init__(
        self, client: Client, informers: Informers, recorder: EventRecorder, clock: Clock, *, bind_claims: bool = False
    ) -> None:
        simulated = SimulatedStorageReconciler(client, informers, recorder, clock, bind_claims=bind_claims)
        self._informers = informers
        self.claims = Loop("claim", simulated.reconcile_claim)
        self.data_volumes = Loop("datavolume", simulated.reconcile_data_volume)
        self.data_sources = Loop("datasource", DataSourceReconciler(client, informers, clock).reconcile)
        self.loops: tuple[Loop, ...] = (self.claims, self.data_volumes, self.data_sources)
        self._watch()

    async def drop_stale_jobs(self) -> None:
        """Do nothing: simulated storage has no jobs."""

    def _watch(self) -> None:
        add = self._informers.add
        add(DataVolume).handle(lambda change: self.data_volumes.queue.add(key_of(change.item)))
        add(PersistentVolumeClaim).handle(self._on_claim_change)
        add(VolumeSnapshot).handle(lambda change: self._on_source_change(change.item))
        add(DataSource, {_BY_SOURCE: list_data_source_targets}).handle(self._on_data_source_change)

    def _on_claim_change(self, change: Change[PersistentVolumeClaim]) -> None:
        self.claims.queue.add(key_of(change.item))
        self.data_volumes.queue.add(key_of(change.item))
        self._on_source_change(change.item)

    def _on_data_source_change(self, change: Change[DataSource]) -> None:
        self.data_sources.queue.add(key_of(change.item))
        self._on_source_change(change.item)

    def _on_source_change(self, item: Model) -> None:
        for place in self._informers.find_keys_by(DataSource, _BY_SOURCE, format_source_key(item)):
            self.data_sources.queue.add(place)


class StorageControllers:
    """Controllers of claims, volumes, DataVolumes, snapshots, uploads, data sources and quotas, with local storage."""

    def __init__(
        self, client: Client, informers: Informers, recorder: EventRecorder, clock: Clock, storage: Storage
    ) -> None:
        claims = ClaimReconciler(client, informers, recorder, storage, self._wake_claim)
        filling = DataVolumeReconciler(client, informers, recorder, clock, storage, self._wake_data_volume)
        snapshots = SnapshotReconciler(client, informers, recorder, clock, storage, self._wake_snapshot)
        uploads = UploadReconciler(client, informers, recorder, storage, self._wake_upload)
        self._informers = informers
        self._storage = storage
        self.claims = Loop("claim", claims.reconcile)
        self.volumes = Loop("volume", VolumeReconciler(client, informers, recorder, clock, storage).reconcile)
        self.data_volumes = Loop("datavolume", filling.reconcile)
        self.snapshots = Loop("snapshot", snapshots.reconcile)
        self.uploads = Loop("upload", uploads.reconcile)
        self.data_sources = Loop("datasource", DataSourceReconciler(client, informers, clock).reconcile)
        self.quotas = Loop("quota", QuotaReconciler(client, informers).reconcile)
        self.loops = (
            self.claims,
            self.volumes,
            self.data_volumes,
            self.snapshots,
            self.data_sources,
            self.uploads,
            self.quotas,
        )
        self._watch()

    async def drop_stale_jobs(self) -> None:
        """Cancel the jobs of objects that no longer exist or have finished; the informers must have synced before."""
        volumes = {metadata_of(one).uid or "" for one in self._informers.list(DataVolume) if not is_finished(one)}
        claimed = {place.name for place in self._informers.list_keys(PersistentVolume)}
        await self._storage.keep_only(volumes | claimed)

    def _wake_claim(self, name: Name) -> None:
        self.claims.queue.add(name)

    def _wake_data_volume(self, name: Name) -> None:
        self.data_volumes.queue.add(name)

    def _wake_snapshot(self, name: Name) -> None:
        self.snapshots.queue.add(name)

    def _wake_upload(self, name: Name) -> None:
        self.uploads.queue.add(name)

    def _watch(self) -> None:
        add = self._informers.add
        add(StorageClass).handle(lambda _: self._enqueue_unbound())
        add(PersistentVolume, {BY_RESERVATION: list_reservations}).handle(self._on_volume_change)
        indexes = {_BY_BINDING: _binding_of, _BY_SOURCE: list_claim_data_sources}
        add(PersistentVolumeClaim, indexes).handle(self._on_claim_change)
        add(VirtualMachineInstance).handle(self._on_vmi_change)
        add(ResourceQuota, {_BY_NAMESPACE: _namespace_of}).handle(
            lambda change: self.quotas.queue.add(key_of(change.item))
        )
        add(DataVolume, {_BY_SOURCE: list_data_volume_sources}).handle(self._on_data_volume_change)
        add(VolumeSnapshot).handle(self._on_snapshot_change)
        add(DataSource, {_BY_SOURCE: list_data_source_targets}).handle(self._on_data_source_change)

    def _on_volume_change(self, change: Change[PersistentVolume]) -> None:
        self.volumes.queue.add(key_of(change.item))
        for reserved in list_reservations(change.item):
            if reserved == FREE:
                self._enqueue_unbound()
            else:
                self.claims.queue.add(Name(*reserved.split("/", 1)))
                self.data_volumes.queue.add(Name(*reserved.split("/", 1)))

    def _on_claim_change(self, change: Change[PersistentVolumeClaim]) -> None:
        place = key_of(change.item)
        self.claims.queue.add(place)
        self.data_volumes.queue.add(place)
        self.uploads.queue.add(place)
        self._enqueue_quotas(place)
        for volume in self._informers.find_keys_by(PersistentVolume, BY_RESERVATION, str(place)):
            self.volumes.queue.add(volume)
        self._on_source_change(change.item)

    def _on_vmi_change(self, change: Change[VirtualMachineInstance]) -> None:
        if change.type != "RESYNCED":
            for key in list_claim_keys(change.item):
                self.claims.queue.add(Name(*key.split("/", 1)))
                self._enqueue_copies(f"{PersistentVolumeClaim.__name__} {key}")

    def _enqueue_quotas(self, place: Name) -> None:
        for quota in self._informers.find_keys_by(ResourceQuota, _BY_NAMESPACE, place.namespace):
            self.quotas.queue.add(quota)

    def _on_data_volume_change(self, change: Change[DataVolume]) -> None:
        self.data_volumes.queue.add(key_of(change.item))
        self._enqueue_quotas(key_of(change.item))

    def _on_snapshot_change(self, change: Change[VolumeSnapshot]) -> None:
        self.snapshots.queue.add(key_of(change.item))
        self._enqueue_quotas(key_of(change.item))
        self._on_source_change(change.item)

    def _on_data_source_change(self, change: Change[DataSource]) -> None:
        self.data_sources.queue.add(key_of(change.item))
        self._on_source_change(change.item)

    def _on_source_change(self, item: Model) -> None:
        """Enqueue all objects that are populated from this object or refer to it."""
        origin = format_source_key(item)
        for place in self._informers.find_keys_by(DataSource, _BY_SOURCE, origin):
            self.data_sources.queue.add(place)
        for place in self._informers.find_keys_by(DataVolume, _BY_SOURCE, origin):
            self.data_volumes.queue.add(place)
        for place in self._informers.find_keys_by(PersistentVolumeClaim, _BY_SOURCE, origin):
            self.claims.queue.add(place)

    def _enqueue_copies(self, origin: str) -> None:
        """Enqueue DataVolumes that are populated from a source, directly or through a DataSource."""
        sources = self._informers.find_keys_by(DataSource, _BY_SOURCE, origin)
        for one in (origin, *(f"{DataSource.__name__} {place}" for place in sources)):
            for place in self._informers.find_keys_by(DataVolume, _BY_SOURCE, one):
                self.data_volumes.queue.add(place)

    def _enqueue_unbound(self) -> None:
        for place in self._informers.find_keys_by(PersistentVolumeClaim, _BY_BINDING, _UNBOUND):
            self.claims.queue.add(place)


def format_source_key(item: Model) -> str:
    """Return the index key of an object that claims or DataVolumes are populated from."""
    return f"{type(item).__name__} {key_of(item)}"


def list_data_source_targets(source: DataSource) -> list[str]:
    """Return the index key of the object that a DataSource refers to, as a list that may be empty."""
    namespace, origin = key_of(source).namespace, source.spec.source
    if origin.pvc is not None:
        return [f"PersistentVolumeClaim {origin.pvc.namespace or namespace}/{origin.pvc.name}"]
    if origin.snapshot is not None:
        return [f"VolumeSnapshot {origin.snapshot.namespace or namespace}/{origin.snapshot.name}"]
    if origin.data_source is not None:
        return [f"DataSource {origin.data_source.namespace or namespace}/{origin.data_source.name}"]
    return []


def list_data_volume_sources(volume: DataVolume) -> list[str]:
    """Return the index key of a DataVolume's source, as a list that may be empty."""
    namespace, source, reference = key_of(volume).namespace, volume.spec.source, volume.spec.source_ref
    if source is not None and source.pvc is not None:
        return [f"PersistentVolumeClaim {source.pvc.namespace or namespace}/{source.pvc.name}"]
    if source is not None and source.snapshot is not None:
        return [f"VolumeSnapshot {source.snapshot.namespace or namespace}/{source.snapshot.name}"]
    if reference is not None:
        return [f"{reference.kind} {reference.namespace or namespace}/{reference.name}"]
    return []


def list_claim_data_sources(claim: PersistentVolumeClaim) -> list[str]:
    """Return the index key of an unbound claim's data source, as a list that may be empty."""
    spec = claim.spec
    asked = (spec.data_source or spec.data_source_ref) if spec is not None else None
    return [f"{asked.kind} {key_of(claim).namespace}/{asked.name}"] if asked is not None and not is_bound(claim) else []


def _namespace_of(quota: ResourceQuota) -> Iterable[str]:
    return (key_of(quota).namespace,)


def _binding_of(claim: PersistentVolumeClaim) -> Iterable[str]:
    return () if is_bound(claim) else (_UNBOUND,)
