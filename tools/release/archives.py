"""Archives that depend only on the content of their files: sorted, owned by root, with one modification time."""

import gzip
import io
import tarfile
from pathlib import Path


def write_archive(source: Path, target: Path, epoch: int, prefix: str = "") -> None:
    """Write the files below a directory as .tar.gz, with `prefix` in front of their names."""
    with (
        target.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(f"{prefix}{path.relative_to(source)}")
            entry.size, entry.mtime, entry.mode = len(content), epoch, get_mode(path)
            tar.addfile(entry, io.BytesIO(content))


def get_mode(path: Path) -> int:
    """Return the mode of a released file or directory: independent of the umask of the checkout."""
    return 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644


def normalize_modes(root: Path) -> None:
    """Set the modes of all files and directories below a directory."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(get_mode(path))
