"""The demo guest for tests: built once, cached, and booted with plain QEMU."""

import contextlib
import json
import random
import select
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pytest

from virtshape.launcher.images.demo.build import DemoGuest, Flavour, ensure_demo_guest
from virtshape.launcher.images.errors import ImageError

TIMEOUT: Final = 600.0
PROMPT: Final = "demo# "


def find_free_port() -> int:
    """Return a free port outside the ephemeral range, so that no outgoing connection can take it."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    candidates = range(max(lowest // 2, 1024), lowest) or [0]
    while True:
        wanted = random.choice(candidates)  # noqa: S311 - not a secret
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", wanted)) as server:
            port: int = server.getsockname()[1]
            return port


def get_demo(config: pytest.Config, flavour: Flavour = "cloud") -> DemoGuest:
    """Return the cached demo guest or build it; skip the test if its packages are not available."""
    assert config.cache is not None
    directory = Path(config.cache.mkdir("demo"))
    try:
        return ensure_demo_guest(directory, flavour=flavour)
    except ImageError as error:
        pytest.skip(str(error))


class QemuProcess:
    """A running QEMU with its serial console and monitor."""

    def __init__(self, directory: Path, arguments: Sequence[str]) -> None:
        self._serial_path, self._monitor_path = directory / "serial", directory / "monitor"
        self._process = subprocess.Popen(
            [
                *("qemu-system-x86_64", "-nodefaults", "-display", "none", "-machine", "q35", "-cpu", "Westmere"),
                *("-serial", f"unix:{self._serial_path},server=on,wait=on"),
                *("-qmp", f"unix:{self._monitor_path},server=on,wait=off"),
                *arguments,
            ]
        )
        self._serial = self._connect(self._serial_path)
        self.output = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._serial.close()

    def read_until(self, text: str) -> str:
        """Read the serial console until it has printed a text."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.output:
            assert time.monotonic() < deadline, f"the console has not printed {text!r}: {self.output[-2000:]}"
            if select.select([self._serial], [], [], 0.2)[0]:
                read = self._serial.recv(65536)
                assert read, f"QEMU ended: {self.output[-2000:]}"
                self.output += read.decode(errors="replace")
        return self.output

    def read_shape(self) -> dict[str, Any]:
        """Return the JSON line that the guest prints about itself."""
        self.read_until(PROMPT)
        (line,) = [line for line in self.output.splitlines() if line.startswith("{")]
        shape: dict[str, Any] = json.loads(line)
        return shape

    def type(self, line: str) -> None:
        self._serial.sendall(f"{line}\n".encode())

    def power_down(self) -> int:
        """Press the power button, wait for QEMU to exit, and return its exit status."""
        with self._connect(self._monitor_path) as monitor:
            for command in ("qmp_capabilities", "system_powerdown"):
                monitor.sendall(json.dumps({"execute": command}).encode())
                monitor.recv(65536)
            return self._process.wait(TIMEOUT)

    def _connect(self, path: Path) -> socket.socket:
        deadline = time.monotonic() + TIMEOUT
        while True:
            assert self._process.poll() is None, "QEMU did not start"
            assert time.monotonic() < deadline
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
            except OSError:
                connection.close()
                time.sleep(0.02)
            else:
                return connection
