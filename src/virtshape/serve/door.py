"""
The API of a data directory for commands: through the server if one runs, else through its parts in this process.

Asks as the admin of the directory. Whoever holds the files holds the keys, so no permission is checked beyond that.
"""

import asyncio
import contextlib
import http.client
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from virtshape.api.codec import encode
from virtshape.api.status import Status, StatusError
from virtshape.apiserver.http import Handler
from virtshape.apiserver.kubeconfig import Server, find_server, find_token
from virtshape.apiserver.message import JSON, Request, Response
from virtshape.serve.embedded import Settings, assemble
from virtshape.store.lock import Lock, find_holder

AGENT: Final = "virtshape"
TIMEOUT_SECONDS: Final = 30.0

Send = Callable[[str, str, dict[str, str], bytes], tuple[int, bytes]]


class UnknownSystemError(Exception):
    """A directory that no system ever ran in."""


class Door:
    """Where requests go in, and what clients elsewhere need to find the server."""

    def __init__(self, send: Send, server: Server, token: str) -> None:
        self._send = send
        self._token = token
        self.server = server

    def ask(self, method: str, path: str, item: object = None) -> Any:
        """Send a request, with an object if need be; the tree that is answered, or StatusError."""
        headers = {"authorization": f"Bearer {self._token}", "accept": JSON, "user-agent": AGENT}
        body = b""
        if item is not None:
            headers["content-type"] = JSON
            body = encode(item)
        status, answer = self._send(method, path, headers, body)
        if status >= 400:
            raise _read_refusal(status, answer)
        return msgspec.json.decode(answer)


@contextlib.contextmanager
def open_door(directory: Path) -> Iterator[Door]:
    """The way into a system that runs or ran in a directory."""
    kubeconfig = directory / "kubeconfig"
    text = kubeconfig.read_text() if kubeconfig.exists() else ""
    server, token = find_server(text), find_token(text)
    if server is None or token is None:
        raise UnknownSystemError(f"there is no system in {directory}")
    if find_holder(directory) is not None:
        with contextlib.closing(connect(server)) as connection:
            yield Door(_send_outside(connection), server, token)
    else:
        with _enter(directory) as handle:
            yield Door(handle, server, token)


def connect(server: Server, timeout: float = TIMEOUT_SECONDS) -> http.client.HTTPSConnection:
    """A connection to a server that its authority vouches for."""
    address = urlsplit(server.url)
    trust = ssl.create_default_context(cadata=server.authority.decode())
    return http.client.HTTPSConnection(address.hostname or "", address.port or 443, timeout=timeout, context=trust)


def _send_outside(connection: http.client.HTTPSConnection) -> Send:
    def send(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    return send


@contextlib.contextmanager
def _enter(directory: Path) -> Iterator[Send]:
    lock = Lock(directory)
    try:
        with asyncio.Runner() as runner:
            system = assemble(Settings(directory=directory, catalog=False))
            server = runner.run(system.__aenter__()).server
            try:
                yield _send_inside(runner, server.handle)
            finally:
                runner.run(system.__aexit__(None, None, None))
    finally:
        lock.close()


def _send_inside(runner: asyncio.Runner, handle: Handler) -> Send:
    async def answer(request: Request) -> tuple[int, bytes]:
        given = handle(request)
        response = await given if isinstance(given, Awaitable) else given
        return response.status, response.body if isinstance(response, Response) else b""

    def send(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        return runner.run(answer(Request(method, path, headers, body)))

    return send


def _read_refusal(code: int, body: bytes) -> StatusError:
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return StatusError(code, "", body.decode(errors="replace").strip())
    return StatusError(code, status.reason or "", status.message or "")
