"""
Upload files of any size to an upload proxy, in chunks with backpressure.

A rejection that arrives during an upload ends the upload.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Final
from urllib.parse import urlsplit

from msgspec import Struct

from virtshape.client.connection import Connection, Endpoint, format_head, open_connection
from virtshape.client.errors import UnreachableError
from virtshape.client.rest import USER_AGENT

PIECE: Final = 1 << 20
CONNECT_SECONDS: Final = 30.0
ERROR_RESPONSE_SECONDS: Final = 2.0
"""How long to wait for the error response of a server that stopped reading the upload, in seconds."""
OnProgress = Callable[[int], None]
"""A function that is called with the number of bytes sent so far."""


class UploadProxy(Struct, frozen=True):
    """URL, token and TLS context of an upload proxy; `tls` is None for http:// URLs."""

    url: str
    token: str
    tls: ssl.SSLContext | None = None
    http_proxy: str = ""
    """The HTTP proxy to connect through; empty to connect directly."""


class UploadResponse(Struct, frozen=True):
    """The response of the upload proxy: the status code, and the body as text."""

    status: int
    message: str


async def check_ready(proxy: UploadProxy) -> UploadResponse:
    """Return the proxy's response to a HEAD request, which shows whether it is ready for an upload."""
    connection = await _connect(proxy)
    try:
        connection.begin(_format_head(proxy, "HEAD"))
        return await _read_response(connection, proxy, has_body=False)
    finally:
        connection.close()


async def send_file(proxy: UploadProxy, file: BinaryIO, size: int, on_progress: OnProgress) -> UploadResponse:
    """Upload a file of this size and return the response; raise UnreachableError if the connection breaks."""
    connection = await _connect(proxy)
    connection.begin(_format_head(proxy, "POST", size))
    receiving = asyncio.create_task(_read_response(connection, proxy))
    sending = asyncio.create_task(_send(connection, file, on_progress))
    try:
        await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
        if not receiving.done() and sending.exception() is not None:
            await asyncio.wait([receiving], timeout=ERROR_RESPONSE_SECONDS)
            if not receiving.done():
                raise UnreachableError(f"{proxy.url}: the connection was lost: {sending.exception()}")
        return await receiving
    finally:
        for task in (receiving, sending):
            task.cancel()
        await asyncio.gather(receiving, sending, return_exceptions=True)
        connection.close()


async def _connect(proxy: UploadProxy) -> Connection:
    url = urlsplit(proxy.url)
    if not url.hostname:
        raise UnreachableError(f"{proxy.url}: invalid URL; use a form such as https://upload.example")
    port = url.port or (80 if proxy.tls is None else 443)
    endpoint = Endpoint(proxy.url, url.hostname, port, proxy.tls, proxy=proxy.http_proxy)
    return await open_connection(endpoint, CONNECT_SECONDS)


def _format_head(proxy: UploadProxy, method: str, size: int | None = None) -> bytes:
    url = urlsplit(proxy.url)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    headers = [("user-agent", USER_AGENT), ("authorization", f"Bearer {proxy.token}")]
    if size is not None:
        headers += [("content-type", "application/octet-stream"), ("content-length", str(size))]
    return format_head(method, target, url.netloc.rpartition("@")[2], headers)


async def _send(connection: Connection, file: BinaryIO, on_progress: OnProgress) -> None:
    sent = 0
    while piece := await asyncio.to_thread(file.read, PIECE):
        await connection.write(piece)
        sent += len(piece)
        on_progress(sent)


async def _read_response(connection: Connection, proxy: UploadProxy, *, has_body: bool = True) -> UploadResponse:
    try:
        await connection.wait_for_head()
    except UnreachableError as error:
        raise UnreachableError(f"{proxy.url}: the connection was lost: {error}") from error
    body = b""
    if has_body:
        # If the connection is lost, return the part of the message that was received.
        with suppress(UnreachableError):
            async for chunk in connection.chunks():
                body += chunk[: PIECE - len(body)]
    with suppress(UnicodeDecodeError):
        return UploadResponse(connection.status, body.decode().strip())
    return UploadResponse(connection.status, "")
