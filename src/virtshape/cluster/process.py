"""
What our processes on a cluster have in common: how they reach it, and how they end.

Decides nothing.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from msgspec import Struct

from virtshape.client.access import Access
from virtshape.client.http import HttpTransport
from virtshape.client.rest import RestClient

_log = logging.getLogger(__name__)


class Ports(Struct, frozen=True, kw_only=True):
    """Where a process is asked how it is, and what it counts; an address that means all of them is the usual one."""

    host: str = ""
    health: int = 8081
    metrics: int = 8080


class ApiConnection(Struct, frozen=True):
    """The way to the cluster's API server."""

    transport: HttpTransport
    client: RestClient


@asynccontextmanager
async def open_connection(access: Access, manager: str) -> AsyncIterator[ApiConnection]:
    """A way to the cluster, for as long as the block lasts; `manager` owns the fields that are written."""
    transport = HttpTransport(access)
    api = ApiConnection(transport, RestClient(transport, manager=manager, warn=lambda text: _log.warning("%s", text)))
    try:
        yield api
    finally:
        await api.client.close()


async def run_until_signalled(work: Awaitable[None]) -> None:
    """Work until a signal says to end; then the work is cancelled, and waited for."""
    working = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _end, working, number)
    try:
        await working
    except asyncio.CancelledError:
        if not working.cancelled():
            raise


def _end(working: "asyncio.Future[None]", number: int) -> None:
    _log.info("stopping: %s", signal.Signals(number).name)
    working.cancel()
