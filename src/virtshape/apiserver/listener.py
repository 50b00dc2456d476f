"""The listening socket of the HTTP server: accept connections, limit their number, and close them at shutdown."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from virtshape.apiserver.http import STALL_SECONDS, Connection, Handler
from virtshape.apiserver.limits import MAX_BODY_BYTES
from virtshape.apiserver.memorybudget import MemoryBudget
from virtshape.apiserver.message import Request
from virtshape.apiserver.parsing import FindLimit

MAX_CONNECTIONS: Final = 8000
HANDSHAKE_SECONDS: Final = 10.0
"""How long a client may take for the TLS handshake."""

Authenticate = Callable[[Request], object]
"""Raises StatusError if a request's headers do not authenticate its sender."""


class Listener:
    """
    A listening socket and its connections.

    `authenticate` raises StatusError for requests without valid credentials. Large bodies are read only for
    authenticated clients.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        get_limit: FindLimit = lambda _: MAX_BODY_BYTES,
        authenticate: Authenticate = lambda _: None,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self.handler = handler
        self.get_limit = get_limit
        self.authenticate = authenticate
        self.memory = MemoryBudget()
        self.connections: set[Connection] = set()
        self.is_draining = False
        """If True, each connection is closed after its next response."""
        self._max_connections = max_connections
        self._server: asyncio.Server | None = None

    def add(self, connection: Connection) -> bool:
        """Add a connection; at the limit, abort the one that has been idle longest, or return False if all are busy."""
        if len(self.connections) >= self._max_connections:
            idle = [(since, other) for other in self.connections if (since := other.idle_since) is not None]
            if not idle:
                return False
            min(idle, key=lambda pair: pair[0])[1].abort()
        self.connections.add(connection)
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self.connections.discard(connection)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Start to listen, and return the port; if `port` is 0, the operating system chooses a free port."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self),
            host,
            port,
            ssl=tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if tls is not None else None,
            ssl_shutdown_timeout=STALL_SECONDS if tls is not None else None,
            reuse_address=True,
            backlog=1024,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def drain(self, seconds: float) -> None:
        """Continue to serve requests for this time, but close each connection after its next response."""
        self.is_draining = True
        await asyncio.sleep(seconds)

    async def stop(self, seconds: float = 10.0) -> None:
        """Stop listening, finish requests in progress and end streams; after `seconds`, abort open connections."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.stop()
        deadline = asyncio.get_running_loop().time() + seconds
        while self.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
