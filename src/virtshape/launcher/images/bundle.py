"""
Read container images from files: OCI layouts in a directory or tar archive, and `docker save` archives.

Manifest digests are verified here, and layer digests when files are extracted.
"""

import io
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.manifest import (
    MAX_INDEX_DEPTH,
    MAX_MANIFEST_BYTES,
    Descriptor,
    Layer,
    choose_image,
    digest_of,
    find_config,
    list_layers,
    parse_manifest,
    require_digest,
)
from virtshape.launcher.images.tar import TarError, TarReader

_LAYOUT: Final = "oci-layout"
_INDEX: Final = "index.json"
_DOCKER_MANIFEST: Final = "manifest.json"
MAX_ENTRIES: Final = 100_000
_TAR_MAGIC: Final = b"ustar"
_TAR_MAGIC_AT: Final = 257


class ImageContent(NamedTuple):
    """Digest of an image, its layers (lowest first), and the blob with its configuration, if any."""

    digest: str
    layers: list[Layer]
    config: Layer | None = None


class Bundle(Protocol):
    """The files of a container image, by name."""

    def has(self, name: str) -> bool:
        """Return True if there is a file with this name."""

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading."""


class DirectoryBundle:
    """A bundle in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def has(self, name: str) -> bool:
        """Return True if there is a file with this name."""
        return (self._directory / name).is_file()

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading; refuse links that point out of the directory."""
        path = (self._directory / name).resolve()
        if not path.is_relative_to(self._directory.resolve()) or not path.is_file():
            raise RefusedImageError(f"the container image has no file {name}")
        return path.open("rb")


class ArchiveBundle:
    """A bundle in an uncompressed tar archive."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        reader = TarReader(file, most_entries=MAX_ENTRIES)
        self._entries = {entry.name.removeprefix("./"): entry for entry in reader}

    def has(self, name: str) -> bool:
        """Return True if there is a file with this name."""
        return name in self._entries

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading; follow links in the archive, which Docker uses for identical layers."""
        entry = self._entries.get(name)
        if entry is not None and entry.kind in ("hardlink", "symlink"):
            base = posixpath.dirname(name) if entry.kind == "symlink" else ""
            entry = self._entries.get(posixpath.normpath(posixpath.join(base, entry.link)))
        if entry is None or entry.kind != "file":
            raise RefusedImageError(f"the container image has no file {name}")
        return io.BufferedReader(_Section(self._file, entry.offset, entry.size))


class _Section(io.RawIOBase):
    """A section of a file, as a seekable file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # callers always pass a memoryview
        wanted = max(0, min(len(buffer), self._size - self._position))
        chunk = os.pread(self._file.fileno(), wanted, self._start + self._position)
        buffer[: len(chunk)] = chunk
        self._position += len(chunk)
        return len(chunk)


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Open a container image in a directory or archive."""
    if path.is_dir():
        yield DirectoryBundle(path)
        return
    with path.open("rb") as file:
        try:
            bundle = ArchiveBundle(file)
        except TarError as error:
            raise RefusedImageError(f"{path} is not an archive of a container image: {error}") from error
        yield bundle


def is_bundle(path: Path) -> bool:
    """Return True if a path is a container image (a directory or tar archive) and not a disk image."""
    if path.is_dir():
        return True
    with path.open("rb") as file:
        return file.read(_TAR_MAGIC_AT + len(_TAR_MAGIC)).endswith(_TAR_MAGIC)


def read_content(bundle: Bundle, architecture: str) -> ImageContent:
    """Return the digest and layers of the image for an architecture."""
    if bundle.has(_INDEX) and bundle.has(_LAYOUT):
        return _read_oci(bundle, architecture)
    if bundle.has(_DOCKER_MANIFEST):
        return _read_docker(bundle)
    raise RefusedImageError("it is neither an OCI layout nor the output of `docker save`")


def _read_oci(bundle: Bundle, architecture: str) -> ImageContent:
    manifest = parse_manifest(_read(bundle, _INDEX))
    digest = ""
    for _ in range(MAX_INDEX_DEPTH):
        if manifest.layers is not None:
            config = find_config(manifest)
            return ImageContent(
                digest,
                [one._replace(name=_name_blob(one.digest)) for one in list_layers(manifest)],
                config._replace(name=_name_blob(config.digest)) if config is not None else None,
            )
        chosen: Descriptor = choose_image(manifest, architecture)
        content = _read(bundle, _name_blob(chosen.digest))
        require_digest(content, chosen.digest)
        manifest, digest = parse_manifest(content), chosen.digest
    raise RefusedImageError("the container image's indexes are nested too deeply")


class _Saved(Struct):
    """An image in a `docker save` archive."""

    config: str = msgspec.field(name="Config")
    layers: list[str] = msgspec.field(name="Layers")


class _FileSystem(Struct):
    diff_ids: list[str] = []


class _Configuration(Struct):
    rootfs: _FileSystem = msgspec.field(default_factory=_FileSystem)


def _read_docker(bundle: Bundle) -> ImageContent:
    try:
        images = msgspec.json.decode(_read(bundle, _DOCKER_MANIFEST), type=list[_Saved])
        if len(images) != 1:
            raise RefusedImageError(f"the archive contains {len(images)} container images; exactly one is allowed")
        configuration = _read(bundle, images[0].config)
        digests = msgspec.json.decode(configuration, type=_Configuration).rootfs.diff_ids
    except msgspec.MsgspecError as error:
        raise RefusedImageError(f"the archive's {_DOCKER_MANIFEST} cannot be read: {error}") from error
    if len(digests) != len(images[0].layers):
        raise RefusedImageError("the archive does not have the digests of its layers")
    layers = [Layer(name, digest) for name, digest in zip(images[0].layers, digests, strict=True)]
    digest = digest_of(configuration)
    return ImageContent(digest, layers, Layer(images[0].config, digest))


def read_config(bundle: Bundle, config: Layer) -> bytes:
    """Return the content of an image's configuration; raise RefusedImageError if its digest does not match."""
    content = _read(bundle, config.name)
    require_digest(content, config.digest)
    return content


def _name_blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _read(bundle: Bundle, name: str) -> bytes:
    with bundle.open(name) as file:
        content = file.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        raise RefusedImageError(f"the container image's {name} has more than {MAX_MANIFEST_BYTES} bytes")
    return content
