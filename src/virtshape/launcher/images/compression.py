"""
Unpack gz, xz and bz2 files as a stream: never in memory as a whole, and never beyond a limit.

Other kinds of compression are refused.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.progress import Progress, ignore
from virtshape.launcher.images.sparse import SparseFile

_CHUNK: Final = 1 << 20
_XZ_MEMORY: Final = 96 << 20
"""What unpacking may take: the highest preset of `xz` needs 65 MiB."""
DAMAGED: Final = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError)
"""What unpacking raises for damaged input; bz2 raises OSError in addition, which `open_stream` turns into EOFError."""


class _Decompressor(Protocol):
    """What xz and bz2 have in common in the standard library."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def unpack(source: Path, form: str, target: Path, limit: int | None, progress: Progress = ignore) -> None:
    """Unpack a file to a name that nobody looks at yet, at most `limit` bytes; progress counts the packed bytes."""
    total = source.stat().st_size
    with source.open("rb") as packed, SparseFile(target, limit) as unpacked:
        try:
            for chunk in open_stream(packed, form):
                unpacked.write(chunk)
                progress(min(packed.tell(), total), total)
        except DAMAGED as error:
            raise RefusedImageError(f"the {form} file is damaged: {error}") from error


def open_stream(packed: BinaryIO, form: str) -> Iterator[bytes]:
    """Yield what is in a packed file, at most a megabyte at a time."""
    if form == "gz":
        return _read_gzip(packed)
    if form == "xz":
        return _read_streams(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))
    if form == "bz2":
        return _read_bz2(packed)
    raise RefusedImageError(f"files compressed as {form} cannot be unpacked; gz, xz and bz2 can")


def _read_gzip(packed: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _read_bz2(packed: BinaryIO) -> Iterator[bytes]:
    try:
        yield from _read_streams(packed, bz2.BZ2Decompressor)
    except OSError as error:
        if error.errno is not None:
            raise
        raise EOFError(str(error)) from error


def _read_streams(packed: BinaryIO, make: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Several streams may follow each other, with zeros between them."""
    rest = b""
    while rest := rest.lstrip(b"\0") or packed.read(_CHUNK).lstrip(b"\0"):
        stream = make()
        chunk = stream.decompress(rest, _CHUNK)
        while not stream.eof:
            if chunk:
                yield chunk
            more = packed.read(_CHUNK) if stream.needs_input else b""
            if stream.needs_input and not more:
                raise EOFError("it ends too early")
            chunk = stream.decompress(more, _CHUNK)
        if chunk:
            yield chunk
        rest = stream.unused_data


class ChunkReader(io.RawIOBase):
    """A file made of chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True: it can only be read."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # only ever given one
        """Fill a buffer as far as the next chunk goes."""
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
