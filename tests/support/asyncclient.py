"""
HTTP connections for tests that send hostile requests or many requests at a time to `virtshape up`.

Requests are bytes, so they can be malformed. A connection is kept alive, and opened again if the server closed it.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tests.support.upprocess import System

REPLY_SECONDS: Final = 240.0
MAX_HEAD_BYTES: Final = 4 * 1024 * 1024


class NoReplyError(Exception):
    """The server closed the connection without a response, or did not respond in time."""


class Reply(NamedTuple):
    """A complete response; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def tree(self) -> Any:
        """The decoded JSON body."""
        return json.loads(self.body)


class AsyncConnection:
    """A connection to a server, with the admin's token."""

    def __init__(self, system: System, tls: ssl.SSLContext | None = None) -> None:
        address = urlsplit(system.url)
        self._host, self._port = str(address.hostname), address.port
        self._tls = tls or system.make_tls_context()
        self.token = system.config["token"]
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> Reply:
        """Send a request with the admin's token; a body that is not bytes is sent as JSON."""
        return await self.send(self.format(method, path, body, content_type))

    def format(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> bytes:
        """Return the bytes of a request with the admin's token."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {self.token}\r\n"
        return f"{head}content-type: {content_type}\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content

    async def send(self, data: bytes, *, has_body: bool = True, seconds: float = REPLY_SECONDS) -> Reply:
        """
        Send bytes and read one response; raise NoReplyError if there is none.

        With `has_body=False`, as for HEAD, only the head of the response is read.
        """
        began = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await self._connect()
                writer.write(data)
                status, headers = await _read_head(reader)
                body = await _read_body(reader, headers) if has_body else b""
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise NoReplyError(f"{error!r} after {time.perf_counter() - began:.1f} s") from error
        if headers.get("connection") == "close":
            self.close()
        return Reply(status, headers, body, time.perf_counter() - began)

    async def read_stream(self) -> bytes:
        """Return the next bytes of a watch, whose head `send` has read; return no bytes at its end."""
        assert self._reader is not None
        return await self._reader.read(64 * 1024)

    def close(self) -> None:
        """Close the connection without waiting for the server; the next request opens a new one."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def wait_closed(self) -> None:
        """Close the connection, and wait until its socket is closed."""
        writer = self._writer
        self.close()
        if writer is not None:
            with suppress(OSError):
                await writer.wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._reader is None or self._writer is None or self._reader.at_eof():
            self.close()
            self._reader, self._writer = await asyncio.open_connection(
                self._host, self._port, ssl=self._tls, limit=MAX_HEAD_BYTES
            )
        return self._reader, self._writer


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Return the status and headers of the final response, and skip responses with status 100."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        status = int(first.split(" ", 2)[1])
        if status != 100:
            pairs = (line.partition(":") for line in lines)
            return status, {name.lower(): text.strip() for name, _, text in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(parts)
