"""
Unpacking gz and xz files as a stream: never in memory as a whole, and never beyond a limit.

What else is compressed is refused in words.
"""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.progress import Progress, ignore
from virtshape.launcher.images.sparse import SparseFile

_CHUNK: Final = 1 << 20
_XZ_MEMORY: Final = 256 << 20


def unpack(source: Path, form: str, target: Path, limit: int | None, progress: Progress = ignore) -> None:
    """Write what is in a gz or xz file to a name that nobody looks at yet; progress counts the packed bytes."""
    total = source.stat().st_size
    with source.open("rb") as packed, SparseFile(target, limit) as unpacked:
        try:
            for chunk in open_stream(packed, form):
                unpacked.write(chunk)
                progress(min(packed.tell(), total), total)
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError) as error:
            raise RefusedImageError(f"the {form} file is damaged: {error}") from error


def open_stream(packed: BinaryIO, form: str) -> Iterator[bytes]:
    """Read what is in a packed file, piece by piece."""
    if form == "gz":
        return _read_gzip(packed)
    if form == "xz":
        return _read_xz(packed)
    raise RefusedImageError(f"files compressed as {form} cannot be unpacked; gz and xz can")


def _read_gzip(packed: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _read_xz(packed: BinaryIO) -> Iterator[bytes]:
    """Several streams may follow each other, with zeros between them."""
    rest = b""
    while rest := rest.lstrip(b"\0") or packed.read(_CHUNK).lstrip(b"\0"):
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
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
