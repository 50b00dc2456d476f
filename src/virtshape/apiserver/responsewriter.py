"""
Write HTTP/1.1 responses to a transport, as fast as the client reads them.

Large bodies and chunks are written in slices: the client reads one slice while the next is encrypted, and the
transport never buffers much of a response. The memory budget counts what a slow client has not read.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any, Final

from virtshape.apiserver.memorybudget import Abort, MemoryBudget
from virtshape.apiserver.message import AUDIT_ID, AnyResponse, Request

SLICE: Final = 64 * 1024
SLICES_AT_ONCE: Final = 32
"""Number of slices that are written before the event loop handles other connections, if the client reads fast."""

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


def encode_head(request: Request, response: AnyResponse, *, before: str = "", after: str = "") -> bytes:
    """Return the status line and all headers; `before` and `after` are lines around the headers of the response."""
    own = "".join([f"{name}: {value}\r\n" for name, value in response.headers]) if response.headers else ""
    head = f"{_STATUS_LINES[response.status]}{before}{AUDIT_ID}: {request.audit_id}\r\n{own}{after}\r\n"
    return head.encode("latin-1")


class ResponseWriter:
    """
    Writes the responses of one connection, one at a time.

    `on_sent` is called when the whole body of a response has been written. If the writer interrupts a body for other
    connections, it schedules `proceed`, which must call `write_rest`. `abort` identifies the connection in the memory
    budget, which calls it to close the connection if too many bytes are unsent.
    """

    __slots__ = (
        "_abort",
        "_held",
        "_memory",
        "_on_sent",
        "_proceed",
        "_transport",
        "_unsent",
        "_writable",
        "is_writable",
    )

    def __init__(
        self,
        transport: Any,
        memory: MemoryBudget,
        abort: Abort,
        on_sent: Callable[[], None],
        proceed: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._memory = memory
        self._abort = abort
        self._on_sent = on_sent
        self._proceed = proceed
        self._unsent: memoryview | None = None
        self._held = 0  # size of the body or chunk being sent, which stays in memory until all of it is sent
        self._writable = asyncio.Event()
        self._writable.set()
        self.is_writable = True
        """False while the client must read before more is written."""

    @property
    def is_sending(self) -> bool:
        """True while a part of a body has not been written yet."""
        return self._unsent is not None

    @property
    def is_ready(self) -> bool:
        """True if the next response can be written."""
        return self._unsent is None and self.is_writable

    def pause(self) -> None:
        """Stop writing until the client has read more."""
        self.is_writable = False
        self._writable.clear()
        self._memory.hold(self._abort, self._held + self._transport.get_write_buffer_size())

    def resume(self) -> None:
        """Allow writing again; `write_rest` continues a body."""
        self.is_writable = True
        self._writable.set()

    def lose(self) -> None:
        """Drop the unsent bytes, because the connection is closed."""
        self.resume()
        self._unsent = None
        self._memory.drop(self._abort)

    def write(self, head: bytes, body: bytes) -> None:
        """Write the head and the first slice of the body, and the other slices as the client reads."""
        self._transport.write(head + body[:SLICE])
        if len(body) > SLICE:
            self._held = len(body)
            self._unsent = memoryview(body)[SLICE:]
            self.write_rest()
        else:
            self._on_sent()

    def write_rest(self) -> None:
        """Write the unsent slices of a body while the client reads them; let other connections run in between."""
        if self._unsent is None:
            if self.is_writable:
                self._memory.drop(self._abort)
            return
        for _ in range(SLICES_AT_ONCE):
            if not self.is_writable:
                return
            self._transport.write(self._unsent[:SLICE])
            if len(self._unsent) <= SLICE:
                self._unsent = None
                self._held = 0
                self._on_sent()
                return
            self._unsent = self._unsent[SLICE:]
        asyncio.get_running_loop().call_soon(self._proceed)

    async def write_chunks(self, chunks: AsyncIterator[bytes]) -> None:
        """Write a body with chunked transfer encoding, except for the final empty chunk."""
        try:
            async for chunk in chunks:
                self._held = len(chunk)
                for at in range(0, len(chunk), SLICE):
                    piece = chunk[at : at + SLICE]
                    self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    if not self.is_writable:
                        await self._writable.wait()
                self._held = 0
                del chunk  # the chunk must not stay in memory until the next one is available
        finally:
            self._held = 0
