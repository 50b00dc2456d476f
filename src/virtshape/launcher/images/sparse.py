"""Write sparse files: blocks of zeros become holes, and the size is limited."""

import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from virtshape.launcher.images.errors import RefusedImageError

_BLOCK: Final = 1 << 16
_ZEROS: Final = bytes(_BLOCK)


class SparseFile:
    """A sparse file that is written once, sequentially."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._limit = limit
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Append bytes, with holes for blocks of zeros; raise RefusedImageError if the file would exceed the limit."""
        if self._limit is not None and self.size + len(chunk) > self._limit:
            raise RefusedImageError(f"the image is larger than the {self._limit} bytes that are allowed")
        for start in range(0, len(chunk), _BLOCK):
            block = chunk[start : start + _BLOCK]
            if block != _ZEROS[: len(block)]:
                self._write_at(block, self.size + start)
        self.size += len(chunk)

    def _write_at(self, block: bytes, offset: int) -> None:
        while block:
            written = os.pwrite(self._descriptor, block, offset)
            block, offset = block[written:], offset + written

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                os.ftruncate(self._descriptor, self.size)
        finally:
            os.close(self._descriptor)
