"""
Uploads of files of any size to an upload proxy, in chunks with backpressure.

A rejection that arrives during an upload ends it.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

import httptools
from msgspec import Struct

from virtshape.client.errors import UnreachableError
from virtshape.client.rest import USER_AGENT
from virtshape.client.tunnel import open_tunnel

PIECE: Final = 1 << 20
CONNECT_SECONDS: Final = 30.0
LAST_WORDS_SECONDS: Final = 2.0
"""Seconds to wait for the error response of a server that stopped reading."""
Tell = Callable[[int], None]
"""Receives the number of bytes sent."""


class Proxy(Struct, frozen=True):
    """URL, TLS context and token of an upload proxy; no TLS context for http:// URLs."""

    url: str
    token: str
    tls: ssl.SSLContext | None = None
    way: str = ""
    """The HTTP proxy to connect through; empty to connect directly."""


class Answer(Struct, frozen=True):
    """The response of the upload proxy: a status code, and a message if it rejects the upload."""

    status: int
    words: str


async def ask_whether_ready(proxy: Proxy) -> Answer:
    """Return the proxy's response to a HEAD request: whether it is ready for an upload."""
    reader, writer = await _connect(proxy)
    try:
        writer.write(_format_head(proxy, "HEAD"))
        return await _read_answer(reader, proxy, has_body=False)
    finally:
        writer.transport.abort()


async def send_file(proxy: Proxy, file: BinaryIO, size: int, tell: Tell) -> Answer:
    """Upload a file of this size; raise UnreachableError if the connection breaks."""
    reader, writer = await _connect(proxy)
    answering = asyncio.create_task(_read_answer(reader, proxy))
    sending = asyncio.create_task(_send(writer, _format_head(proxy, "POST", size), file, tell))
    try:
        await asyncio.wait([answering, sending], return_when=asyncio.FIRST_COMPLETED)
        if not answering.done() and sending.exception() is not None:
            await asyncio.wait([answering], timeout=LAST_WORDS_SECONDS)
            if not answering.done():
                raise UnreachableError(f"{proxy.url} broke off: {sending.exception()}")
        return await answering
    finally:
        for task in (answering, sending):
            task.cancel()
        await asyncio.gather(answering, sending, return_exceptions=True)
        writer.transport.abort()


async def _connect(proxy: Proxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = urlsplit(proxy.url)
    if not url.hostname:
        raise UnreachableError(f"{proxy.url} is no address, such as https://upload.example")
    port = url.port or (80 if proxy.tls is None else 443)
    name = url.hostname if proxy.tls is not None else None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            way = await _find_way(proxy, url.hostname, port)
            reader, writer = await asyncio.open_connection(**way, ssl=proxy.tls, server_hostname=name, limit=PIECE)
    except TimeoutError:
        raise UnreachableError(f"{proxy.url} did not answer within {CONNECT_SECONDS:g} seconds") from None
    except OSError as error:  # includes TLS errors
        raise UnreachableError(f"cannot connect to {proxy.url}: {error}") from error
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return reader, writer


async def _find_way(proxy: Proxy, host: str, port: int) -> dict[str, Any]:
    return {"sock": await open_tunnel(proxy.way, host, port)} if proxy.way else {"host": host, "port": port}


def _format_head(proxy: Proxy, method: str, size: int | None = None) -> bytes:
    url = urlsplit(proxy.url)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = [
        f"{method} {target} HTTP/1.1",
        f"host: {url.netloc.rpartition('@')[2]}",
        f"user-agent: {USER_AGENT}",
        f"authorization: Bearer {proxy.token}",
    ]
    if size is not None:
        lines += ["content-type: application/octet-stream", f"content-length: {size}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _send(writer: asyncio.StreamWriter, head: bytes, file: BinaryIO, tell: Tell) -> None:
    writer.write(head)
    sent = 0
    while piece := await asyncio.to_thread(file.read, PIECE):
        writer.write(piece)
        await writer.drain()
        sent += len(piece)
        tell(sent)


class _AnswerReader:
    """Parses the response."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.has_head = False
        self.is_complete = False
        self.body = b""

    def on_headers_complete(self) -> None:
        self.has_head = self.parser.get_status_code() >= 200  # 1xx responses are informational

    def on_body(self, body: bytes) -> None:
        self.body += body[: PIECE - len(self.body)]

    def on_message_complete(self) -> None:
        self.is_complete = self.has_head


async def _read_answer(reader: asyncio.StreamReader, proxy: Proxy, *, has_body: bool = True) -> Answer:
    taken = _AnswerReader()
    try:
        while not (taken.is_complete or (taken.has_head and not has_body)):
            data = await reader.read(PIECE)
            if not data:
                break
            taken.parser.feed_data(data)
    except (OSError, httptools.HttpParserError) as error:
        if not taken.has_head:
            raise UnreachableError(f"{proxy.url} broke off: {error}") from error
    if not taken.has_head:
        raise UnreachableError(f"{proxy.url} hung up without an answer")
    with suppress(UnicodeDecodeError):
        return Answer(taken.parser.get_status_code(), taken.body.decode().strip())
    return Answer(taken.parser.get_status_code(), "")
