"""Uploads: files are sent completely, and responses are read while sending."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from virtshape.client.errors import UnreachableError
from virtshape.client.upload import PIECE, UploadProxy, UploadResponse, check_ready, send_file

T = TypeVar("T")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
DATA = bytes(range(256)) * 20_000


async def run(serve: Serve, ask: Callable[[str], Awaitable[T]]) -> T:
    """Run a server with the handler `serve` and call `ask` with its URL."""
    ended = asyncio.Event()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            ended.set()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        return await asyncio.wait_for(ask(f"http://127.0.0.1:{port}/v1beta1/upload-async?a=b"), 240)
    finally:
        await ended.wait()
        server.close()


async def read_head(reader: asyncio.StreamReader) -> list[str]:
    return (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()


async def test_upload_sends_the_complete_file_with_length_and_token() -> None:
    taken: list[object] = []
    progress: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(await read_head(reader))
        taken.append(await reader.readexactly(len(DATA)))
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)
        await writer.drain()

    answer = await run(
        serve, lambda url: send_file(UploadProxy(url, "t0k"), io.BytesIO(DATA), len(DATA), progress.append)
    )
    assert answer == UploadResponse(200, "")
    head, data = taken
    assert isinstance(head, list)
    assert head[0] == "POST /v1beta1/upload-async?a=b HTTP/1.1"
    assert {"authorization: Bearer t0k", f"content-length: {len(DATA)}"} <= set(head)
    assert data == DATA
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (PIECE, len(DATA))


async def test_early_error_response_stops_the_upload() -> None:
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\nconnection: close\r\n\r\nno\r\n")
        await writer.drain()
        await ended.wait()  # a connection that is closed earlier may lose the response

    async def send(url: str) -> UploadResponse:
        try:
            with Path("/dev/zero").open("rb") as endless:
                return await send_file(UploadProxy(url, "t"), endless, 1 << 40, lambda _: None)
        finally:
            ended.set()

    answer = await run(serve, send)
    assert answer == UploadResponse(400, "no")


@pytest.mark.parametrize("message", [b"", b"HTTP/1.1 2"], ids=["before the response", "within the response"])
async def test_connection_closed_during_an_upload_is_reported(message: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(message)
        writer.close()

    with pytest.raises(UnreachableError, match=r"closed the connection|connection was lost"):
        await run(serve, lambda url: send_file(UploadProxy(url, "t"), io.BytesIO(DATA), len(DATA), lambda _: None))


async def test_upload_response_that_is_not_http_is_reported() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        await writer.drain()

    with pytest.raises(UnreachableError, match="connection was lost"):
        await run(serve, lambda url: check_ready(UploadProxy(url, "t")))


@pytest.mark.parametrize("status", [200, 401, 503])
async def test_readiness_of_the_upload_server_is_checked_with_head(status: int) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await read_head(reader)
        assert head[0].startswith("HEAD ")
        writer.write(b"HTTP/1.1 %d Whatever\r\ncontent-length: 17\r\n\r\n" % status)
        await writer.drain()

    assert (await run(serve, lambda url: check_ready(UploadProxy(url, "t")))).status == status


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://", "nonsense"])
async def test_unreachable_upload_address_is_reported(url: str) -> None:
    with pytest.raises(UnreachableError, match=r"cannot connect to|invalid URL"):
        await check_ready(UploadProxy(url, "t"))


async def test_upload_is_sent_through_a_proxy() -> None:
    heads: list[list[str]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_head(reader))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        heads.append(await read_head(reader))
        assert await reader.readexactly(len(DATA)) == DATA
        writer.write(OK)
        await writer.drain()

    def send(url: str) -> Awaitable[UploadResponse]:
        way = url.removesuffix("/v1beta1/upload-async?a=b")
        there = UploadProxy("http://upload.example:8080/here", "t0k", http_proxy=way)
        return send_file(there, io.BytesIO(DATA), len(DATA), lambda _: None)

    assert await run(serve, send) == UploadResponse(200, "")
    (connect, request) = heads
    assert connect[0] == "CONNECT upload.example:8080 HTTP/1.1"
    assert "t0k" not in str(connect)
    assert request[:2] == ["POST /here HTTP/1.1", "host: upload.example:8080"]


async def test_upload_rejected_by_a_proxy_is_reported() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 403 Not there\r\n\r\n")
        await writer.drain()

    with pytest.raises(UnreachableError, match=r"refused to connect to upload\.example:80: HTTP/1\.1 403 Not there"):
        await run(
            serve,
            lambda url: check_ready(UploadProxy("http://upload.example/", "t", http_proxy=url.partition("/v1")[0])),
        )
