"""Debian packages for tests: downloaded and unpacked, never installed."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from virtshape.launcher.images.demo.packages import Packages, unpack
from virtshape.launcher.images.errors import ToolError


def unpack_packages(directory: Path, names: Sequence[str], wanted: str = ".*") -> Path:
    """Unpack the files of packages that match `wanted`, and return their root; raise ToolError if one is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    packages = Packages(directory)
    try:
        files = packages.fetch(names, lambda _done, _total: None)
    except ToolError:  # the package lists are out of date or missing
        packages.refresh()
        files = packages.fetch(names, lambda _done, _total: None)
    for name in names:
        unpack(files[name], directory / "tree", lambda path: re.fullmatch(wanted, path) is not None)
    return directory / "tree"


def ensure_program(config: pytest.Config, name: str, package: str) -> Path:
    """Return the path of a program, unpacking its package if it is not installed."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    assert config.cache is not None
    kept = Path(config.cache.mkdir("debian")) / name
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            tree = unpack_packages(Path(scratch), [package], f"usr/s?bin/{name}")
            shutil.move(next(tree.rglob(name)), kept)
    return kept
