"""
The Transport protocol, which sends requests to a server over a socket or within the process.

A transport handles methods, paths and bytes, not objects.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class Call(Struct, frozen=True):
    """A request; `target` is the path with the query string."""

    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Reply(Struct, frozen=True):
    """A complete response; header names are in lower case, and repeated headers are joined by newlines."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Sends requests to one server."""

    async def call(self, call: Call) -> Reply:
        """Return the response to a request; raise UnreachableError if there is none."""

    def stream(
        self, call: Call, *, idle_timeout: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """
        Open a streaming response as an iterator of lines; raise StatusError if the server rejects the request.

        Raise UnreachableError if the connection fails, or if nothing arrives for `idle_timeout` seconds.
        """

    async def close(self) -> None:
        """Close all connections."""
