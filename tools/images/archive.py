"""Read an image from its archive: an OCI layout, or the output of `docker save`."""

import hashlib
import io
import json
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

DPKG_STATUS: Final = "var/lib/dpkg/status"
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_PROGRAMS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}


class File(NamedTuple):
    """A file of an image; hard links are files with the same content."""

    kind: str
    mode: int
    owner: int
    group: int
    content: str
    """The digest of a regular file, the target of a symbolic link, otherwise empty."""


class Summary(NamedTuple):
    """The properties of an image that can be read from its archive without reading the layers."""

    digest: str
    config: dict[str, Any]
    size: int
    """Bytes of the layers in the archive."""


class Image(NamedTuple):
    """An image, and the files in the root file system of its containers."""

    summary: Summary
    files: dict[str, File]
    dpkg_status: str


def read_summary(path: Path) -> Summary:
    """Read the configuration of the only image of an archive."""
    with tarfile.open(path) as tar:
        digest, config, names = _find_parts(tar)
        return Summary(digest, _load(tar, config), sum(tar.getmember(name).size for name in names))


def read_image(path: Path) -> Image:
    """Read the only image of an archive, with its files."""
    files: dict[str, File] = {}
    kept: dict[str, str] = {}
    with tarfile.open(path) as tar:
        for name in _find_parts(tar)[2]:
            _add_layer(tar, name, files, kept)
    return Image(read_summary(path), files, kept[DPKG_STATUS])


def _find_parts(tar: tarfile.TarFile) -> tuple[str, str, list[str]]:
    """Return the digest of the manifest, the name of the configuration, and the names of the layers."""
    if "index.json" not in tar.getnames():  # docker save before Docker 25
        (entry,) = _load(tar, "manifest.json")
        return f"sha256:{entry['Config'].partition('.')[0]}", entry["Config"], entry["Layers"]
    (described,) = _load(tar, "index.json")["manifests"]
    manifest = _load(tar, _locate(described))
    return described["digest"], _locate(manifest["config"]), [_locate(layer) for layer in manifest["layers"]]


def _locate(described: dict[str, Any]) -> str:
    return f"blobs/{described['digest'].replace(':', '/')}"


def _load(tar: tarfile.TarFile, name: str) -> Any:
    return json.loads(_read(tar, name))


def _read(tar: tarfile.TarFile, member: str | tarfile.TarInfo) -> bytes:
    content = tar.extractfile(member)
    if content is None:
        raise ValueError(f"{member} is not a file")
    return content.read()


def _add_layer(tar: tarfile.TarFile, name: str, files: dict[str, File], kept: dict[str, str]) -> None:
    """Apply a layer: first what it deletes in the layers below, then what it adds."""
    added: dict[str, File] = {}
    with _open_layer(tar, name) as layer:
        for entry in layer:
            path = PurePosixPath(entry.name)
            if path.name == _OPAQUE:
                _delete(files, str(path.parent), keep_directory=True)
            elif path.name.startswith(_WHITEOUT):
                _delete(files, str(path.with_name(path.name.removeprefix(_WHITEOUT))))
            elif str(path) != ".":
                added[str(path)] = _describe(layer, entry, {**files, **added} if entry.islnk() else {}, kept)
    files |= added


def _delete(files: dict[str, File], path: str, *, keep_directory: bool = False) -> None:
    if not keep_directory:
        files.pop(path, None)
    for name in [name for name in files if name.startswith(f"{path}/")]:
        del files[name]


def _describe(layer: tarfile.TarFile, entry: tarfile.TarInfo, known: dict[str, File], kept: dict[str, str]) -> File:
    if entry.islnk():
        return known[str(PurePosixPath(entry.linkname))]
    if entry.issym():
        return File("link", 0o777, entry.uid, entry.gid, entry.linkname)
    kind = "directory" if entry.isdir() else "file" if entry.isreg() else "other"
    return File(
        kind, stat.S_IMODE(entry.mode), entry.uid, entry.gid, _hash(layer, entry, kept) if entry.isreg() else ""
    )


def _hash(layer: tarfile.TarFile, entry: tarfile.TarInfo, kept: dict[str, str]) -> str:
    data = _read(layer, entry)
    if str(PurePosixPath(entry.name)) == DPKG_STATUS:
        kept[DPKG_STATUS] = data.decode()
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _open_layer(tar: tarfile.TarFile, name: str) -> Iterator[tarfile.TarFile]:
    """Open the archive of a layer, which may be compressed."""
    data = _read(tar, name)
    if program := _PROGRAMS.get(data[:2]):
        data = subprocess.run([program, "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as layer:
        yield layer
