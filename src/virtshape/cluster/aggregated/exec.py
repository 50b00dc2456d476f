"""
Commands in the containers of pods, as the cluster's API server runs them: their input and output as streams.

Speaks the protocol that Kubernetes has for that over a WebSocket; what runs is not known here.
"""

import asyncio
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

from virtshape.api.status import StatusError
from virtshape.client.errors import parse_status_error
from virtshape.client.http import HttpTransport
from virtshape.client.rest import USER_AGENT
from virtshape.client.transport import Call
from virtshape.stream.duplex import FAILED, HangUp
from virtshape.stream.websocket import WebSocket

PROTOCOL: Final = "v4.channel.k8s.io"
STDIN: Final = b"\x00"
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
MOST_WORDS: Final = 512


class Command:
    """A command that runs in a container: what is written is its input, what is read its output."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._complaints = b""

    async def read(self) -> bytes:
        """The next output; none when the command has ended well, HangUp with its complaint when it has not."""
        while message := await self._socket.read():
            channel, data = message[0], message[1:]
            if channel == STDOUT and data:
                return data
            if channel == STDERR:
                self._complaints = (self._complaints + data)[-MOST_WORDS:]
            elif channel == ERROR:
                self._check_end(data)
        return b""

    async def write(self, data: bytes) -> None:
        """Give the command input."""
        await self._socket.write(STDIN + data)

    async def close(self) -> None:
        """Let go of it."""
        await self._socket.close()

    def _check_end(self, data: bytes) -> None:
        if b'"Success"' in data:
            return
        words = self._complaints.decode(errors="replace").strip().splitlines()
        raise HangUp(FAILED, words[-1] if words else parse_status_error(data).message)


async def start_command(
    transport: HttpTransport, namespace: str, pod: str, container: str, command: Sequence[str]
) -> Command:
    """Run a command in a container; StatusError if the API server refuses or the pod does not run."""
    query = [("container", container), ("stdin", "true"), ("stdout", "true"), ("stderr", "true")]
    query += [("command", word) for word in command]
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec?{urlencode(query)}"
    call = Call("GET", path, {"user-agent": USER_AGENT})
    return Command(await transport.open_socket(call, whole_messages=True, protocol=PROTOCOL))


async def run_command(
    transport: HttpTransport, namespace: str, pod: str, container: str, command: Sequence[str], seconds: float = 30.0
) -> bytes:
    """All that a command writes, once it has ended; StatusError with its complaint if it fails."""
    running = await start_command(transport, namespace, pod, container, command)
    pieces = []
    try:
        async with asyncio.timeout(seconds):
            while piece := await running.read():
                pieces.append(piece)
    except HangUp as end:
        raise StatusError(500, "InternalError", f"Internal error occurred: {end.words or end}") from end
    except TimeoutError:
        words = f"the guest's pod did not answer within {seconds:g} seconds"
        raise StatusError(504, "Timeout", words) from None
    finally:
        await running.close()
    return b"".join(pieces)
