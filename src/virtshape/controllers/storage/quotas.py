"""Quota controller: report storage usage in the status of resource quotas."""

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.quota import ResourceQuota, ResourceQuotaStatus
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.api.storage import StorageClass
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.engine.claims import find_default_class
from virtshape.engine.quotas import (
    DATA_VOLUMES,
    SNAPSHOTS,
    add_usage,
    count_of,
    format_amount,
    list_limits,
    measure_claim,
)


class QuotaReconciler:
    """Reconciles the status of quotas."""

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache

    async def reconcile(self, name: Name) -> Result:
        """Update the usage of one quota."""
        quota = self._cache.find(ResourceQuota, name.name, name.namespace)
        if quota is None or quota.metadata.deletion_timestamp is not None:
            return DONE
        default = find_default_class(self._cache.list(StorageClass))
        default_class = (default.metadata.name if default is not None else None) or ""
        claims = self._cache.list(PersistentVolumeClaim, name.namespace)
        used = add_usage(measure_claim(claim, default_class) for claim in claims)
        used[count_of(DATA_VOLUMES)] = len(self._cache.list(DataVolume, name.namespace))
        used[count_of(SNAPSHOTS)] = len(self._cache.list(VolumeSnapshot, name.namespace))
        limits = list_limits(quota)
        status = ResourceQuotaStatus(
            hard=limits or None,
            used={resource: format_amount(resource, used.get(resource, 0)) for resource in limits} or None,
        )
        if status != (quota.status or ResourceQuotaStatus()):
            await self._client.update_status(replace(quota, status=status))
        return DONE
