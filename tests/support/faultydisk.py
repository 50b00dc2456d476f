"""
A disk that fails: a preloaded library records what a process changes below a directory, and fails on request.

`tests/support/faultydisk.c` is the library. `tests/support/diskreplay.py` reads what it recorded.
"""

import errno
import os
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.support.upprocess import COMMAND

_SOURCE = Path(__file__).with_suffix(".c")


class FaultyDisk:
    """A directory, `root`, and the path of a `virtshape` command whose changes below it are recorded or fail."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "disk"
        self.root.mkdir()
        self.log = directory / "disk.log"
        self._faults = directory / "faults"
        self.repair()
        paths = {
            "DISK_ROOT": self.root,
            "DISK_LOG": self.log,
            "DISK_FAULTS": self._faults,
            "LD_PRELOAD": _build_library(directory),
        }
        self.settings = [f"{name}={path}" for name, path in paths.items()]
        """Environment variables that load the library, for `env`."""
        self.command = directory / "virtshape"
        self.command.write_text(f'#!/bin/sh\nexec {shlex.join(["env", *self.settings, str(COMMAND)])} "$@"\n')
        self.command.chmod(0o755)

    def fail(self, *, writes: int = 0, syncs: int = 0, reads: int = 0, directories: int = 0) -> None:
        """Make operations below the root fail with these error numbers, until `repair` is called."""
        # Written in place, because processes have mapped the file.
        descriptor = os.open(self._faults, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(descriptor, struct.pack("=4i", writes, syncs, reads, directories), 0)
        finally:
            os.close(descriptor)

    def fill(self) -> None:
        """Make writes fail as on a full disk."""
        self.fail(writes=errno.ENOSPC, directories=errno.ENOSPC)

    def make_read_only(self) -> None:
        """Make writes fail as after a remount because of an error of the file system."""
        self.fail(writes=errno.EROFS, directories=errno.EROFS)

    def repair(self) -> None:
        """Let all operations succeed."""
        self.fail()


def _build_library(directory: Path) -> Path:
    """Compile the library; skip the test if there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: install gcc and libc6-dev")
    library = directory / "faultydisk.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], check=True)
    return library
