"""Run `virtshape up` in a separate process, send requests to it and stop it."""

import contextlib
import http.client
import json
import os
import select
import signal
import ssl
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import yaml

COMMAND = Path(sys.executable).parent / "virtshape"
TIMEOUT = 300.0

R = TypeVar("R")


class System:
    """A running `virtshape up`."""

    def __init__(self, directory: Path, *arguments: str, listen: str = "127.0.0.1:0", command: Path = COMMAND) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.log = directory.with_name(f"{directory.name}.log")
        directory.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [command, "up", "--data-dir", directory, "--listen", listen, *(arguments or ["--no-controllers"])],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.greeting = self._wait_until_ready()

    def _wait_until_ready(self) -> str:
        output = self.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        text, deadline = "", time.monotonic() + TIMEOUT
        while not ("stops the server" in text and text.endswith("\n")):
            ready, _, _ = select.select([output], [], [], 0.1)
            text += (output.read() or "") if ready else ""
            if (status := self.process.poll()) is not None or time.monotonic() > deadline:
                self.process.kill()
                how = f"was not ready after {TIMEOUT:.0f} s" if status is None else f"exited with {status}"
                raise RuntimeError(f"`virtshape up` {how}: {text}{self.log.read_text()}")
        return text

    @cached_property
    def config(self) -> Mapping[str, str]:
        """The cluster and user of the admin's kubeconfig."""
        tree = yaml.safe_load(self.kubeconfig.read_text())
        return {**tree["clusters"][0]["cluster"], **tree["users"][0]["user"]}

    @property
    def url(self) -> str:
        return self.config["server"]

    def read_audit_log(self) -> list[dict[str, Any]]:
        """Return the complete lines of the audit log."""
        lines = (self.directory / "audit.log").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def request(self, method: str, path: str, tree: object = None, **headers: str) -> tuple[int, Any]:
        """Send a request, as the admin by default; return the status code and the decoded body."""
        given = {"Authorization": f"Bearer {self.config['token']}", "Content-Type": "application/json"} | headers
        body = None if tree is None else json.dumps(tree)
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, {name: text for name, text in given.items() if text})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def connect(self, tls: ssl.SSLContext | None = None) -> http.client.HTTPSConnection:
        """Return a connection to this server; by default, it only trusts the server's CA."""
        address = urlsplit(self.url)
        return http.client.HTTPSConnection(
            str(address.hostname), address.port, context=tls or self._shared_tls, timeout=TIMEOUT
        )

    def make_tls_context(self) -> ssl.SSLContext:
        """Return a new TLS context that trusts this server's CA."""
        return ssl.create_default_context(cadata=b64decode(self.config["certificate-authority-data"]).decode())

    @cached_property
    def _shared_tls(self) -> ssl.SSLContext:
        return self.make_tls_context()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the server with a signal and return its exit status."""
        self.process.send_signal(number)
        status = self.process.wait(TIMEOUT)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        elif self.process.stdout is not None:
            self.process.stdout.close()


def call_virtshape(
    *arguments: str | Path, prefix: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a virtshape command; `prefix` is a wrapper command."""
    return subprocess.run(
        [*prefix, COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=TIMEOUT,
    )


def wait_until(probe: Callable[[], R], message: str | Callable[[], str], patience: float = TIMEOUT) -> R:
    """Poll until `probe` returns a true value, and return it."""
    deadline = time.monotonic() + patience
    while not (found := probe()):
        assert time.monotonic() < deadline, message if isinstance(message, str) else message()
        time.sleep(0.05)
    return found
