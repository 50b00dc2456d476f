"""
The file in a form, while the form still comes: the first field called `file`.

Pure but for what it reads from; holds no more than one piece.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

LARGEST_HEAD: Final = 64 * 1024
_BOUNDARY: Final = re.compile(r'multipart/form-data\s*;.*?boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
_NAME: Final = re.compile(rb'[;\s]name="?([^";\r\n]*)"?', re.IGNORECASE)
_FIELD: Final = b"file"

Read = Callable[[], Awaitable[bytes]]
"""The next bytes of a body; none at its end."""


class FormError(Exception):
    """A body that is no form with a file in it."""


async def read_file(read: Read, content_type: str) -> AsyncIterator[bytes]:
    """The pieces of the file; all other fields are passed over."""
    stated = _BOUNDARY.search(content_type)
    if stated is None:
        raise FormError("this is no form: its content type names no boundary")
    form = _Form(read, (stated[1] or stated[2]).encode())
    await form.skip_preamble()
    while (head := await form.read_head()) is not None:
        name = _NAME.search(head)
        async for piece in form.read_field():
            if name is not None and name[1] == _FIELD:
                yield piece
        if name is not None and name[1] == _FIELD:
            await form.skip_rest()
            return
    raise FormError('the form has no field "file"')


class _Form:
    """The fields of a form, one after another."""

    def __init__(self, read: Read, boundary: bytes) -> None:
        self._read = read
        self._delimiter = b"\r\n--" + boundary
        self._rest = b"\r\n"  # so that the first delimiter looks like all others

    async def skip_preamble(self) -> None:
        async for _ in self.read_field():
            pass

    async def read_head(self) -> bytes | None:
        """The head of the next field; None behind the last one."""
        while len(self._rest) < 2:
            await self._grow()
        if self._rest.startswith(b"--"):
            return None
        while (end := self._rest.find(b"\r\n\r\n")) < 0:
            if len(self._rest) > LARGEST_HEAD:
                raise FormError("the head of a field is too large")
            await self._grow()
        head, self._rest = self._rest[:end], self._rest[end + 4 :]
        return head

    async def read_field(self) -> AsyncIterator[bytes]:
        """The content of the field, up to the delimiter behind it."""
        while (at := self._rest.find(self._delimiter)) < 0:
            safe = len(self._rest) - len(self._delimiter) + 1
            if safe > 0:
                piece, self._rest = self._rest[:safe], self._rest[safe:]
                yield piece
            await self._grow()
        piece, self._rest = self._rest[:at], self._rest[at + len(self._delimiter) :]
        if piece:
            yield piece

    async def skip_rest(self) -> None:
        """Read to the end of the body, which a client sends whatever comes of it."""
        self._rest = b""
        while await self._read():
            pass

    async def _grow(self) -> None:
        data = await self._read()
        if not data:
            raise FormError("the form breaks off")
        self._rest += data
