"""
A fake kubelet that runs no pods, but accepts `exec` requests from an API server.

It also simulates the guest behind the console, VNC and port commands.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from virtshape.api.launcherpod import REPORT_COMMAND
from virtshape.apiserver.auth.certificates import Authority, make_key
from virtshape.apiserver.http import Handler
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.message import AnyResponse, Request, Response, Upgrade
from virtshape.cluster.tls.context import build_context
from virtshape.stream.handshake import accept_key, split_list

PROTOCOL = "v4.channel.k8s.io"
FLOOD_PIECE = 1024 * 1024
SUCCESS = b"\x03" + json.dumps({"metadata": {}, "status": "Success"}).encode()


class FakeCommand:
    """An exec session over WebSocket messages; the first byte of each message is the stream number."""

    def __init__(self, arguments: list[str], commands: list[list[str]], flood: int = 0) -> None:
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        self._flood = flood
        if arguments == [*REPORT_COMMAND]:  # sent by the controller, which reads reports; not recorded
            self._end(json.dumps({"state": "running", "machine": "pc-q35-7.2"}).encode())
            return
        action = arguments[arguments.index("virtshape.launcher.pod.exec") + 1 :]
        commands.append(action)
        match action:
            case ["ask", text]:
                report = {"state": "paused" if "pause" in text else "running"}
                self._end(json.dumps({"report": report}).encode() + b"\n")
            case ["log"]:
                self._end(b"booted\n")
            case ["console" | "vnc"] | ["port", _]:
                self._out.put_nowait(b"\x01login: ")
            case _:
                self._out.put_nowait(b"\x02unknown action")
                self._out.put_nowait(b'\x03{"metadata":{},"status":"Failure","message":"exit code 1"}')

    def _end(self, output: bytes) -> None:
        for message in (b"\x01" + output, SUCCESS, b""):
            self._out.put_nowait(message)

    async def read(self) -> bytes:
        if self._flood:
            self._flood -= 1
            return b"\x01" + bytes(FLOOD_PIECE)
        return await self._out.get()

    async def write(self, data: bytes) -> None:
        if data[:1] == b"\x00":
            self._out.put_nowait(b"\x01" + data[1:].upper())

    async def close(self) -> None:
        self._out.put_nowait(b"")


class FakeKubelet:
    """Accepts exec requests and records their commands."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.flood = 0
        """Number of 1 MiB chunks that each command prints before any other output."""

    def handle(self, request: Request) -> AnyResponse:
        consent = build_upgrade_headers(request)
        if consent is None:
            return Response(404, request.path.encode(), "text/plain")
        return Upgrade(FakeCommand(request.query["command"], self.commands, self.flood), consent, join_fragments=True)


def build_upgrade_headers(request: Request) -> tuple[tuple[str, str], ...] | None:
    """Return the headers of a successful upgrade, or None if the request is not an exec upgrade."""
    offers = split_list(request.headers.get("sec-websocket-protocol", ""))
    if not request.path.startswith("/exec/") or PROTOCOL not in offers:
        return None
    return (
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-accept", accept_key(request.headers["sec-websocket-key"])),
        ("sec-websocket-protocol", PROTOCOL),
    )


@asynccontextmanager
async def serve_kubelet(handle: Handler) -> AsyncIterator[dict[str, Any]]:
    """Serve a kubelet on loopback with this handler; yield the status of its node."""
    credential = Authority.create(make_key(), "kubelet").issue_server(["127.0.0.1"])
    listener = Listener(handle)
    port = await listener.start("127.0.0.1", 0, build_context(credential.certificate, credential.key))
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    try:
        yield status
    finally:
        await listener.stop()


@asynccontextmanager
async def run_fake_kubelet() -> AsyncIterator[tuple[FakeKubelet, dict[str, Any]]]:
    """Run a fake kubelet; yield it and the status of its node."""
    kubelet = FakeKubelet()
    async with serve_kubelet(kubelet.handle) as status:
        yield kubelet, status
