"""
Download the wheels that uv.lock names for virtshape into a cache outside the tree, and verify their hashes.

The archives of a release are unpacked wheels, and the tests install virtshape with these wheels as the only index.
"""

import hashlib
import os
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape/wheels"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Names of the architectures that archives are built for, in Debian and in wheels."""

_GLIBC: Final = 28  # the oldest glibc that all wheels support is 2.28; Debian 12 has 2.36
_BUILT: Final = "libvirt-python"
"""The dependency of the extra `guests`; it has no wheels."""

LockedFile = dict[str, Any]


def find_wheels(python: str, architecture: str) -> list[LockedFile]:
    """Return one wheel for each package that virtshape needs at run time, without extras."""
    packages = _read_packages()
    tags = list_tags(python, architecture)
    return [_choose_wheel(packages[name], tags) for name in sorted(_find_required(packages) - {"virtshape"})]


def find_binding() -> LockedFile:
    """Return the source archive of the extra `guests`."""
    return dict(_read_packages()[_BUILT]["sdist"])


def download(files: list[LockedFile]) -> list[Path]:
    """Return the paths of files; download those that are not in the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(_download, files))


def _download(file: LockedFile) -> Path:
    path: Path = CACHE / get_name(file)
    if not path.exists():
        with urlopen(file["url"], timeout=120) as answer:  # noqa: S310 - an address in uv.lock
            content = answer.read()
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != file["hash"]:
            raise ValueError(f"{file['url']} does not have the hash in uv.lock")
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_bytes(content)
        partial.rename(path)
    return path


def get_name(file: LockedFile) -> str:
    """Return the file name in a URL."""
    return str(file["url"]).rpartition("/")[2]


@cache
def _read_packages() -> dict[str, Any]:
    return {each["name"]: each for each in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}


def _find_required(packages: dict[str, Any], name: str = "virtshape") -> set[str]:
    needed = (each["name"] for each in packages[name].get("dependencies", ()))
    return {name}.union(*(_find_required(packages, each) for each in needed))


def list_tags(python: str, architecture: str) -> list[Tag]:
    """Return the tags of wheels that a Python can use, the best first."""
    major, minor = map(int, python.split("."))
    platforms = list(_list_platforms(ARCHITECTURES[architecture]))
    interpreter = f"cp{major}{minor}"
    return [
        *cpython_tags((major, minor), platforms=platforms),
        *compatible_tags((major, minor), interpreter, platforms=platforms),
    ]


def _list_platforms(machine: str) -> Iterator[str]:
    for minor in range(_GLIBC, 4, -1):
        yield f"manylinux_2_{minor}_{machine}"
        if minor == 17:
            yield f"manylinux2014_{machine}"


def _choose_wheel(package: dict[str, Any], tags: list[Tag]) -> LockedFile:
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    ranked = [
        (min(ranks[tag] for tag in usable), get_name(wheel), wheel)
        for wheel in package.get("wheels", ())
        if (usable := parse_wheel_filename(get_name(wheel))[3] & ranks.keys())
    ]
    if not ranked:
        raise ValueError(f"{package['name']} has no wheel for {tags[0]}")
    return dict(min(ranked)[2])
