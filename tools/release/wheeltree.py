"""
A directory with unpacked wheels, which Python imports without an installation.

Compiled modules have the version of Python in their names, so one directory works with several versions.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final
from zipfile import ZipFile

from tools.release.lockedwheels import PYTHONS, download, find_wheels

_OF_ONE_WHEEL: Final = ("RECORD", "WHEEL")
"""Metadata files of a distribution that differ between its wheels."""


def list_wheels(architecture: str, pythons: Sequence[str] = PYTHONS) -> list[Path]:
    """Return the locked wheels of virtshape's dependencies for an architecture and all these versions of Python."""
    found = {file["url"]: file for python in pythons for file in find_wheels(python, architecture)}
    return sorted(download(list(found.values())))


def unpack_wheels(wheels: Iterable[Path], target: Path) -> None:
    """Unpack wheels into one directory; raise ValueError if two wheels contain different files with the same name."""
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            for name in archive.namelist():
                if not name.endswith("/") and not _is_of_one_wheel(PurePosixPath(name)):
                    _write(target / _check_name(name, wheel), archive.read(name), wheel)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a directory of unpacked wheels without compiled files."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def _is_of_one_wheel(name: PurePosixPath) -> bool:
    return name.parent.suffix == ".dist-info" and name.name in _OF_ONE_WHEEL


def _check_name(name: str, wheel: Path) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or path.parts[0].endswith(".data"):
        raise ValueError(f"{wheel.name}: {name} cannot be unpacked into a directory of modules")
    return name


def _write(path: Path, content: bytes, wheel: Path) -> None:
    if path.exists():
        if path.read_bytes() != content:
            raise ValueError(f"{wheel.name}: {path.name} differs from the file of another wheel")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
