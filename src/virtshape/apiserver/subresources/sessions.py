"""
One at a time at a console or a screen: whoever comes next takes the seat, and the one before is told so.

Opens nothing itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from weakref import WeakValueDictionary

from virtshape.stream.duplex import TAKEN_OVER, Duplex, HangUp


class ExclusiveStream:
    """A stream whose user can be asked to leave."""

    def __init__(self, stream: Duplex, leave: Callable[["ExclusiveStream"], None]) -> None:
        self._stream = stream
        self._leave = leave
        self._reason: HangUp | None = None

    async def read(self) -> bytes:
        """The next bytes; HangUp with the reason once somebody else has the seat."""
        try:
            data = await self._stream.read()
        except (HangUp, OSError):
            if self._reason is None:
                raise
            data = b""
        if not data and self._reason is not None:
            raise self._reason
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        if self._reason is not None:
            raise self._reason
        await self._stream.write(data)

    async def close(self) -> None:
        """Let go of it."""
        self._leave(self)
        await self._stream.close()

    async def evict(self, words: str) -> None:
        """Have the user leave; returns when the stream is closed."""
        self._reason = HangUp(TAKEN_OVER, words)
        await self.close()


class ExclusiveSessions:
    """Who has which seat."""

    def __init__(self) -> None:
        self._taken: dict[Hashable, ExclusiveStream] = {}
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def is_taken(self, seat: Hashable) -> bool:
        """Whether somebody has the seat."""
        return seat in self._taken

    async def take(self, seat: Hashable, open_stream: Callable[[], Awaitable[Duplex]], words: str) -> Duplex:
        """The stream that belongs to a seat; who had it before is told these words and has left by then."""
        lock = self._locks.setdefault(seat, asyncio.Lock())
        async with lock:
            before = self._taken.get(seat)
            if before is not None:
                await before.evict(words)
            seated = ExclusiveStream(await open_stream(), lambda leaving: self._free(seat, leaving))
            self._taken[seat] = seated
            return seated

    def _free(self, seat: Hashable, leaving: ExclusiveStream) -> None:
        if self._taken.get(seat) is leaving:
            del self._taken[seat]
