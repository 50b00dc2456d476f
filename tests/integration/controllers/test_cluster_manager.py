"""The controller process of a cluster, against a server in this process: readiness while it creates default objects."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.objects import object_from_tree
from tests.support.systems import open_system
from tests.support.waiting import eventually

from virtshape import catalog
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterPreference
from virtshape.api.status import StatusError
from virtshape.client.rest import RestClient
from virtshape.cluster.controller import Manager, Settings
from virtshape.supervise.supervisor import Supervisor

CHECK = "defaults-created"


class HeldClient:
    """A client that delays the creation of preferences until `released` is set."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self.released = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def create(self, item: Any) -> Any:
        if isinstance(item, VirtualMachineClusterPreference):
            await self.released.wait()
        return await self._client.create(item)


async def test_leader_is_not_ready_until_the_whole_catalog_exists(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        for name in ("virtshape-system", "kubevirt"):
            tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            with suppress(StatusError):
                await system.client.create(object_from_tree(tree))
        client: Any = HeldClient(system.client)
        settings = Settings(namespace="virtshape-system", runtime="none", catalog=True)
        manager = Manager(client, system.client, settings, Supervisor())
        running = asyncio.create_task(manager.run())
        try:

            async def probe() -> bool | None:
                return True if not manager.list_checks()[CHECK].passed else None

            await eventually(probe, "the process does not wait for the catalog")
            assert "default objects have not been created yet" in manager.list_checks()[CHECK].failure
            client.released.set()

            async def look_again() -> bool | None:
                return True if manager.list_checks()[CHECK].passed else None

            await eventually(look_again, "the process is not ready")
            created = (await system.client.list(VirtualMachineClusterPreference)).items
            wanted = [item for item in catalog.load() if isinstance(item, VirtualMachineClusterPreference)]
            assert len(created) == len(wanted)
        finally:
            running.cancel()
            await asyncio.wait({running})
