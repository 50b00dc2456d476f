"""Number of requests that controllers send to the API server."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import instancetype_tree, open_controlled_system, preference_tree, vm_tree

from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.client.protocol import Client


class RecordingClient:
    """A client that records reads of single objects, and writes."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.asked: list[type[Any]] = []
        self.written: Counter[tuple[str, str]] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def get(self, kind: type[Any], name: str, namespace: str = "") -> Any:
        self.asked.append(kind)
        return await self._client.get(kind, name, namespace)

    async def create(self, item: Any) -> Any:
        self.written["create", type(item).__name__] += 1
        return await self._client.create(item)

    async def update(self, item: Any) -> Any:
        self.written["update", type(item).__name__] += 1
        return await self._client.update(item)

    async def update_status(self, item: Any) -> Any:
        self.written["update status", type(item).__name__] += 1
        return await self._client.update_status(item)


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


async def test_start_takes_eight_writes_of_the_controllers_and_four_events(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        heard: list[RecordingClient] = []

        def wrap(client: Client) -> RecordingClient:
            heard.append(RecordingClient(client))
            return heard[0]

        async with system.run_controllers(wrap=wrap) as controllers:
            await system.create(instancetype_tree(), preference_tree())
            await system.wait_until_idle(controllers)
            heard[0].written.clear()
            await system.create(vm_tree(runStrategy="Always"))
            await system.wait_for("Running")
            await system.wait_until_idle(controllers)
        written = heard[0].written
        # On a busy machine, the VM's status may be written before its instance runs, and then again.
        assert written.pop(("update status", "VirtualMachine")) in (1, 2)
        assert written == {
            ("create", "ControllerRevision"): 3,
            ("update", "VirtualMachine"): 1,
            ("create", "VirtualMachineInstance"): 1,
            ("update", "VirtualMachineInstance"): 2,
            ("create", "Event"): 4,
        }
