"""Limits of HTTP connections: timeouts, and the number and size of pipelined requests."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from virtshape.apiserver import http, responsewriter
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.message import JSON, Request, Response

SOON = 240.0
MEDIUM = 16 << 10


class Server:
    """A listener that answers requests to /wait only after `release` is set, and counts all requests."""

    def __init__(self) -> None:
        self.listener = Listener(self._handle)
        self.release = asyncio.Event()
        self.port = 0

    def _handle(self, request: Request) -> "Response | asyncio.Task[Response]":
        if request.path == "/wait":
            return asyncio.create_task(self._wait())
        sizes = {"/large": 32 << 20, "/medium": MEDIUM}
        return Response(200, b"x" * sizes[request.path] if request.path in sizes else b"{}", JSON)

    async def _wait(self) -> Response:
        await self.release.wait()
        return Response(200, b"{}", JSON)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, limit=1024)


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    server = Server()
    server.port = await server.listener.start("127.0.0.1", 0, None)
    try:
        yield server
    finally:
        await server.listener.stop(0)


def format_request(path: str, body: bytes = b"") -> bytes:
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def test_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.05)
    async with running() as server:
        reader, writer = await server.connect()
        writer.write(b"GET /version HT")  # an incomplete request does not keep the connection open
        assert await asyncio.wait_for(reader.read(), SOON) == b""
        writer.close()


async def test_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "IDLE_SECONDS", 0.05)
    async with running() as server:
        reader, writer = await server.connect()
        writer.write(format_request("/version"))
        assert (await asyncio.wait_for(reader.read(), SOON)).startswith(b"HTTP/1.1 200 OK")
        writer.close()


async def test_connection_of_a_client_that_reads_nothing_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "STALL_SECONDS", 0.05)
    async with running() as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(format_request("/large"))
            async with asyncio.timeout(SOON):
                while not server.listener.connections:
                    await asyncio.sleep(0.01)
                while server.listener.connections:
                    await asyncio.sleep(0.01)


async def count_sent(server: Server, request: bytes, most: int) -> int:
    """Send requests after a request to /wait until the server stops reading; return the number of bytes sent."""
    _, writer = await server.connect()
    writer.write(format_request("/wait"))
    sent = 0
    while sent < most:
        writer.write(request)
        sent += len(request)
        try:
            await asyncio.wait_for(writer.drain(), 1.0)
        except TimeoutError:
            break
    (connection,) = server.listener.connections
    assert len(connection._waiting) <= http.MAX_PIPELINED + 1200  # noqa: SLF001 - those parsed at once may exceed it
    writer.transport.abort()
    return sent


@pytest.mark.parametrize("has_queued_request", [True, False])
async def test_request_after_an_interrupted_response_is_answered(
    monkeypatch: pytest.MonkeyPatch, has_queued_request: bool
) -> None:
    monkeypatch.setattr(responsewriter, "SLICE", 1024)
    monkeypatch.setattr(responsewriter, "SLICES_AT_ONCE", 2)
    async with running() as server, asyncio.timeout(SOON):
        reader, writer = await server.connect()
        requests = [format_request("/medium"), format_request("/version")]
        writer.write(b"".join(requests) if has_queued_request else requests[0])
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(MEDIUM) == b"x" * MEDIUM  # smaller than the buffers, so writing never pauses
        if not has_queued_request:
            writer.write(requests[1])
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b"{}"
        writer.close()


async def test_reading_stops_at_the_limit_of_pipelined_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_PIPELINED_BYTES", 1 << 40)
    async with running() as server:
        assert await count_sent(server, format_request("/version") * 1000, 64 << 20) < 64 << 20


async def test_reading_stops_at_the_limit_of_pipelined_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_PIPELINED", 1 << 40)
    async with running() as server:
        assert await count_sent(server, format_request("/version", b"x" * 60_000), 64 << 20) < 64 << 20
