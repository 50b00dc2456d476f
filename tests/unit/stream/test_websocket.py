"""Both ends of a WebSocket, connected in memory."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from websockets.protocol import Side

from virtshape.stream.duplex import ABNORMAL_CLOSURE, FAILED, NORMAL, TAKEN_OVER, StreamClosed
from virtshape.stream.websocket import MAX_UNREAD, WebSocket

AGES = 1000.0


class FakeTransport:
    """A transport that delivers data to the other end immediately, or buffers it until `deliver` is called."""

    def __init__(self) -> None:
        self.feed: Callable[[bytes], None] = lambda _: None
        self.lose: Callable[[], None] = lambda: None
        self.kept: list[bytes] | None = None
        self.is_reading = True
        self.is_gone = False

    def write(self, data: bytes) -> None:
        if self.kept is None:
            self.feed(data)
        else:
            self.kept.append(data)

    def deliver(self) -> None:
        kept, self.kept = self.kept or [], None
        for data in kept:
            self.feed(data)

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def reads(self) -> bool:
        return self.is_reading

    def is_closing(self) -> bool:
        return self.is_gone

    def close(self) -> None:
        self.is_gone = True
        self.lose()

    abort = close


def connect(*, join_fragments: bool = False) -> tuple[WebSocket, WebSocket, FakeTransport, FakeTransport]:
    """Return the server's end, the client's end, and the transport of each."""
    here, there = FakeTransport(), FakeTransport()
    server = WebSocket(here, Side.SERVER, join_fragments=join_fragments)  # type: ignore[arg-type]
    client = WebSocket(there, Side.CLIENT)  # type: ignore[arg-type]
    here.feed, there.feed = client.receive, server.receive
    here.lose, there.lose = client.lose, server.lose
    return server, client, here, there


def make_idle(socket: WebSocket) -> None:
    """Set the time of the last received frame to a time far in the past."""
    socket._heard_at -= AGES  # noqa: SLF001 - keeps the test short


async def test_websocket_exchanges_data_in_both_directions() -> None:
    server, client, _, _ = connect()
    await client.write(b"up")
    await server.write(b"down")
    assert (await server.read(), await client.read()) == (b"up", b"down")


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (NORMAL, "", None),
        (TAKEN_OVER, "by another", (TAKEN_OVER, "by another")),
        (ABNORMAL_CLOSURE, "cannot be said", (FAILED, "cannot be said")),
        (FAILED, "ü" * 100, (FAILED, "ü" * 61)),
    ],
    ids=["normal closure", "code and reason", "invalid code", "too long reason"],
)
async def test_websocket_close_code_and_reason_are_received_by_the_other_end(
    code: int, reason: str, expected: tuple[int, str] | None
) -> None:
    server, client, _, _ = connect()
    await server.write(b"before")
    closing = asyncio.create_task(server.close(code, reason))
    assert await client.read() == b"before"
    if expected is None:
        assert await client.read() == b""
    else:
        with pytest.raises(StreamClosed) as caught:
            await client.read()
        assert (caught.value.code, caught.value.reason) == expected
    with pytest.raises(StreamClosed):
        await client.write(b"after")
    await closing
    assert await server.read() == b""


async def test_read_and_write_of_a_lost_websocket_connection_raise_an_error() -> None:
    server, client, here, _ = connect()
    reading = asyncio.create_task(client.read())
    await asyncio.sleep(0)
    here.close()
    with pytest.raises(StreamClosed, match="was lost"):
        await reading
    with pytest.raises(StreamClosed, match="was lost"):
        await client.write(b"after")
    server.ping()
    await client.close()


async def test_transport_is_paused_while_too_much_data_is_unread() -> None:
    server, client, here, _ = connect()
    piece = b"x" * 65536
    for _ in range(MAX_UNREAD // len(piece)):
        await client.write(piece)
    assert here.reads()
    await client.write(piece)
    assert not here.reads()
    make_idle(server)
    assert server.measure_silence() < AGES / 2
    await server.read()
    assert here.reads()


async def test_write_waits_while_the_transport_is_full_and_reading_continues() -> None:
    server, client, here, _ = connect()
    server.pause_writing()
    writing = asyncio.create_task(server.write(b"x" * 2_000_000))
    await asyncio.sleep(0)
    await client.write(b"up")
    assert await server.read() == b"up"
    assert here.reads()
    assert not writing.done()
    server.resume_writing()
    await writing


async def test_reading_is_paused_if_the_peer_sends_pings_but_does_not_read() -> None:
    server, client, here, _ = connect()
    here.kept = []
    server.pause_writing()
    for _ in range(70_000):
        client.ping()
        if not here.reads():
            break
    assert not here.reads()
    server.resume_writing()
    assert here.reads()


async def test_websocket_idle_time_is_measured_from_the_last_received_frame() -> None:
    server, _, here, there = connect()
    make_idle(server)
    assert server.measure_silence() >= AGES
    server.ping()
    assert server.measure_silence() < AGES / 2
    here.kept = []
    server.ping()
    there.kept = []
    make_idle(server)
    here.deliver()
    assert server.measure_silence() >= AGES


async def test_websocket_close_without_an_acknowledgement_times_out() -> None:
    server, _, here, _ = connect()
    here.feed = lambda _: None
    await server.close(seconds=0.05)
    assert here.is_gone


async def test_websocket_payload_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server, client, _, _ = connect()
        await client.write(b"password")
        assert await server.read() == b"password"
    assert "password" not in caplog.text
