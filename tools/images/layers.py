"""
Layers of a root file system: directories that an overlay mount stacks, and archives of them for images.

Each instruction that changes files adds a layer, as in a Docker build. A layer is stored under the hash of everything
that went into it, so that a build repeats only what has changed.
"""

import contextlib
import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.images.host import list_sources

HERE: Final = Path(__file__).parent
SLIM: Final = ("/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*")
"""Files that Debian's slim images omit; our images omit them too."""

KEPT_BUILDS: Final = 8
RUNNING_SECONDS: Final = 3600
"""Age from which no running build can still need an unused layer."""

_OPAQUE: Final = "trusted.overlay.opaque"


class LayerError(Exception):
    """A command failed during the build."""


class Store:
    """Layers in a directory of the cache."""

    def __init__(self, directory: Path, settings: Path, epoch: int) -> None:
        self.directory = directory
        self.settings = settings
        self.epoch = epoch
        directory.mkdir(parents=True, exist_ok=True)

    def make_base(self, suite: str, architecture: str) -> Path:
        """Create the first layer: what Debian's slim base image contains, with mmdebstrap."""
        layer = self.directory / hash_text("base", suite, architecture, str(self.epoch), "3")
        if layer.exists():
            return layer
        print(f"Installing the base of Debian {suite} for {architecture} ...", flush=True)
        with self._new(layer) as made:
            lines = [f"path-exclude={pattern}" for pattern in SLIM] + ["path-include=/usr/share/doc/*/copyright"]
            archive = made.with_name(f"{made.name}.tar")  # prune deletes the archive if mmdebstrap fails
            options = [f"--dpkgopt={line}" for line in [*lines, "force-unsafe-io"]]
            line = ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", f"--architectures={architecture}"]
            line += [*options, f"--aptopt={self.settings / 'options'}", suite, str(archive), *list_sources(suite)]
            _run(line, {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch)})
            made.mkdir()
            _run(["tar", "-C", str(made), "-xpf", str(archive), "--numeric-owner", "--exclude=./dev/*"])
            archive.unlink()
            self._finish_base(made, suite, lines)
        return layer

    def unpack(self, archive: Path) -> Path:
        """Return a first layer with the files of a root file system's archive, and with the files that `run` mounts."""
        layer = self.directory / hash_text("unpack", str(archive), str(archive.stat().st_mtime_ns), "2")
        if not layer.exists():
            with self._new(layer) as made:
                made.mkdir()
                _run(["tar", "-C", str(made), "-xpf", str(archive), "--numeric-owner", "--exclude=./dev/*"])
                for place in (made / "etc/resolv.conf", made / "etc/hosts"):
                    if not os.path.lexists(place):
                        place.parent.mkdir(exist_ok=True)
                        place.touch()
        return layer

    def _finish_base(self, root: Path, suite: str, excludes: Sequence[str]) -> None:
        for name in ("etc/resolv.conf", "etc/hosts", "etc/hostname", "etc/machine-id"):
            (root / name).write_text("")
        for name in ("etc/apt/apt.conf.d/99mmdebstrap", "etc/dpkg/dpkg.cfg.d/99mmdebstrap"):
            (root / name).unlink(missing_ok=True)
        mirror = "http://deb.debian.org/debian"
        lines = [f"deb {mirror} {suite} main", f"deb {mirror} {suite}-updates main"]
        lines.append(f"deb {mirror}-security {suite}-security main")
        (root / "etc/apt/sources.list").write_text("".join(f"{line}\n" for line in lines))
        (root / "etc/dpkg/dpkg.cfg.d/slim").write_text("".join(f"{line}\n" for line in excludes))
        for name in ("var/log", "var/cache/apt", "var/lib/apt/lists", "var/cache/ldconfig"):
            _empty(root / name)

    def run(self, lower: Sequence[Path], command: str, variables: Mapping[str, str], directory: str) -> Path:
        """Run a shell command on top of layers, and return the layer with its changes."""
        layer = self.directory / hash_text(*_names(lower), "run", command, repr(sorted(variables.items())), directory)
        if layer.exists():
            return layer
        print(f"RUN {command}", flush=True)
        with self._new(layer) as made, tempfile.TemporaryDirectory(dir=self.directory) as work:
            root = Path(work, "root")
            for path in (made, root, Path(work, "work")):
                path.mkdir()
            overlay = f"{_stack(lower)},upperdir={made},workdir={work}/work"
            line = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "bash"]
            line += [str(HERE / "run.sh"), overlay, str(root), str(self.settings), f"cd {directory}; {command}"]
            _run(line, dict(variables))
        return layer

    def copy(self, lower: Sequence[Path], sources: Sequence[Path], target: str, *, key: str) -> Path:
        """Copy files or directories, as COPY does, and return the layer with them."""
        layer = self.directory / hash_text(*_names(lower), "copy", key, target)
        if layer.exists():
            return layer
        with self._new(layer) as made:
            place = made / target.strip("/")
            for source in sources:
                if source.is_dir():
                    shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True, ignore=_ignore)
                else:
                    place.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, place)
            for path in [made, *made.rglob("*")]:
                os.chown(path, 0, 0, follow_symlinks=False)
                if not path.is_symlink():  # modes must not depend on the umask of the checkout
                    path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        return layer

    def copy_from(self, lower: Sequence[Path], origin: Sequence[Path], sources: Sequence[str], target: str) -> Path:
        """Copy directories of other layers, as COPY --from does, and return the layer with them."""
        layer = self.directory / hash_text(*_names(lower), "copy", *_names(origin), *sources, target)
        if layer.exists():
            return layer
        with self._new(layer) as made, tempfile.TemporaryDirectory(dir=self.directory) as root:
            place = made / target.strip("/")
            place.mkdir(parents=True)
            commands = [f"mount -t overlay -o {_stack(origin)} overlay {root}"]
            commands += [f"cp -a {root}{source}/. {place}" for source in sources]
            line = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "; ".join(commands)]
            _run(line)
        return layer

    @contextlib.contextmanager
    def _new(self, layer: Path) -> Iterator[Path]:
        made = layer.with_name(f"{layer.name}.{os.getpid()}")
        try:
            yield made
            with contextlib.suppress(OSError):  # another build has finished the same layer
                made.rename(layer)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def pack(self, layer: Path) -> tuple[Path, str]:
        """Return the compressed archive of a layer and the digest of the uncompressed one."""
        packed, digest = layer.with_suffix(".tar.zst"), layer.with_suffix(".digest")
        if not (packed.exists() and digest.exists()):
            archive = layer.with_name(f"{layer.name}.{os.getpid()}.tar")
            write_archive(layer, archive, self.epoch)
            value = hash_file(archive)
            _run(["zstd", "--quiet", "--force", "--rm", "-12", "-T2", str(archive), "-o", f"{archive}.zst"])
            Path(f"{archive}.zst").rename(packed)
            digest.write_text(value)
        return packed, digest.read_text()

    def prune(self, layers: Sequence[Path]) -> None:
        """Record the layers of a build, and delete layers that neither recent builds nor a running build use."""
        builds = self.directory / "builds"
        builds.mkdir(exist_ok=True)
        (builds / str(time.time_ns())).write_text("\n".join(_names(layers)))
        for old in sorted(builds.iterdir())[:-KEPT_BUILDS]:
            old.unlink(missing_ok=True)
        used = {name for build in builds.iterdir() for name in build.read_text().splitlines()}
        for path in self.directory.iterdir():
            if path not in (builds, self.settings) and path.name.partition(".")[0] not in used:
                with contextlib.suppress(FileNotFoundError):  # another build deletes the same layer
                    if time.time() - path.stat().st_mtime > RUNNING_SECONDS:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()


def write_archive(root: Path, archive: Path, epoch: int) -> None:
    """Write a tar archive of a layer that depends only on its content: sorted, without times after `epoch`."""
    links: dict[int, str] = {}
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*"), key=lambda path: path.relative_to(root).parts):
            _add(tar, path, str(path.relative_to(root)), epoch, links)


def _add(tar: tarfile.TarFile, path: Path, name: str, epoch: int, links: dict[int, str]) -> None:
    status = path.lstat()
    if stat.S_ISSOCK(status.st_mode):
        return
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:  # overlayfs marks a deleted file with such a device
        deleted = tarfile.TarInfo(str(Path(name).with_name(f".wh.{Path(name).name}")))
        deleted.mtime = epoch
        tar.addfile(deleted, io.BytesIO())
        return
    entry = tar.gettarinfo(path, name)
    entry.uname = entry.gname = ""
    entry.mtime = min(int(status.st_mtime), epoch)
    if entry.islnk():  # tarfile's own order of hard links depends on the order of inodes
        entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", status.st_size
    if entry.isreg() and status.st_nlink > 1 and links.setdefault(status.st_ino, name) != name:
        entry.type, entry.linkname, entry.size = tarfile.LNKTYPE, links[status.st_ino], 0
    if entry.isreg():
        with path.open("rb") as content:
            tar.addfile(entry, content)
    else:
        tar.addfile(entry)
    if entry.isdir() and _is_opaque(path):
        mark = tarfile.TarInfo(f"{name}/.wh..wh..opq")
        mark.mtime = epoch
        tar.addfile(mark, io.BytesIO())


def _is_opaque(path: Path) -> bool:
    return _OPAQUE in os.listxattr(path, follow_symlinks=False)


def hash_text(*parts: str) -> str:
    """Return a short hash of strings."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def hash_file(path: Path) -> str:
    """Return the digest of a file in the format that images use."""
    with path.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"


def hash_tree(paths: Sequence[Path]) -> str:
    """Return a hash of files and directories: their names, contents and execute permissions."""
    digest = hashlib.sha256()
    for top in paths:
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                mode = "x" if path.stat().st_mode & 0o100 else ""
                digest.update(f"{path.relative_to(top.parent)}\0{mode}\0{hash_file(path)}\n".encode())
    return digest.hexdigest()


def _names(layers: Sequence[Path]) -> list[str]:
    return [layer.name for layer in layers]


def _stack(layers: Sequence[Path]) -> str:
    """Return the option of an overlay mount that stacks layers."""
    return f"lowerdir={':'.join(str(layer) for layer in reversed(layers))}"


def _ignore(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "__pycache__"}


def _empty(directory: Path) -> None:
    for path in directory.iterdir() if directory.exists() else ():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _run(line: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    ran = subprocess.run(line, env=environment, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode:
        raise LayerError(f"exit status {ran.returncode}: {' '.join(line)}\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}")
