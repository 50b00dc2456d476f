"""
Extract files from the layers of a container image.

Only the requested regular files are written, under generated names; links, devices and paths in the image are never
followed. Files are returned only after all layers have been read and their digests verified.
"""

import hashlib
import io
import posixpath
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from virtshape.launcher.images.compression import DAMAGED, ChunkReader, open_stream
from virtshape.launcher.images.detection import detect_format
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.manifest import Layer
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.sparse import SparseFile
from virtshape.launcher.images.tar import TarEntry, TarError, TarReader

MAX_ENTRIES: Final = 1_000_000
"""Maximum number of entries in a layer."""
MAX_FILES: Final = 1000
"""Maximum number of files extracted from one image."""
MAX_HIDDEN_BYTES: Final = 16 << 20
"""Maximum memory for the names of files that the layers of an image hide in lower layers."""
_NAME_OVERHEAD: Final = 128
"""Bytes that a set needs for each name, in addition to the length of the name."""
MAX_OTHER_BYTES: Final = 1 << 30
_CHUNK: Final = 1 << 20
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"

OpenLayer = Callable[[Layer, Progress], BinaryIO]


class Found(NamedTuple):
    """An extracted file: its name in the image and its path on disk."""

    name: str
    path: Path


def extract(
    layers: list[Layer],
    open_layer: OpenLayer,
    wanted: Callable[[str], bool],
    target: Path,
    limit: int | None,
    progress: Progress,
) -> list[Found]:
    """
    Extract the wanted files into a directory; files in upper layers hide files in lower layers.

    `limit` is the maximum total size of the files; a layer may unpack to twice that plus MAX_OTHER_BYTES.
    """
    view = _View(wanted, target, limit)
    total = 2 * sum(layer.size for layer in layers) or None  # each layer is fetched, then read
    done = 0
    for layer in reversed(layers):
        with open_layer(layer, _share(progress, done, total)) as packed:
            done += layer.size
            stream = _Stream(packed, limit, _share(progress, done, total))
            view.add_layer(stream)
            stream.require_digest(layer.digest)
        done += layer.size
    return view.found


def find_layer_limit(limit: int | None) -> int | None:
    """Return the maximum size of a layer in an image whose files have at most `limit` bytes."""
    return 2 * limit + MAX_OTHER_BYTES if limit is not None else None


def _share(progress: Progress, before: int, total: int | None) -> Progress:
    return lambda done, _: progress(before + done, total)


class _View:
    """The merged view of the layers read so far, from the top down."""

    def __init__(self, wanted: Callable[[str], bool], target: Path, limit: int | None) -> None:
        self._wanted = wanted
        self._target = target
        self._room = limit
        self._hidden: set[str] = set()
        self._hidden_bytes = 0
        self._taken = 0
        self.found: list[Found] = []

    def add_layer(self, stream: "_Stream") -> None:
        """Extract the wanted files of the next lower layer."""
        hidden: set[str] = set()
        try:
            archive = stream.open_archive()
            for entry in archive:
                name = posixpath.normpath(f"/{entry.name}")
                parent, _, last = name.rpartition("/")
                if last == _OPAQUE:
                    self._hide(parent, hidden)
                elif last.startswith(_WHITEOUT):
                    self._hide(f"{parent}/{last.removeprefix(_WHITEOUT)}", hidden)
                elif self._wanted(name) and not self._is_hidden(name):
                    self._take(archive, entry, name, stream.beat)
                    self._hide(name, hidden)
        except (TarError, *DAMAGED) as error:
            raise RefusedImageError(f"a layer of the container image is damaged: {error}") from error
        self._hidden |= hidden

    def _hide(self, name: str, hidden: set[str]) -> None:
        if name not in hidden:
            self._hidden_bytes += len(name) + _NAME_OVERHEAD
            hidden.add(name)
        if self._hidden_bytes > MAX_HIDDEN_BYTES:
            raise RefusedImageError(
                f"the names that the container image's layers delete exceed the limit of {MAX_HIDDEN_BYTES} bytes"
            )

    def _is_hidden(self, name: str) -> bool:
        return any(part in self._hidden for part in _list_ancestors(name))

    def _take(self, archive: TarReader, entry: TarEntry, name: str, beat: Callable[[], None]) -> None:
        if entry.kind == "directory":
            return
        if entry.kind != "file":
            raise RefusedImageError(f"{name} in the container image is not a file but a link or a device")
        self._taken += 1
        if self._taken > MAX_FILES:
            raise RefusedImageError(f"the container image has more than {MAX_FILES} matching files")
        self.found = [one for one in self.found if one.name != name]
        path = self._target / f"file-{self._taken}"
        with SparseFile(path, self._room) as file:
            while chunk := archive.read(_CHUNK):
                beat()
                file.write(chunk)
        if self._room is not None:
            self._room -= file.size
        self.found.append(Found(name, path))


def _list_ancestors(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition("/")[0]


class _Stream:
    """Reads a layer and computes its digest."""

    def __init__(self, packed: BinaryIO, limit: int | None, progress: Progress) -> None:
        self._packed = packed
        self._limit = find_layer_limit(limit)
        self._progress = progress
        self._digest = hashlib.sha256()
        self._read = 0

    def open_archive(self) -> TarReader:
        """Return a reader for the entries of the layer."""
        head = self._packed.read(8)
        self._packed.seek(0)
        form = detect_format(head)
        reader: io.RawIOBase = _Counted(self._packed, self._count)
        if form != "raw":
            reader = ChunkReader(open_stream(io.BufferedReader(reader), form))
        return TarReader(io.BufferedReader(reader, _CHUNK), most_entries=MAX_ENTRIES, limit=self._limit)

    def _count(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._read += len(chunk)
        self.beat()

    def beat(self) -> None:
        """Report how many bytes of the layer were read."""
        self._progress(self._read, None)

    def require_digest(self, digest: str) -> None:
        """Read the rest of the layer and verify its digest."""
        while chunk := self._packed.read(_CHUNK):
            self._count(chunk)
        if f"sha256:{self._digest.hexdigest()}" != digest:
            raise RefusedImageError(f"a layer of the container image is damaged: it does not have the digest {digest}")


class _Counted(io.RawIOBase):
    """A file that passes each chunk that is read to a callback."""

    def __init__(self, file: BinaryIO, seen: Callable[[bytes], None]) -> None:
        self._file = file
        self._seen = seen

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # callers always pass a memoryview
        chunk = self._file.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self._seen(chunk)
        return len(chunk)
