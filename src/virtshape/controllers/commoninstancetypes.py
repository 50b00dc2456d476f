"""
Create and remove the common instance types and preferences as `commonInstancetypesDeployment` changes.

Objects that an administrator changed are never removed. An object that a user deleted is created again only at the
next start, or after the deployment was disabled and enabled again.
"""

from collections.abc import Callable, Iterable
from typing import Any

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.vm.revisionobjects import (
    is_same,
)

LoadCatalog = Callable[[], Iterable[Model]]


def is_catalog_enabled(configuration: KubeVirtConfiguration | None) -> bool:
    """Return False if the administrator disabled the common instance types."""
    deployment = configuration.common_instancetypes_deployment if configuration is not None else None
    return deployment is None or deployment.enabled is not False


class CommonInstancetypes:
    """Creates and removes the catalog's objects through a client; assumes at first that all are installed."""

    def __init__(self, client: Client, cache: Cache, load: LoadCatalog) -> None:
        self._client = client
        self._cache = cache
        self._load = load
        self._is_installed = True

    async def reconcile(self, configuration: KubeVirtConfiguration | None) -> None:
        """Create or remove the catalog's objects if the setting was enabled or disabled since the last call."""
        wanted = is_catalog_enabled(configuration)
        if wanted == self._is_installed:
            return
        for item in self._load():
            await (self._create(item) if wanted else self._remove(item))
        self._is_installed = wanted

    async def _create(self, item: Model) -> None:
        try:
            await self._client.create(item)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise

    async def _remove(self, item: Any) -> None:
        live: Any = self._cache.find(type(item), item.metadata.name)
        if live is None or not is_same(live.spec, item.spec):
            return
        try:
            await self._client.delete(type(item), item.metadata.name, uid=metadata_of(live).uid or "")
        except StatusError as error:
            if error.code != 404:
                raise
