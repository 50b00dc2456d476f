"""Run clients against `virtshape up`, kill the server at a random moment, and restart it with the same data."""

import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from tests.support.demo import find_free_port
from tests.support.upprocess import COMMAND, TIMEOUT, System

SEED_VARIABLE: Final = "VIRTSHAPE_CRASH_SEED"
MAX_LOAD_SECONDS: Final = 1.5
MERGE_PATCH: Final = "application/merge-patch+json"


class LostResponseError(Exception):
    """The server was killed before it answered: the request may have taken effect or not."""


class Session:
    """A keep-alive connection to a server, with admin permissions."""

    def __init__(self, system: System) -> None:
        self._connection = system.connect()
        self._headers = {"Authorization": f"Bearer {system.config['token']}"}

    def request(
        self, method: str, path: str, tree: object = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """Send a request once; return the status code and the decoded body, or raise LostResponseError."""
        body = None if tree is None else json.dumps(tree)
        try:
            self._connection.request(method, path, body, self._headers | {"Content-Type": content_type})
            answer = self._connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise LostResponseError(f"{method} {path}: {error!r}") from error
        return answer.status, json.loads(data) if data else None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


Client = Callable[[Session], None]
"""Sends requests until one of them raises LostResponseError."""


class KilledServer:
    """A data directory whose server is killed and restarted, always at the same address."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self._arguments = (*arguments, "--no-catalog", "--history-revisions", "1000000")
        self._address = f"127.0.0.1:{find_free_port()}"
        self.kills = 0
        self.system = self._start()

    def _start(self) -> System:
        began = time.monotonic()
        system = System(self.directory, *self._arguments, listen=self._address)
        self.start_seconds = time.monotonic() - began
        return system

    def kill_under_load(self, clients: Sequence[Client], generator: random.Random) -> int:
        """Run the clients, kill the server at a random moment, and return the monotonic time in ns when it was dead."""
        seconds = generator.uniform(0, max(MAX_LOAD_SECONDS, self.start_seconds))  # longer on a slow machine
        with ThreadPoolExecutor(len(clients)) as pool:
            running = [pool.submit(_run, client, self.system) for client in clients]
            time.sleep(seconds)
            self.system.stop(signal.SIGKILL)
            ended = time.monotonic_ns()
            self.kills += 1
            for client in running:
                client.result(TIMEOUT)
        return ended

    def kill_while_starting(self, generator: random.Random) -> None:
        """Start a server and kill it at a random moment, while it starts or just after."""
        seconds = generator.uniform(0, self.start_seconds * 1.2)
        command: list[str | Path] = [
            COMMAND,
            "up",
            "--data-dir",
            self.directory,
            "--listen",
            self._address,
            *self._arguments,
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
                raise AssertionError(f"`virtshape up` ended with {process.returncode} after a crash")
            process.kill()
        self.kills += 1

    def restart(self) -> None:
        """Start a server with the data of the killed one."""
        self.system = self._start()

    def close(self) -> None:
        """Stop the server, if it runs."""
        if self.system.process.poll() is None:
            self.system.stop()


def _run(client: Client, system: System) -> None:
    with contextlib.closing(Session(system)) as session, contextlib.suppress(LostResponseError):
        client(session)


@contextlib.contextmanager
def seeded() -> Iterator[random.Random]:
    """Yield a random generator; if the block fails, the error says how to repeat the run with the same seed."""
    seed = os.environ.get(SEED_VARIABLE) or str(random.SystemRandom().randrange(2**32))
    try:
        yield random.Random(seed)  # noqa: S311 - chooses test inputs, not secrets
    except BaseException as error:
        error.add_note(f"{SEED_VARIABLE}={seed} repeats the random choices of this run")
        raise
