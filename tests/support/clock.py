"""A wall clock that tests can set, for one `virtshape up` and for the processes that it starts."""

import shutil
import ssl
import struct
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest
from tests.support.upprocess import COMMAND, System

SOURCE: Final = Path(__file__).with_suffix(".c")
_NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's flag that ignores the validity period of certificates: the clock of the test differs from the server's."""


class Clock:
    """The difference between the clock of a server and that of the machine."""

    def __init__(self, directory: Path) -> None:
        compiler = shutil.which("gcc")
        if compiler is None:
            pytest.skip("the clock of a process cannot be set: install gcc and libc6-dev")
        library, self._file = directory / "clock.so", directory / "offset"
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True)
        self._file.write_bytes(struct.pack("q", 0))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self._file)}
        """The variables that give a process this clock."""
        variables = " ".join(f'{name}="{value}"' for name, value in self.environment.items())
        self.command = directory / "virtshape"
        """A `virtshape` with this clock."""
        self.command.write_text(f'#!/bin/sh\nexport {variables}\nexec "{COMMAND}" "$@"\n')
        self.command.chmod(0o755)
        self.offset = 0

    def set(self, offset: int) -> None:
        """Set the clock to the machine's time and this many seconds."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", offset))
        self.offset = offset

    def read(self) -> float:
        """Return the time of this clock, in seconds since 1970."""
        return time.time() + self.offset


class ClockedSystem(System):
    """A `virtshape up` with a clock that tests can set."""

    def make_tls_context(self) -> ssl.SSLContext:
        """Return a TLS context that ignores the validity period of certificates."""
        context = super().make_tls_context()
        context.verify_flags |= _NO_CHECK_TIME
        return context
