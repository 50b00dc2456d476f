"""
Fake guests for stream tests: consoles and VNC on Unix sockets, ports on loopback.

A console prints a prompt and echoes input, and VNC sends its greeting and echoes input. Only the guests of
`serve_echo_guests` have ports.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.protocol import AgentQuery, GuestAction, PortProtocol
from virtshape.stream.datagrams import DatagramStream, wrap_datagrams
from virtshape.stream.duplex import Duplex, SocketStream, open_unix

HELLO = b"login: "
GREETING = b"RFB 003.008\n"
CHARGEN_BYTES = 64 * 1024 * 1024

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def connect_tcp(port: int) -> SocketStream:
    """Connect to a TCP port on loopback."""
    return SocketStream(*await asyncio.open_connection("127.0.0.1", port))


async def connect_udp(port: int) -> DatagramStream:
    """Open a UDP stream to a port on loopback; this succeeds even if no server listens there."""
    connected = socket.socket(type=socket.SOCK_DGRAM)
    connected.setblocking(False)
    connected.connect(("127.0.0.1", port))
    return await wrap_datagrams(connected)


class EchoGuests:
    """Opens consoles, VNC and ports of the fake guests; `acted` records the actions on guests."""

    reports_agents = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports: dict[tuple[int, PortProtocol], int] = {}
        self.acted: list[tuple[str, GuestAction]] = []
        self.open_consoles = 0

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        self.acted.append((_name(vmi), action))
        if _name(vmi) == "stubborn":
            raise StatusError(500, "InternalError", "the guest does not listen")

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        del vmi
        return await open_unix(str(self.folder / "console"))

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        del vmi
        return await open_unix(str(self.folder / "screen"))

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        del vmi
        number = self.ports.get((port, protocol), 1)
        return await (connect_udp(number) if protocol == "udp" else connect_tcp(number))

    async def query_agent(self, vmi: VirtualMachineInstance, query: AgentQuery) -> bytes:
        return json.dumps({"hostname": _name(vmi), "asked": query}).encode()

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        return b"Booting " + _name(vmi).encode() + b"\r\n\xff\x00done\r\n"

    async def serve_console(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Print a prompt, then echo input; `poweroff` closes the console."""
        self.open_consoles += 1
        try:
            writer.write(HELLO)
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
                if b"poweroff" in data:
                    break
        except ConnectionError:
            pass
        finally:
            self.open_consoles -= 1
            writer.close()


async def serve_vnc(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(GREETING)
    await echo(reader, writer)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def count_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read until the client closes the connection or sends a line with only a dot, then send the number of bytes."""
    size = 0
    while data := await reader.read(65536):
        size += len(data)
        if data.endswith(b"\n.\n"):
            break
    writer.write(b"%d\n" % size)
    writer.close()


async def generate(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send many bytes, as the chargen service does."""
    del reader
    piece = bytes(range(256)) * 256
    try:
        for _ in range(CHARGEN_BYTES // len(piece)):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


class _Repeat(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(data, addr)


ECHO, COUNT, CHARGEN, DISCARD = 7, 80, 19, 9


@asynccontextmanager
async def serve_echo_guests(folder: Path) -> AsyncIterator[EchoGuests]:
    """Serve the guests; ports: 7 (echo, also UDP), 9 (discard), 19 (chargen), 80 (counts bytes)."""
    guests = EchoGuests(folder)
    ending = asyncio.Event()
    tasks: set[asyncio.Task[None] | None] = set()

    def track(handler: Handler) -> Handler:
        """Track the connection tasks, so that they can be stopped before the loop is closed."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            tasks.add(task)
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await handler(reader, writer)
            writer.close()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await writer.wait_closed()
            tasks.discard(task)

        return serve

    async def discard(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ending.wait()
        writer.close()

    servers = [
        await asyncio.start_unix_server(track(guests.serve_console), folder / "console"),
        await asyncio.start_unix_server(track(serve_vnc), folder / "screen"),
    ]
    for port, handler in ((ECHO, echo), (COUNT, count_bytes), (CHARGEN, generate), (DISCARD, discard)):
        server = await asyncio.start_server(track(handler), "127.0.0.1", 0)
        servers.append(server)
        guests.ports[port, "tcp"] = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    datagrams, _ = await loop.create_datagram_endpoint(_Repeat, local_addr=("127.0.0.1", 0))
    guests.ports[ECHO, "udp"] = datagrams.get_extra_info("sockname")[1]
    try:
        yield guests
    finally:
        ending.set()
        datagrams.close()
        for server in servers:
            server.close()
        left = [task for task in tasks if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left)


def _name(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.name or ""
