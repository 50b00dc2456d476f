"""A complete server for tests, over HTTP on loopback or in-process, with a client."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from virtshape.apiserver.auth.users import ensure_admin
from virtshape.apiserver.http import Connection
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.subresources.protocol import GuestStreams
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocesstransport import connect
from virtshape.standalone.server import Settings, System, assemble

Transport = Literal["in-process", "http"]
TRANSPORTS: tuple[Transport, ...] = ("in-process", "http")


class RunningSystem(NamedTuple):
    """A running server and a client with admin permissions."""

    system: System
    client: RestClient
    url: str = ""
    kubeconfig: Path = Path()
    connections: Collection[Connection] = ()


@asynccontextmanager
async def serve_system(directory: Path, streams: GuestStreams | None = None) -> AsyncIterator[RunningSystem]:
    """Run a server on a loopback port; `streams` connects to its guests."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with assemble(Settings(directory=directory, port=0, catalog=False), streams) as system:
        listener = Listener(system.server.handle)
        port = await listener.start("127.0.0.1", 0, system.directory.pki.build_server_context(["127.0.0.1"]))
        url = f"https://127.0.0.1:{port}"
        path = ensure_admin(system.directory, url)
        client = RestClient(HttpTransport(get_access(path=str(path))), manager="tester")
        try:
            yield RunningSystem(system, client, url, path, listener.connections)
        finally:
            await client.close()
            await listener.stop()


@asynccontextmanager
async def open_system(
    form: Transport, directory: Path, streams: GuestStreams | None = None
) -> AsyncIterator[RunningSystem]:
    """Open a server and a client with this transport; `streams` connects to its guests."""
    if form == "http":
        async with serve_system(directory, streams) as system:
            yield system
        return
    async with assemble(Settings(directory=directory, port=0, catalog=False), streams) as system:
        yield RunningSystem(system, connect(system.server, manager="tester"))
