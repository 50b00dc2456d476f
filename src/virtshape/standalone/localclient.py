"""
The API of a data directory for commands: through the server if one runs, else through its parts in this process.

Whoever holds the files holds the keys, so it asks as an admin.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from virtshape.client.http import HttpTransport
from virtshape.client.protocol import Client
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocess import connect
from virtshape.standalone.location import read_access
from virtshape.standalone.server import Settings, assemble
from virtshape.store.lock import Lock, find_holder

MANAGER: Final = "virtshape"


@asynccontextmanager
async def open_client(directory: Path) -> AsyncIterator[Client]:
    """A client of the system that runs or ran in a directory."""
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
