"""Parts that all cluster components share: the connection to the API server, and shutdown on signals."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from msgspec import Struct

from virtshape.client.access import Access
from virtshape.client.http import HttpTransport
from virtshape.client.rest import RestClient
from virtshape.cluster.manifests.naming import HEALTH_PORT, METRICS_PORT

_log = logging.getLogger(__name__)


class Ports(Struct, frozen=True, kw_only=True):
    """Address and ports of the health and metrics endpoints; an empty host means all addresses."""

    host: str = ""
    health: int = HEALTH_PORT
    metrics: int = METRICS_PORT


class ApiConnection(Struct, frozen=True):
    """A connection to the cluster's API server."""

    transport: HttpTransport
    client: RestClient


@asynccontextmanager
async def open_connection(access: Access, manager: str) -> AsyncIterator[ApiConnection]:
    """Connect to the cluster while the block runs; `manager` is the field manager of its writes."""
    transport = HttpTransport(access)
    api = ApiConnection(transport, RestClient(transport, manager=manager, warn=lambda text: _log.warning("%s", text)))
    try:
        yield api
    finally:
        await api.client.close()


async def run_until_signalled(work: Awaitable[None]) -> None:
    """Run until SIGTERM or SIGINT, then cancel the work and wait until it has ended."""
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
    _log.info("stopping after %s", signal.Signals(number).name)
    working.cancel()
