"""Limits of the event recorder."""

import asyncio
from typing import Any

from virtshape.api.core.namespace import Namespace
from virtshape.api.meta import ObjectMeta
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.supervise.supervisor import Supervisor


class SlowClient:
    """A client that writes each event slowly."""

    def __init__(self) -> None:
        self.reported = self.under_way = self.most = 0

    async def create(self, item: Any) -> Any:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        self.reported += 1
        return item


async def test_parallel_event_writes_are_limited() -> None:
    server: Any = SlowClient()
    about = Namespace(api_version="v1", kind="Namespace", metadata=ObjectMeta(name="home"))

    recorder = EventRecorder(server, "test", lambda: 0.0, parallel=3)
    async with recorder.running(Supervisor()):
        for number in range(10):
            recorder.event(about, "Tested", f"number {number}")
    assert (server.reported, server.most) == (10, 3)
