"""The WebSocket protocol at the byte level: handshakes and frames, including invalid ones."""

import asyncio
import contextlib
import json
import ssl
import struct
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.echoguests import CHARGEN, ECHO, GREETING, HELLO
from tests.support.streamsetup import NAMESPACE, StreamSetup, open_stream_setup, wait_until

from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import create_user
from virtshape.stream.websocket import WebSocket

KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
MASK = b"\x01\x02\x03\x04"
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def frame(opcode: int, data: bytes = b"", *, fin: bool = True, masked: bool = True, rsv: int = 0) -> bytes:
    head = bytes([(0x80 if fin else 0) | rsv | opcode])
    bit = 0x80 if masked else 0
    if len(data) < 126:
        head += bytes([bit | len(data)])
    elif len(data) < 65536:
        head += struct.pack("!BH", bit | 126, len(data))
    else:
        head += struct.pack("!BQ", bit | 127, len(data))
    if not masked:
        return head + data
    return head + MASK + bytes(byte ^ MASK[at % 4] for at, byte in enumerate(data))


class RawConnection:
    """A raw connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        self.reader = reader
        self.writer = writer
        self.token = token

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def request(self, what: str = "console", guest: str = "web", version: str = "v1", **headers: str | None) -> None:
        """Request a stream; headers with the value None are omitted."""
        path = f"/apis/subresources.kubevirt.io/{version}/namespaces/{NAMESPACE}/virtualmachineinstances/{guest}/{what}"
        given: dict[str, str | None] = {
            "host": "x",
            "authorization": f"Bearer {self.token}",
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": KEY,
            "sec-websocket-protocol": "plain.kubevirt.io",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value is not None)]
        self.send("\r\n".join([*lines, "", ""]).encode())

    async def read_head(self) -> tuple[int, dict[str, str]]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = head.strip().split("\r\n")
        return int(status.split()[1]), dict(line.split(": ", 1) for line in lines)

    async def read_answer(self) -> tuple[int, dict[str, str], Any]:
        status, headers = await self.read_head()
        return status, headers, json.loads(await self.reader.readexactly(int(headers["content-length"])) or "null")

    async def read_frame(self) -> tuple[int, bytes]:
        first, second = await self.reader.readexactly(2)
        assert not second & 0x80, "servers must not mask frames"
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self.reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
        return first & 0x0F, await self.reader.readexactly(size)

    async def read_data(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            opcode, piece = await self.read_frame()
            assert opcode == BINARY
            data += piece
        return data

    async def open(self, what: str = "console") -> None:
        self.request(what)
        status, headers = await self.read_head()
        assert (status, headers["sec-websocket-accept"]) == (101, ACCEPT)


@asynccontextmanager
async def connect(setup: StreamSetup) -> AsyncIterator[RawConnection]:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", setup.port, ssl=trust)
    try:
        yield RawConnection(reader, writer, find_token(setup.system.kubeconfig.read_text()) or "")
    finally:
        writer.close()


@asynccontextmanager
async def opened(folder: Path, what: str = "console") -> AsyncIterator[tuple[StreamSetup, RawConnection]]:
    async with open_stream_setup(folder, "web") as setup, connect(setup) as wire:
        await wire.open(what)
        yield setup, wire


@pytest.mark.parametrize("version", ["v1", "v1alpha3"])
async def test_websocket_handshake_follows_rfc_6455(tmp_path: Path, version: str) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.request(version=version, connection="keep-alive, Upgrade", upgrade="WebSocket")
        status, headers = await wire.read_head()
        assert headers.pop("audit-id")
        assert (status, headers) == (
            101,
            {
                "upgrade": "websocket",
                "connection": "Upgrade",
                "sec-websocket-accept": ACCEPT,
                "sec-websocket-protocol": "plain.kubevirt.io",
            },
        )
        assert await wire.read_frame() == (BINARY, HELLO)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(None, None), ("other", None), ("other, plain.kubevirt.io", "plain.kubevirt.io")],
    ids=["none", "unknown", "one of several"],
)
async def test_only_the_plain_subprotocol_is_chosen(tmp_path: Path, offered: str | None, chosen: str | None) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.request(sec_websocket_protocol=offered)
        status, headers = await wire.read_head()
        assert (status, headers.get("sec-websocket-protocol")) == (101, chosen)


@pytest.mark.parametrize(
    ("what", "headers", "code", "message"),
    [
        ("console", {"upgrade": None, "connection": None}, 400, "connect with a WebSocket"),
        ("console", {"upgrade": "h2c"}, 400, "connect with a WebSocket"),
        ("console", {"sec_websocket_version": "8"}, 400, "the server supports version 13"),
        ("console", {"sec_websocket_key": "short"}, 400, "Sec-WebSocket-Key"),
        ("console", {"sec_websocket_key": None}, 400, "Sec-WebSocket-Key"),
        ("console", {"authorization": None}, 401, "Unauthorized"),
        ("console", {"authorization": "Bearer wrong"}, 401, "Unauthorized"),
        ("console", {"guest": "no"}, 404, '"no" not found'),
    ],
    ids=[
        "no upgrade",
        "other protocol",
        "old version",
        "invalid key",
        "no key",
        "anonymous",
        "wrong token",
        "no guest",
    ],
)
async def test_invalid_handshake_is_rejected_without_closing_the_connection(
    tmp_path: Path, what: str, headers: dict[str, Any], code: int, message: str
) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.request(what, **headers)
        status, _, body = await wire.read_answer()
        assert (status, body["code"], message in body["message"]) == (code, code, True), body
        await wire.open()
        assert await wire.read_frame() == (BINARY, HELLO)


@pytest.mark.parametrize("what", ["portforward", "portforward/", "portforward/x", "portforward/1/tcp/2", "console/1"])
async def test_unknown_stream_paths_return_404(tmp_path: Path, what: str) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.request(what)
        assert (await wire.read_head())[0] == 404


async def test_upgrade_header_on_non_stream_requests_is_ignored(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        head = b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: %b\r\n\r\n"
        wire.send(head % b"h2c" + head % b"websocket" + head % b"h2c")
        assert [(await wire.read_answer())[0] for _ in range(3)] == [200] * 3
        with_body = head.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\ncontent-length: 3\r\n\r\nabc")
        wire.send(with_body % b"h2c")
        assert (await wire.read_answer())[0] == 501


async def test_pipelined_requests_before_an_upgrade_are_answered_first(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.send(b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n" * 2)
        wire.request(f"portforward/{ECHO}")
        wire.send(frame(BINARY, b"early"))
        assert [(await wire.read_answer())[0] for _ in range(2)] == [200] * 2
        assert (await wire.read_head())[0] == 101
        assert await wire.read_frame() == (BINARY, b"early")


def _offer(token: str) -> str:
    return f"base64url.bearer.authorization.k8s.io.{urlsafe_b64encode(token.encode()).decode().rstrip('=')}"


async def test_browser_token_is_accepted_as_a_subprotocol(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.request(authorization=None, sec_websocket_protocol=f"{_offer(wire.token)}, plain.kubevirt.io")
        status, headers = await wire.read_head()
        assert (status, headers["sec-websocket-protocol"]) == (101, "plain.kubevirt.io")


@pytest.mark.parametrize(
    "offers",
    [f"{_offer('wrong')}, plain.kubevirt.io", "base64url.bearer.authorization.k8s.io.%, plain.kubevirt.io", "alone"],
    ids=["wrong", "garbled", "alone"],
)
async def test_invalid_token_in_a_subprotocol_is_rejected(tmp_path: Path, offers: str) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        shown = _offer(wire.token) if offers == "alone" else offers
        wire.request(authorization=None, sec_websocket_protocol=shown)
        assert (await wire.read_answer())[0] == 401


@pytest.mark.parametrize(("role", "status"), [("view", 403), ("edit", 101)])
async def test_console_requires_the_edit_role(tmp_path: Path, role: str, status: int) -> None:
    async with open_stream_setup(tmp_path, "web") as setup, connect(setup) as wire:
        wire.token = await _add_user(setup, role)
        wire.request()
        assert (await wire.read_head())[0] == status


async def _add_user(setup: StreamSetup, role: str) -> str:
    """Return the token of a new user with this role in all namespaces."""
    user = create_user(setup.system.system.directory, setup.system.url, "carol", role=role, by="token")
    for binding in user.bindings:
        await setup.system.client.create(binding)
    return find_token(user.kubeconfig) or ""


PIECES = {
    "in one frame": [frame(BINARY, b"abc")],
    "text frame": [frame(TEXT, b"abc")],
    "in fragments": [frame(BINARY, b"a", fin=False), frame(CONT, b"b", fin=False), frame(CONT, b"c")],
    "with a ping between": [frame(BINARY, b"ab", fin=False), frame(PONG, b"x"), frame(CONT, b"c")],
    "with empty fragments": [frame(BINARY), frame(BINARY, b"a"), frame(BINARY), frame(BINARY, b"bc")],
    "byte by byte": [bytes([byte]) for byte in frame(BINARY, b"abc")],
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
async def test_received_bytes_do_not_depend_on_websocket_framing(tmp_path: Path, pieces: list[bytes]) -> None:
    async with opened(tmp_path, f"portforward/{ECHO}") as (_, wire):
        for piece in pieces:
            wire.send(piece)
            await wire.writer.drain()
        assert await wire.read_data(3) == b"abc"


async def test_fragmented_websocket_message_is_one_datagram(tmp_path: Path) -> None:
    async with opened(tmp_path, f"portforward/{ECHO}/udp") as (_, wire):
        wire.send(frame(BINARY, b"whole ", fin=False) + frame(CONT, b"message") + frame(BINARY, b"next"))
        assert await wire.read_frame() == (BINARY, b"whole message")
        assert await wire.read_frame() == (BINARY, b"next")


async def test_preserve_session_refuses_to_replace_an_existing_vnc_session(tmp_path: Path) -> None:
    async with opened(tmp_path, "vnc") as (setup, first), connect(setup) as second:
        assert await first.read_frame() == (BINARY, GREETING)
        second.request("vnc?preserveSession=true")
        status, _, body = await second.read_answer()
        assert (status, "another client is connected to its VNC display" in body["message"]) == (409, True)
        first.send(frame(BINARY, b"still mine"))
        assert await first.read_frame() == (BINARY, b"still mine")


async def test_ping_is_answered_with_its_payload(tmp_path: Path) -> None:
    async with opened(tmp_path, "vnc") as (_, wire):
        assert await wire.read_frame() == (BINARY, GREETING)
        wire.send(frame(PING, b"are you there"))
        assert await wire.read_frame() == (PONG, b"are you there")


MALFORMED = {
    "not masked": (frame(BINARY, b"abc", masked=False), 1002),
    "reserved bit": (frame(BINARY, b"abc", rsv=0x40), 1002),
    "unknown opcode": (frame(3, b"abc"), 1002),
    "continuation without a start": (frame(CONT, b"abc"), 1002),
    "message within a message": (frame(BINARY, b"a", fin=False) + frame(BINARY, b"b"), 1002),
    "fragmented ping": (frame(PING, b"a", fin=False), 1002),
    "ping too long": (frame(PING, b"a" * 126), 1002),
    "close frame too short": (frame(CLOSE, b"\x03"), 1002),
    "close frame with an invalid code": (frame(CLOSE, struct.pack("!H", 1005)), 1002),
    "frame too large": (struct.pack("!BBQ", 0x82, 0xFF, 5 * 1024 * 1024) + MASK, 1009),
    "frame with a huge length": (struct.pack("!BBQ", 0x82, 0xFF, 2**63) + MASK, 1009),
    "not a frame": (b"GET / HTTP/1.1\r\n\r\n", 1002),
}


@pytest.mark.parametrize(("data", "code"), MALFORMED.values(), ids=MALFORMED)
async def test_invalid_frame_closes_the_stream_with_a_reason(tmp_path: Path, data: bytes, code: int) -> None:
    async with opened(tmp_path) as (setup, wire):
        assert await wire.read_frame() == (BINARY, HELLO)
        wire.send(data)
        opcode, reported = await wire.read_frame()
        assert (opcode, struct.unpack("!H", reported[:2])) == (CLOSE, (code,))
        assert await wire.reader.read() == b""
        await wait_until(lambda: setup.guests.open_consoles == 0)


@pytest.mark.parametrize("reported", [b"", struct.pack("!H", 1000), struct.pack("!H", 4999) + b"so long"])
async def test_close_frame_is_echoed_and_the_connection_closed(tmp_path: Path, reported: bytes) -> None:
    async with opened(tmp_path) as (setup, wire):
        assert await wire.read_frame() == (BINARY, HELLO)
        wire.send(frame(CLOSE, reported))
        assert await wire.read_frame() == (CLOSE, reported)
        assert await wire.reader.read() == b""
        await wait_until(lambda: setup.guests.open_consoles == 0)


async def test_guest_exit_sends_a_close_frame_and_waits_for_the_client(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, wire):
        wire.send(frame(BINARY, b"poweroff"))
        assert await wire.read_data(len(HELLO) + 8) == HELLO + b"poweroff"
        assert await wire.read_frame() == (CLOSE, struct.pack("!H", 1000))
        wire.send(frame(BINARY, b"too late") + frame(CLOSE, struct.pack("!H", 1000)))
        assert await wire.reader.read() == b""


async def test_client_that_sends_no_close_frame_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WebSocket.close, "__defaults__", (1000, "", 0.1))

    async with opened(tmp_path) as (_, wire):
        wire.send(frame(BINARY, b"poweroff"))
        assert await wire.read_data(len(HELLO) + 8) == HELLO + b"poweroff"
        assert (await wire.read_frame())[0] == CLOSE
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await wire.reader.readexactly(1)


async def test_unread_pongs_do_not_fill_memory(tmp_path: Path) -> None:
    async with opened(tmp_path, f"portforward/{CHARGEN}") as (setup, wire):
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        pings = frame(PING, b"x" * 125) * 500
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                while True:
                    wire.send(pings)
                    await wire.writer.drain()
        held = max(connection._transport.get_write_buffer_size() for connection in setup.system.connections)  # noqa: SLF001
        assert held < 2 * 1024 * 1024
        wire.writer.transport.abort()
