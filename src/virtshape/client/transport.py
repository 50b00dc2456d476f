"""
What carries requests to a server and answers back: a socket, or a call within the process.

Knows methods, paths and bytes; nothing of objects.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class Call(Struct, frozen=True):
    """One request; `target` is the path with all that stands behind the question mark."""

    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Reply(Struct, frozen=True):
    """One answer, whole; header names are in lower case, and several of one name are one text, a line each."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Carries requests."""

    async def call(self, call: Call) -> Reply:
        """The answer to a request; UnreachableError if there is none."""

    def stream(self, call: Call, *, patience: float | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """
        The lines of an answer that goes on, as they come; StatusError if it is a refusal.

        UnreachableError when it breaks off, or when nothing comes for longer than `patience`.
        """

    async def close(self) -> None:
        """Hang up."""
