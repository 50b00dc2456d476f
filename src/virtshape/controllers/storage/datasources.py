"""DataSource controller: resolve DataSources and report whether they can be used."""

from msgspec.structs import replace

from virtshape.api.cdi import DataSource, DataSourceCondition, DataSourceStatus
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.api.times import Clock, format_time
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.storage.sources import SourceProblem, resolve_data_source
from virtshape.engine.claims import is_filled

_READY = "Ready"


class DataSourceReconciler:
    """Reconciles DataSources through a client."""

    def __init__(self, client: Client, cache: Cache, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock

    async def reconcile(self, name: Name) -> Result:
        """Update the status of one DataSource."""
        source = self._cache.find(DataSource, name.name, name.namespace)
        if source is None or source.metadata.deletion_timestamp is not None:
            return DONE
        status = describe_data_source(source, self._cache, format_time(self._clock()))
        if status != source.status:
            await self._client.update_status(replace(source, status=status))
        return DONE


def describe_data_source(source: DataSource, cache: Cache, stamp: str) -> DataSourceStatus:
    """Return the status of a DataSource."""
    problem = find_problem(source, cache)
    if problem is None:
        wanted = DataSourceCondition(_READY, "True", message="DataSource is ready to be consumed", reason=_READY)
    else:
        wanted = DataSourceCondition(_READY, "False", message=problem.message, reason=problem.reason)
    before = source.status or DataSourceStatus()
    old = next((one for one in before.conditions or () if one.type == _READY), None)
    since = old.last_transition_time if old is not None and old.status == wanted.status else stamp
    others = [one for one in before.conditions or () if one.type != _READY]
    metadata = source.metadata
    end = resolve_data_source(metadata.name or "", metadata.namespace or "", cache)
    return replace(
        before,
        source=source.spec.source if isinstance(end, SourceProblem) else end,
        conditions=[*others, replace(wanted, last_transition_time=since)],
    )


def find_problem(source: DataSource, cache: Cache) -> SourceProblem | None:
    """Return why a DataSource cannot be used, or None."""
    metadata = source.metadata
    namespace = metadata.namespace or ""
    end = resolve_data_source(metadata.name or "", namespace, cache)
    if isinstance(end, SourceProblem):
        return end
    if end.pvc is not None:
        return _find_claim_problem(end.pvc.name, end.pvc.namespace or namespace, cache)
    if end.snapshot is not None:
        return _find_snapshot_problem(end.snapshot.name, end.snapshot.namespace or namespace, cache)
    return SourceProblem("NotFound", "the source is empty: set pvc, snapshot or dataSource")


def _find_claim_problem(name: str, namespace: str, cache: Cache) -> SourceProblem | None:
    claim = cache.find(PersistentVolumeClaim, name, namespace)
    if claim is None:
        return SourceProblem("NotFound", f"PVC {name} not found")
    return None if is_filled(claim) else SourceProblem("NotReady", f"PVC {name} is not populated yet")


def _find_snapshot_problem(name: str, namespace: str, cache: Cache) -> SourceProblem | None:
    snapshot = cache.find(VolumeSnapshot, name, namespace)
    if snapshot is None:
        return SourceProblem("NotFound", f"snapshot {name} not found")
    ready = snapshot.status is None or snapshot.status.ready_to_use is not False
    return None if ready else SourceProblem("NotReady", f"snapshot {name} is not ready to use yet")
