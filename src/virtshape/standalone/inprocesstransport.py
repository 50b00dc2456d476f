"""
Client transport to a server in the same process, without sockets or credentials.

Authorization and the audit log treat each request as one from the given user.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final

from virtshape.apiserver.audit import Caller
from virtshape.apiserver.auth.authentication import AUTHENTICATED, MASTERS, User
from virtshape.apiserver.handler import Server
from virtshape.apiserver.message import AnyResponse, Request, Response, Stream
from virtshape.client.errors import UnreachableError, parse_status_error
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply

SYSTEM: Final = User("system:virtshape", (MASTERS, AUTHENTICATED))


class InProcessTransport:
    """Sends requests to a server in this process, as one user."""

    def __init__(self, server: Server, user: User = SYSTEM) -> None:
        self._server = server
        self._caller = Caller(user)

    async def call(self, call: Call) -> Reply:
        """Return the response to a request; raise UnreachableError if the response is a stream."""
        answer = await self._ask(call)
        if not isinstance(answer, Response):
            raise UnreachableError(f"{call.target} responds with a stream: use stream()")
        headers: dict[str, str] = {}
        for name, value in answer.headers:
            headers[name] = f"{headers[name]}\n{value}" if name in headers else value
        return Reply(answer.status, headers, answer.body)

    @asynccontextmanager
    async def stream(self, call: Call, *, idle_timeout: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the lines of a streaming response; `idle_timeout` is ignored, because no connection can break."""
        del idle_timeout
        answer = await self._ask(call)
        if isinstance(answer, Response):
            raise parse_status_error(answer.body, answer.status)
        if not isinstance(answer, Stream):
            raise UnreachableError(f"{call.target} needs a network connection")
        async with aclosing(answer.chunks) as chunks:  # type: ignore[type-var]  # every stream here is a generator
            yield _split(chunks)

    async def close(self) -> None:
        """Do nothing: there is no connection to close."""

    async def _ask(self, call: Call) -> AnyResponse:
        answer = self._server.handle_as(Request(call.method, call.target, call.headers, call.body), self._caller)
        return await answer if not isinstance(answer, AnyResponse) else answer


def connect(server: Server, user: User = SYSTEM, *, manager: str = "", with_managed_fields: bool = True) -> RestClient:
    """Return a client for a server in the same process."""
    transport = InProcessTransport(server, user)
    return RestClient(transport, manager=manager, with_managed_fields=with_managed_fields)


async def _split(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        for line in chunk.rstrip(b"\n").split(b"\n"):
            yield line
