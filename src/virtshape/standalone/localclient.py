"""
API client for commands on a data directory: requests go to its running server or else to a server in this process.

The directory contains the admin's credentials, so the client has admin permissions.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from virtshape.client.http import HttpTransport
from virtshape.client.protocol import Client
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocesstransport import connect
from virtshape.standalone.server import Settings, assemble
from virtshape.standalone.serveraccess import read_access
from virtshape.store.lock import Lock, find_holder

MANAGER: Final = "virtshape"


@asynccontextmanager
async def open_client(directory: Path) -> AsyncIterator[Client]:
    """Yield an API client for a data directory."""
    access = read_access(directory)
    if find_holder(directory) is not None:
        client = RestClient(HttpTransport(access), manager=MANAGER)
        try:
            yield client
        finally:
            await client.close()
        return
    lock = Lock(directory)
    try:
        async with assemble(Settings(directory=directory, catalog=False)) as system:
            yield connect(system.server, manager=MANAGER)
    finally:
        lock.close()
