"""
Decompress gz, xz and bz2 files as streams, with limited memory and output size.

Other compression formats are refused.
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
"""Memory limit of the xz decompressor; the highest preset needs 65 MiB."""
DAMAGED: Final = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError)
"""Errors for damaged input; `open_stream` also turns the OSError of bz2 into EOFError."""


class _Decompressor(Protocol):
    """The common interface of the xz and bz2 decompressors in the standard library."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def unpack(source: Path, form: str, target: Path, limit: int | None, progress: Progress = ignore) -> None:
    """Decompress a file to a target of at most `limit` bytes; progress counts compressed bytes."""
    total = source.stat().st_size
    with source.open("rb") as packed, SparseFile(target, limit) as unpacked:
        try:
            for chunk in open_stream(packed, form):
                unpacked.write(chunk)
                progress(min(packed.tell(), total), total)
        except DAMAGED as error:
            raise RefusedImageError(f"the {form} file is damaged: {error}") from error


def open_stream(packed: BinaryIO, form: str) -> Iterator[bytes]:
    """Return an iterator over decompressed chunks of at most 1 MiB; raise RefusedImageError for other formats."""
    if form == "gz":
        return _read_gzip(packed)
    if form == "xz":
        return _read_streams(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY))
    if form == "bz2":
        return _read_bz2(packed)
    raise RefusedImageError(f"compression format {form} is not supported: use gz, xz or bz2")


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
    """Yield the content of concatenated streams, which may have zeros between them."""
    rest = b""
    while rest := rest.lstrip(b"\0") or packed.read(_CHUNK).lstrip(b"\0"):
        stream = make()
        chunk = stream.decompress(rest, _CHUNK)
        while not stream.eof:
            if chunk:
                yield chunk
            more = packed.read(_CHUNK) if stream.needs_input else b""
            if stream.needs_input and not more:
                raise EOFError("unexpected end of data")
            chunk = stream.decompress(more, _CHUNK)
        if chunk:
            yield chunk
        rest = stream.unused_data


class ChunkReader(io.RawIOBase):
    """A readable file over an iterator of chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True, because the file is always readable."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # callers always pass a memoryview
        """Read at most the rest of the current chunk into a buffer."""
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
