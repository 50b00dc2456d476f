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
ERROR_RESPONSE_SECONDS: Final = 2.0
"""Seconds to wait for the error response of a server that stopped reading."""
OnProgress = Callable[[int], None]
"""Receives the number of bytes sent."""


class UploadProxy(Struct, frozen=True):
    """URL, TLS context and token of an upload proxy; no TLS context for http:// URLs."""

    url: str
    token: str
    tls: ssl.SSLContext | None = None
    http_proxy: str = ""
    """The HTTP proxy to connect through; empty to connect directly."""


class UploadResponse(Struct, frozen=True):
    """The response of the upload proxy: a status code, and a message if it rejects the upload."""

    status: int
    message: str


async def check_ready(proxy: UploadProxy) -> UploadResponse:
    """Return the proxy's response to a HEAD request: whether it is ready for an upload."""
    reader, writer = await _connect(proxy)
    try:
        writer.write(_format_head(proxy, "HEAD"))
        return await _read_response(reader, proxy, has_body=False)
    finally:
        writer.transport.abort()


async def send_file(proxy: UploadProxy, file: BinaryIO, size: int, on_progress: OnProgress) -> UploadResponse:
    """Upload a file of this size; raise UnreachableError if the connection breaks."""
    reader, writer = await _connect(proxy)
    receiving = asyncio.create_task(_read_response(reader, proxy))
    sending = asyncio.create_task(_send(writer, _format_head(proxy, "POST", size), file, on_progress))
    try:
        await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
        if not receiving.done() and sending.exception() is not None:
            await asyncio.wait([receiving], timeout=ERROR_RESPONSE_SECONDS)
            if not receiving.done():
                raise UnreachableError(f"{proxy.url}: the connection broke: {sending.exception()}")
        return await receiving
    finally:
        for task in (receiving, sending):
            task.cancel()
        await asyncio.gather(receiving, sending, return_exceptions=True)
        writer.transport.abort()


async def _connect(proxy: UploadProxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = urlsplit(proxy.url)
    if not url.hostname:
        raise UnreachableError(f"{proxy.url}: invalid URL; use a form such as https://upload.example")
    port = url.port or (80 if proxy.tls is None else 443)
    name = url.hostname if proxy.tls is not None else None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            endpoint = await _find_endpoint(proxy, url.hostname, port)
            reader, writer = await asyncio.open_connection(**endpoint, ssl=proxy.tls, server_hostname=name, limit=PIECE)
    except TimeoutError:
        raise UnreachableError(f"{proxy.url} did not respond within {CONNECT_SECONDS:g} seconds") from None
    except OSError as error:  # includes TLS errors
        raise UnreachableError(f"cannot connect to {proxy.url}: {error}") from error
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return reader, writer


async def _find_endpoint(proxy: UploadProxy, host: str, port: int) -> dict[str, Any]:
    return (
        {"sock": await open_tunnel(proxy.http_proxy, host, port)} if proxy.http_proxy else {"host": host, "port": port}
    )


def _format_head(proxy: UploadProxy, method: str, size: int | None = None) -> bytes:
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


async def _send(writer: asyncio.StreamWriter, head: bytes, file: BinaryIO, on_progress: OnProgress) -> None:
    writer.write(head)
    sent = 0
    while piece := await asyncio.to_thread(file.read, PIECE):
        writer.write(piece)
        await writer.drain()
        sent += len(piece)
        on_progress(sent)


class _ResponseParser:
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


async def _read_response(reader: asyncio.StreamReader, proxy: UploadProxy, *, has_body: bool = True) -> UploadResponse:
    response = _ResponseParser()
    try:
        while not (response.is_complete or (response.has_head and not has_body)):
            data = await reader.read(PIECE)
            if not data:
                break
            response.parser.feed_data(data)
    except (OSError, httptools.HttpParserError) as error:
        if not response.has_head:
            raise UnreachableError(f"{proxy.url}: the connection broke: {error}") from error
    if not response.has_head:
        raise UnreachableError(f"{proxy.url} closed the connection without a response")
    with suppress(UnicodeDecodeError):
        return UploadResponse(response.parser.get_status_code(), response.body.decode().strip())
    return UploadResponse(response.parser.get_status_code(), "")
