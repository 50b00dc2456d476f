"""
Extraction of tar archives into a scratch directory, from which the files are moved into the volume.

Links are never followed: each path component is opened relative to its parent, as a directory that is not a link.
Links, devices and paths outside of the volume are refused.
"""

import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from virtshape.launcher.images.compression import DAMAGED, ChunkReader, open_stream
from virtshape.launcher.images.detection import HEAD, detect_format
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.tar import TarEntry, TarError, TarReader
from virtshape.standalone.storage.diskspace import MARGIN
from virtshape.standalone.storage.files import make_directory
from virtshape.standalone.storage.trees import DEEPEST, DIRECTORY, Usage, create_file, open_directory

MAX_COMPONENT_LENGTH: Final = 255
_CHUNK: Final = 1 << 20


def unpack_archive(source: Path, target: Path, size: int, scratch: Path, progress: Progress) -> None:
    """Extract a tar file, compressed or not, into a volume of `size` bytes."""
    tree = scratch / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    make_directory(tree)
    try:
        with source.open("rb") as packed:
            _unpack(packed, tree, size, progress)
    except (TarError, *DAMAGED) as error:
        shutil.rmtree(tree, ignore_errors=True)
        raise RefusedImageError(f"the archive cannot be unpacked: {error}") from error
    except BaseException:
        shutil.rmtree(tree, ignore_errors=True)
        raise
    for path in tree.iterdir():
        place = target / path.name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        path.replace(place)


def _unpack(packed: BinaryIO, tree: Path, size: int, progress: Progress) -> None:
    total = os.fstat(packed.fileno()).st_size
    usage = Usage("the archive", size)
    reader = TarReader(_open(packed), most_entries=usage.most_entries, limit=size + MARGIN)
    with open_directory(tree) as root:
        for entry in reader:
            progress(min(packed.tell(), total), total)
            path = split_name(entry)
            if entry.kind == "directory":
                with _enter(root, path, usage):
                    pass
            elif entry.kind == "file":
                usage.add_file(entry.size)
                with _enter(root, path[:-1], usage) as parent:
                    _write(reader, entry, parent, path[-1], lambda: progress(min(packed.tell(), total), total))


def _open(packed: BinaryIO) -> io.BufferedReader:
    form = detect_format(packed.read(HEAD))
    packed.seek(0)
    chunks = open_stream(packed, form) if form != "raw" else iter(lambda: packed.read(_CHUNK), b"")
    return io.BufferedReader(ChunkReader(chunks), _CHUNK)


def split_name(entry: TarEntry) -> list[str]:
    """Return the components of an entry's path; raise RefusedImageError if the entry must not be extracted."""
    if entry.kind not in ("file", "directory"):
        what = {"symlink": "a symbolic link", "hardlink": "a hard link"}.get(entry.kind, "a device or a pipe")
        raise RefusedImageError(
            f"the archive contains {what}, {entry.name[:200]!r}: only files and directories can be used"
        )
    parts = [part for part in entry.name.split("/") if part not in ("", ".")]
    if entry.name.startswith("/") or ".." in parts or "\0" in entry.name:
        raise RefusedImageError(f"the archive contains a path outside of the volume: {entry.name[:200]!r}")
    if len(parts) > DEEPEST:
        raise RefusedImageError(
            f"the archive contains a path with more than {DEEPEST} directories: {entry.name[:200]!r}"
        )
    if any(len(os.fsencode(part)) > MAX_COMPONENT_LENGTH for part in parts):
        raise RefusedImageError(f"the archive contains a file name of more than {MAX_COMPONENT_LENGTH} bytes")
    if not parts and entry.kind == "file":
        raise RefusedImageError("the archive contains a file without a name")
    return parts


@contextmanager
def _enter(root: int, path: list[str], usage: Usage) -> Iterator[int]:
    """Open a directory below another one; create and count missing directories."""
    descriptor = os.dup(root)
    try:
        for part in path:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=descriptor)
                usage.add_directory()
            try:
                child = os.open(part, DIRECTORY, dir_fd=descriptor)
            except NotADirectoryError:
                raise RefusedImageError(f"the archive contains {part!r} both as a file and as a directory") from None
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def _write(reader: TarReader, entry: TarEntry, parent: int, name: str, progress: Callable[[], None]) -> None:
    """Write the content of the current entry to a new file; replace a file from an earlier entry."""
    try:
        descriptor = create_file(name, parent)
    except FileExistsError:
        if stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            raise RefusedImageError(f"the archive contains {name!r} both as a file and as a directory") from None
        os.unlink(name, dir_fd=parent)
        descriptor = create_file(name, parent)
    try:
        while chunk := reader.read(_CHUNK):
            progress()
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, entry.mode & 0o755 | 0o600)
        moment = min(entry.mtime, 1 << 33)
        os.utime(descriptor, (moment, moment))
    finally:
        os.close(descriptor)
