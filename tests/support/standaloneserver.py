"""The standalone server with its controllers in the test's process, and clients that act as its admin."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.upprocess import call_virtshape

from virtshape.client.access import Access
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply
from virtshape.standalone.guestruntimes import LauncherName
from virtshape.standalone.guests.stopguests import list_running_guests, stop_guests
from virtshape.standalone.server import Settings, serve
from virtshape.store.lock import Lock


class RunningServer:
    """A running standalone server, and clients that act as its admin."""

    def __init__(self, directory: Path, access: Access) -> None:
        self.directory = directory
        self.access = access
        self._transport = HttpTransport(access)
        self.client = RestClient(self._transport, manager="tester")

    async def call(self, call: Call) -> Reply:
        """Send a request as the admin."""
        return await self._transport.call(call)

    async def get(self, target: str) -> tuple[int, str]:
        """Send a GET request as the admin; return the status and the body of the response."""
        reply = await self.call(Call("GET", target))
        return reply.status, reply.body.decode()

    async def get_anonymously(self, target: str) -> tuple[int, str]:
        """Send a GET request without credentials; return the status and the body of the response."""
        transport = HttpTransport(Access(self.access.server, authority=self.access.authority))
        try:
            reply = await transport.call(Call("GET", target))
            return reply.status, reply.body.decode()
        finally:
            await transport.close()

    async def get_status(self) -> tuple[int, Any]:
        """Run `virtshape status` in a separate process and return its output."""
        called = await asyncio.to_thread(call_virtshape, "status", "--data-dir", self.directory, "-o", "json")
        return called.returncode, json.loads(called.stdout)


@contextlib.asynccontextmanager
async def serving(directory: Path, launcher: LauncherName = "simulate") -> AsyncIterator[RunningServer]:
    """Run the standalone server in this process, as `virtshape up` does."""
    directory.mkdir(mode=0o755, exist_ok=True)
    lock = Lock(directory)
    settings = Settings(
        directory=directory, port=0, catalog=False, controllers=True, launcher=launcher, history_seconds=1
    )
    try:
        async with serve(settings) as ready:
            served = RunningServer(directory, get_access(path=str(ready.kubeconfig)))
            try:
                yield served
            finally:
                await served.client.close()
        await stop_guests(list_running_guests(directory))  # guests outlive their server
    finally:
        lock.close()


async def eventually(look: Callable[[], Awaitable[Any]], what: str, seconds: float = 240.0) -> Any:
    """Wait until a function returns a true value, and return it; fail with the message `what` on timeout."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not (found := await look()):
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.05)
    return found
