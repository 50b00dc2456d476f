"""In-memory stream for tests."""

import asyncio

from virtshape.stream.duplex import StreamClosed


class Pipe:
    """One end of a stream: `put` queues data to be read, `written` contains the data written."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self.written = b""
        self.is_closed = False
        self.refusal: Exception | None = None
        self.put(*pieces)

    def put(self, *pieces: bytes | Exception) -> None:
        for piece in pieces:
            self._pieces.put_nowait(piece)

    async def read(self) -> bytes:
        piece = await self._pieces.get()
        if isinstance(piece, Exception):
            raise piece
        return piece

    async def write(self, data: bytes) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.written += data

    async def close(self) -> None:
        self.is_closed = True
        self.put(b"")


GONE = StreamClosed(1006, "gone")
