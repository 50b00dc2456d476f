"""Number of requests that controllers send to the API server."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import instancetype_tree, open_controlled_system, preference_tree, vm_tree

from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.client.protocol import Client


class RecordingClient:
    """A client that records requests for single objects."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.asked: list[type[Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def get(self, kind: type[Any], name: str, namespace: str = "") -> Any:
        self.asked.append(kind)
        return await self._client.get(kind, name, namespace)


@pytest.mark.parametrize(("strategy", "state"), [("Always", "Running"), ("Halted", "Stopped")])
async def test_controllers_do_not_read_objects_that_they_have_just_written(
    strategy: str, state: str, tmp_path: Path
) -> None:
    async with open_controlled_system(tmp_path) as system:
        heard: list[RecordingClient] = []

        def wrap(client: Client) -> RecordingClient:
            heard.append(RecordingClient(client))
            return heard[0]

        async with system.run_controllers(wrap=wrap) as controllers:
            await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy=strategy))
            await system.wait_for(state)
            await system.wait_until_idle(controllers)
        assert [kind for kind in heard[0].asked if kind in (ControllerRevision, VirtualMachine)] == []
