"""UDP datagrams as messages of a stream."""

import asyncio

import pytest
from tests.support.echoguests import connect_udp

from virtshape.stream.datagrams import MAX_UNREAD, DatagramStream
from virtshape.stream.duplex import StreamClosed


class _Repeat(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(data * 2, addr)


async def test_each_datagram_is_one_message_until_the_stream_is_closed() -> None:
    loop = asyncio.get_running_loop()
    server, _ = await loop.create_datagram_endpoint(_Repeat, local_addr=("127.0.0.1", 0))
    stream = await connect_udp(server.get_extra_info("sockname")[1])
    for message in (b"a", b"bc"):
        await stream.write(message)
        assert await stream.read() == message * 2
    reading = asyncio.create_task(stream.read())
    await asyncio.sleep(0)
    await stream.close()
    assert (await reading, await stream.read()) == (b"", b"")
    with pytest.raises(StreamClosed):
        await stream.write(b"late")
    server.close()


async def test_empty_datagrams_and_datagrams_beyond_the_unread_limit_are_dropped() -> None:
    stream = DatagramStream()
    stream.datagram_received(b"", ("x", 1))
    for number in range(MAX_UNREAD + 10):
        stream.datagram_received(b"%d" % number, ("x", 1))
    stream.error_received(OSError("no such port"))
    assert [await stream.read() for _ in range(2)] == [b"0", b"1"]
    assert stream._unread.qsize() == MAX_UNREAD - 2  # noqa: SLF001
