"""A server with guests in a separate process, for all command tests."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import uvloop
from tests.support.terminals import Terminal

ROOT = Path(__file__).parents[3]
VIRTCTL = Path(sys.executable).parent / "virtctl"
TIMEOUT = 300.0


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run the tests of WebSocket frames on uvloop, which the server uses too."""
    return {"loop": uvloop.new_event_loop if item.path.name == "test_frames.py" else asyncio.new_event_loop}


class Outcome(NamedTuple):
    status: int
    out: bytes
    err: str


class Guests:
    """A running server with guests, and virtctl connected to it."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.echoserver", folder, *names],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )
        assert self.process.stdout is not None
        self.kubeconfig = self.process.stdout.readline().strip()
        assert self.kubeconfig, "the server did not start"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"KUBECONFIG": self.kubeconfig, "PATH": f"{VIRTCTL.parent}:/usr/bin:/bin", "HOME": "/nonexistent"}

    def call(self, *arguments: str, said: bytes = b"", **environment: str) -> Outcome:
        """Run virtctl and return its result."""
        ran = subprocess.run(
            [VIRTCTL, *arguments],
            input=said,
            capture_output=True,
            check=False,
            env={**self.environment, **environment},
            timeout=TIMEOUT,
        )
        return Outcome(ran.returncode, ran.stdout, ran.stderr.decode())

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start virtctl in the background."""
        return subprocess.Popen(
            [VIRTCTL, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environment, **environment},
        )

    def open(self, *arguments: str) -> Terminal:
        """Start virtctl in a terminal."""
        return Terminal([VIRTCTL, *arguments], self.environment)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(TIMEOUT)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="session")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    running = Guests(tmp_path_factory.mktemp("guests"), "web", "vm-web", "vm-off", "never")
    yield running
    running.stop()
