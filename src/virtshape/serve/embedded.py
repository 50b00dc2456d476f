"""
The whole system in one process: an API server over one data directory.

Everything that happens is put together here; nothing is decided here.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from virtshape.apiserver.admission import BasicAdmission
from virtshape.apiserver.authentication import Authenticator
from virtshape.apiserver.authorization import Authorizer
from virtshape.apiserver.http import Listener
from virtshape.apiserver.publishing import Publisher
from virtshape.apiserver.server import Server
from virtshape.apiserver.tokens import TokenSigner
from virtshape.apiserver.users import Directory, ensure_admin
from virtshape.apiserver.writing import Desk
from virtshape.serve.access import Access
from virtshape.serve.logs import is_access_logged, log_requests
from virtshape.serve.seeding import seed
from virtshape.store.lock import Lock
from virtshape.store.store import Store

COMPACTION_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)


class Settings(Struct, kw_only=True):
    """How to run."""

    directory: Path
    host: str = "127.0.0.1"
    port: int = 6443
    catalog: bool = True


class Ready(Struct):
    """What to tell whoever waits for the server."""

    url: str
    kubeconfig: Path


class System(NamedTuple):
    """The parts that make up a running system."""

    store: Store
    directory: Directory
    server: Server


async def run(settings: Settings, announce: Callable[[Ready], None]) -> None:
    """Serve until told to stop by a signal; then finish what is in flight."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    settings.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = Lock(settings.directory)
    try:
        async with serve(settings) as ready:
            announce(ready)
            await stopping.wait()
            _log.info("stopping")
    finally:
        lock.close()


@contextlib.asynccontextmanager
async def serve(settings: Settings) -> AsyncIterator[Ready]:
    """The server, running for as long as the block does."""
    async with assemble(settings) as system:
        handle = system.server.handle
        listener = Listener(log_requests(handle) if is_access_logged() else handle)
        tls = system.directory.pki.build_server_context([settings.host])
        port = await listener.start(settings.host, settings.port, tls)
        url = format_url(settings.host, port)
        compaction = asyncio.create_task(_compact_forever(system.store))
        try:
            yield Ready(url, ensure_admin(system.directory, url))
        finally:
            compaction.cancel()
            await listener.stop()


@contextlib.asynccontextmanager
async def assemble(settings: Settings) -> AsyncIterator[System]:
    """All parts in their places, and nothing listening yet."""
    store = Store(settings.directory)
    try:
        await seed(store, with_catalog=settings.catalog)
        directory = Directory(settings.directory)
        yield System(store, directory, _build_server(store, directory, settings))
    finally:
        await store.close()


def format_url(host: str, port: int) -> str:
    """The address for clients on this machine; an address that means all of them is none to connect to."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - not bound here
    return f"https://[{reachable}]:{port}" if ":" in reachable else f"https://{reachable}:{port}"


def _build_server(store: Store, directory: Directory, settings: Settings) -> Server:
    authorizer = Authorizer()
    access = Access(store, authorizer)
    store.observe(access.observe)
    signer = TokenSigner(directory.pki.ensure_signing_key())
    access.authenticator = Authenticator(directory.register, signer, access.find_uid)
    publisher = Publisher(f"{settings.host}:{settings.port}", lambda: {"ping": True, "store": True})
    return Server(Desk(store, BasicAdmission(store)), access.authenticator, authorizer, publisher)


async def _compact_forever(store: Store) -> None:
    while True:
        await asyncio.sleep(COMPACTION_SECONDS)
        await store.compact()
