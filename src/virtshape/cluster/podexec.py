"""Client for Kubernetes' exec endpoint: runs commands in containers, with their input and output as streams."""

import asyncio
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

from virtshape.api.status import StatusError
from virtshape.client.errors import parse_status_error
from virtshape.client.http import HttpTransport
from virtshape.client.rest import USER_AGENT
from virtshape.client.transport import Call
from virtshape.stream.duplex import FAILED, StreamClosed
from virtshape.stream.websocket import WebSocket

PROTOCOL: Final = "v4.channel.k8s.io"
STDIN: Final = b"\x00"
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
MAX_STDERR_BYTES: Final = 512
MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
"""Maximum output of a command, which is limited because a guest that breaks out of QEMU controls its pod."""


class Command:
    """A running command, with methods to write its input and read its output."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._stderr = b""

    async def read(self) -> bytes:
        """Return the next output, b"" at the end; raise StreamClosed with the error output if the command failed."""
        while message := await self._socket.read():
            channel, data = message[0], message[1:]
            if channel == STDOUT and data:
                return data
            if channel == STDERR:
                self._stderr = (self._stderr + data)[-MAX_STDERR_BYTES:]
            elif channel == ERROR:
                self._require_success(data)
        return b""

    async def write(self, data: bytes) -> None:
        """Send input to the command."""
        await self._socket.write(STDIN + data)

    async def close(self) -> None:
        """Close the connection."""
        await self._socket.close()

    def _require_success(self, data: bytes) -> None:
        if b'"Success"' in data:
            return
        errors = self._stderr.decode(errors="replace").strip().splitlines()
        raise StreamClosed(FAILED, errors[-1] if errors else parse_status_error(data).message)


async def start_command(
    transport: HttpTransport, namespace: str, pod: str, container: str, command: Sequence[str]
) -> Command:
    """Start a command in a container; raise StatusError if the API server refuses it or the pod does not run."""
    query = [("container", container), ("stdin", "true"), ("stdout", "true"), ("stderr", "true")]
    query += [("command", word) for word in command]
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec?{urlencode(query)}"
    call = Call("GET", path, {"user-agent": USER_AGENT})
    return Command(await transport.open_socket(call, join_fragments=True, protocol=PROTOCOL))


async def run_command(
    transport: HttpTransport, namespace: str, pod: str, container: str, command: Sequence[str], seconds: float = 30.0
) -> bytes:
    """Return the whole output of a command; raise StatusError if the command fails or exceeds a limit."""
    running = await start_command(transport, namespace, pod, container, command)
    output = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while piece := await running.read():
                output += piece
                if len(output) > MAX_OUTPUT_BYTES:
                    message = f"the guest's pod sent more than {MAX_OUTPUT_BYTES} bytes"
                    raise StatusError(502, "BadGateway", message)
    except StreamClosed as end:
        raise StatusError(500, "InternalError", f"Internal error occurred: {end.reason or end}") from end
    except TimeoutError:
        message = f"the guest's pod did not respond within {seconds:g} seconds"
        raise StatusError(504, "Timeout", message) from None
    finally:
        await running.close()
    return bytes(output)
