"""What tests need of Debian and machines may lack: packages that are unpacked, never installed."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from virtshape.launcher.images.demo.packages import Packages, unpack
from virtshape.launcher.images.errors import ToolError


def unpack_packages(directory: Path, names: Sequence[str], wanted: str = ".*") -> Path:
    """A directory with the files of packages whose paths match; ToolError if the packages cannot be had."""
    directory.mkdir(parents=True, exist_ok=True)
    packages = Packages(directory)
    try:
        files = packages.fetch(names, lambda _done, _total: None)
    except ToolError:  # the machine's lists are out of date, or there are none
        packages.refresh()
        files = packages.fetch(names, lambda _done, _total: None)
    for name in names:
        unpack(files[name], directory / "tree", lambda path: re.fullmatch(wanted, path) is not None)
    return directory / "tree"


def ensure_program(config: pytest.Config, name: str, package: str) -> Path:
    """A program of this machine, or that of a package which earlier tests have unpacked or this one unpacks."""
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
