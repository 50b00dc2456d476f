"""Run a command in a pseudo-terminal: send input, read output, and check the terminal settings."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

TIMEOUT = 300.0


class Terminal:
    """A pseudo-terminal with a command that runs until the `with` block ends."""

    def __init__(self, arguments: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self._master, self._slave = pty.openpty()
        self.settings = self.read_settings()
        self.process = subprocess.Popen(
            arguments,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            env={**os.environ, **environment},
        )
        self.shown = b""

    def read_settings(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    def type(self, text: bytes) -> None:
        os.write(self._master, text)

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._slave, (rows, columns))
        self.process.send_signal(signal.SIGWINCH)

    def wait_for(self, pattern: bytes) -> bytes:
        """Wait for a pattern in the output, and return and consume the output up to its end."""
        deadline = time.monotonic() + TIMEOUT
        while (found := re.search(pattern, self.shown)) is None:
            ready, _, _ = select.select([self._master], [], [], 0.1)
            self.shown += os.read(self._master, 65536) if ready else b""
            assert time.monotonic() < deadline, self.shown
        shown, self.shown = self.shown[: found.end()], self.shown[found.end() :]
        return shown

    def end(self) -> int:
        """Wait until the command exits, and return its exit status."""
        return self.process.wait(TIMEOUT)

    def is_restored(self) -> bool:
        """Return True if the terminal has its original settings."""
        return self.read_settings() == self.settings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)
