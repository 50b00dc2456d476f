"""
Read tar archives as streams, with limited memory.

Python's tarfile keeps every entry in memory, reads sparse maps and pax headers without a limit, and parses headers in
quadratic time in some supported versions. This reader supports ustar, GNU long names and pax, keeps one entry at a
time, and enforces limits. The reader writes no files; callers must validate names and links.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, Protocol

BLOCK: Final = 512
MAX_NAME_LENGTH: Final = 4096
"""Maximum length of an entry or link name in bytes, the same as for paths in Linux."""
MAX_HEADER_BYTES: Final = 1 << 20
"""Maximum size of the extended headers (pax records, GNU long names) of one entry."""
_CHUNK: Final = 1 << 20

Kind = Literal["file", "directory", "hardlink", "symlink", "other"]
_KINDS: Final[dict[bytes, Kind]] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"5": "directory",
}
_PAX: Final = (b"x", b"X")
_PAX_GLOBAL: Final = b"g"
_GNU_NAME: Final = b"L"
_GNU_LINK: Final = b"K"
_GNU_SPARSE: Final = b"S"
_POSIX_MAGIC: Final = b"ustar\0"


class TarError(Exception):
    """The archive is damaged or exceeds a limit."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, or b"" at the end."""


class TarEntry(NamedTuple):
    """An entry; `offset` is the position of its content in the stream."""

    name: str
    kind: Kind
    size: int
    mode: int
    mtime: int
    link: str
    offset: int


class _Extension(NamedTuple):
    """Values from the extended headers before an entry."""

    name: bytes | None = None
    link: bytes | None = None
    size: int | None = None
    bytes: int = 0


class TarReader:
    """
    Iterates over the entries of a tar stream.

    `read` returns the content of the current entry; the iterator skips unread content. The stream may have
    at most `limit` bytes and `most_entries` entries.
    """

    def __init__(self, stream: Readable, *, most_entries: int, limit: int | None = None) -> None:
        self._stream = stream
        self._most_entries = most_entries
        self._limit = limit
        self._position = 0
        self._content = 0
        self._padding = 0

    def __iter__(self) -> Iterator[TarEntry]:
        """Yield the entries in order; raise TarError if the archive is invalid."""
        count, extension = 0, _Extension()
        while (block := self._read_header()) is not None:
            kind, size = block[156:157], _parse_number(block[124:136])
            if kind in (*_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_LINK):
                extension = self._extend(extension, kind, size)
                continue
            count += 1
            if count > self._most_entries:
                raise TarError(f"it has more than {self._most_entries} entries")
            entry = self._describe(block, kind, size, extension)
            extension = _Extension()
            self._content = entry.size if entry.kind == "file" else 0
            self._padding = -self._content % BLOCK
            yield entry
            self._skip()
        if extension.bytes:
            raise TarError("it ends after a header that belongs to no entry")
        if count == 0 and self._position == 0:
            raise TarError("it is empty")

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes of the current entry, or b"" at its end."""
        wanted = min(size, self._content)
        chunk = self._read(wanted) if wanted else b""
        if wanted and not chunk:
            raise TarError("it ends in the middle of a file")
        self._content -= len(chunk)
        return chunk

    def _skip(self) -> None:
        while self.read(_CHUNK):
            pass
        # Some writers omit the padding of the last file.
        while self._padding and (chunk := self._read(self._padding)):
            self._padding -= len(chunk)

    def _read_header(self) -> bytes | None:
        """Return the next header, or None at the end of the archive."""
        block = self._read_block(BLOCK)
        if not block or not any(block):
            return None
        if len(block) < BLOCK:
            raise TarError("it ends in the middle of a header")
        if not _has_checksum(block):
            raise TarError("a header has a wrong checksum, or this is not a tar archive")
        return block

    def _extend(self, extension: _Extension, kind: bytes, size: int) -> _Extension:
        total = extension.bytes + size + BLOCK
        if total > MAX_HEADER_BYTES:
            raise TarError(f"the headers of an entry have more than {MAX_HEADER_BYTES} bytes")
        content = self._read_block(size + -size % BLOCK)[:size]
        if len(content) < size:
            raise TarError("it ends in the middle of a header")
        extension = extension._replace(bytes=total)
        if kind == _GNU_NAME:
            return extension._replace(name=content.partition(b"\0")[0])
        if kind == _GNU_LINK:
            return extension._replace(link=content.partition(b"\0")[0])
        # Global records contain only comments and defaults, which are not used.
        return _apply_pax(extension, content) if kind in _PAX else extension

    def _describe(self, block: bytes, kind: bytes, size: int, extension: _Extension) -> TarEntry:
        name, link = _text(block[:100]), _text(block[157:257])
        prefix = _text(block[345:500]) if block[257:263] == _POSIX_MAGIC else b""
        name = b"/".join((prefix, name)) if prefix else name
        name = extension.name if extension.name is not None else name
        link = extension.link if extension.link is not None else link
        if max(len(name), len(link)) > MAX_NAME_LENGTH:
            raise TarError(f"it has a name of more than {MAX_NAME_LENGTH} bytes")
        if kind == _GNU_SPARSE:
            raise TarError(_SPARSE)
        what = _KINDS.get(kind, "other")
        if what == "file" and name.endswith(b"/"):  # old archives have no type for directories
            what = "directory"
        return TarEntry(
            name=_decode(name),
            kind=what,
            size=extension.size if extension.size is not None else size,
            mode=_parse_number(block[100:108]) & 0o7777,
            mtime=_parse_number(block[136:148]),
            link=_decode(link),
            offset=self._position,
        )

    def _read_block(self, size: int) -> bytes:
        parts = []
        while size and (chunk := self._read(size)):
            parts.append(chunk)
            size -= len(chunk)
        return b"".join(parts)

    def _read(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        self._position += len(chunk)
        if self._limit is not None and self._position > self._limit:
            raise TarError(f"it unpacks to more than the {self._limit} bytes that are allowed")
        return chunk


_SPARSE: Final = "it has sparse files, which are not supported: create it without --sparse"


def _has_checksum(block: bytes) -> bool:
    """Return True if the header's checksum is correct; some writers sum signed bytes."""
    stated = block[148:156].strip(b" \0")
    if not stated.isdigit() or stated.strip(b"01234567"):
        return False
    wanted, rest = int(stated, 8), block[:148] + block[156:]
    found = sum(rest) + 8 * 0x20
    return wanted == found or wanted == found - 256 * sum(byte > 127 for byte in rest)


def _apply_pax(extension: _Extension, content: bytes) -> _Extension:
    """Return the extension updated from pax records: each record is `LENGTH KEY=VALUE` and a newline."""
    start = 0
    while start < len(content) and content[start] != 0:
        digits = content[start : start + 20].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = content[start + len(digits) + 1 : start + length]
        if length <= len(digits) + 1 or start + length > len(content) or not record.endswith(b"\n"):
            raise TarError("a pax header is damaged")
        key, _, value = record[:-1].partition(b"=")
        if key.startswith(b"GNU.sparse."):
            raise TarError(_SPARSE)
        if key == b"path":
            extension = extension._replace(name=value)
        elif key == b"linkpath":
            extension = extension._replace(link=value)
        elif key == b"size":
            if not value.isdigit() or len(value) > 19:
                raise TarError("a pax header has a size that is not a number")
            extension = extension._replace(size=int(value))
        start += length
    return extension


def _parse_number(field: bytes) -> int:
    """Parse a number in a header: octal digits, or binary if the first byte is 0x80."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = _text(field).strip()
    if not digits:
        return 0
    if field[0] >= 0x80 or digits.strip(b"01234567"):
        raise TarError("a header has a number that cannot be read")
    return int(digits, 8)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
