"""Request bodies that are read while they are received."""

import asyncio

from virtshape.apiserver.incoming import MAX_UNREAD, IncomingBody


class FakeConnection:
    """A fake connection that counts 100 Continue responses and records when reading is throttled."""

    def __init__(self) -> None:
        self.invited = 0
        self.throttled: list[bool] = []
        self.body = IncomingBody(self._invite, self.throttled.append)

    def _invite(self) -> None:
        self.invited += 1


async def test_read_returns_all_received_bytes_of_a_body() -> None:
    sender = FakeConnection()
    sender.body.feed(b"one ")
    sender.body.feed(b"two")
    assert await sender.body.read() == b"one two"
    sender.body.end()
    assert (await sender.body.read(), sender.body.is_ended) == (b"", True)


async def test_read_of_a_body_waits_for_data() -> None:
    sender = FakeConnection()
    reading = asyncio.create_task(sender.body.read())
    await asyncio.sleep(0)
    assert not reading.done()
    sender.body.feed(b"late")
    assert await reading == b"late"


async def test_first_read_of_a_body_sends_100_continue() -> None:
    sender = FakeConnection()
    assert sender.invited == 0
    sender.body.feed(b"x")
    await sender.body.read()
    sender.body.feed(b"y")
    await sender.body.read()
    assert sender.invited == 1


async def test_fast_sender_is_throttled_until_its_data_is_read() -> None:
    sender = FakeConnection()
    piece = bytes(MAX_UNREAD // 4)
    for _ in range(6):
        sender.body.feed(piece)
    assert sender.throttled == [True]
    assert len(await sender.body.read()) == 6 * len(piece)
    assert sender.throttled == [True, False]


async def test_data_of_a_discarded_body_is_dropped_without_throttling() -> None:
    sender = FakeConnection()
    sender.body.feed(bytes(MAX_UNREAD + 1))
    sender.body.discard()
    sender.body.feed(bytes(MAX_UNREAD + 1))
    assert sender.throttled == [True, False]
    sender.body.end()
    assert await sender.body.read() == b""
