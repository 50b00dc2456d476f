"""
Forward local ports to a guest: one stream per TCP connection and per UDP sender.

A failed stream is reported and does not affect the others.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final, cast

import click

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.guest.arguments import GuestRef, Port
from virtshape.cli.guest.instance import explain_instance_error
from virtshape.cli.guest.stdio import Stdio
from virtshape.cli.signals import stop_event
from virtshape.client.actions import Resource
from virtshape.client.guests import open_port
from virtshape.stream.duplex import SocketStream, StreamClosed
from virtshape.stream.relay import LINGER_SECONDS, relay
from virtshape.stream.websocket import WebSocket

IDLE_SECONDS: Final = 300.0
MAX_WAITING: Final = 64


class Forwarder:
    """Opens streams to one port of a guest."""

    def __init__(self, session: Session, guest: GuestRef, port: Port) -> None:
        self._session = session
        self._guest = guest
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> WebSocket:
        """Open a stream; raise StatusError or UnreachableError if that fails."""
        session, guest, port = self._session, self._guest, self._port
        resource = cast("Resource", guest.resource)
        return await open_port(session.transport, session.namespace, resource, guest.name, port.remote, port.protocol)

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection in its own task."""
        task = asyncio.create_task(self._serve(SocketStream(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self.report)

    async def close(self) -> None:
        """Close all connections."""
        await _cancel(self._tasks)

    async def _serve(self, local: SocketStream) -> None:
        try:
            await self._carry(local)
        finally:
            await local.close()

    async def _carry(self, local: SocketStream) -> None:
        socket = await self.open()
        try:
            await relay(local, socket, linger=LINGER_SECONDS)
        finally:
            await socket.close()

    def report(self, task: "asyncio.Task[None]") -> None:
        """Print why a stream failed, if it did."""
        if not task.cancelled() and (error := task.exception()) is not None:
            reason = str(error) or type(error).__name__
            click.echo(f"{self._guest.kind}/{self._guest.name} port {self._port.remote}: {reason}", err=True)


class DatagramForwarder(asyncio.DatagramProtocol):
    """Forwards the datagrams of each sender over its own stream, which is closed when idle."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder
        self._senders: dict[Any, asyncio.Queue[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]  # of a UDP endpoint

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Forward a datagram; drop it if the queue is full, as UDP allows."""
        waiting = self._senders.get(addr)
        if waiting is None:
            waiting = self._senders[addr] = asyncio.Queue(MAX_WAITING)
            task = asyncio.create_task(self._serve(addr, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(self._forwarder.report)
        with suppress(asyncio.QueueFull):
            waiting.put_nowait(data)

    async def _serve(self, addr: Any, waiting: "asyncio.Queue[bytes]") -> None:
        try:
            socket = await self._forwarder.open()
            try:
                await self._carry(socket, addr, waiting)
            finally:
                await socket.close()
        except TimeoutError:
            pass
        finally:
            del self._senders[addr]

    async def _carry(self, socket: WebSocket, addr: Any, waiting: "asyncio.Queue[bytes]") -> None:
        async with asyncio.timeout(IDLE_SECONDS) as idle:

            async def send_responses() -> None:
                while data := await socket.read():
                    idle.reschedule(asyncio.get_running_loop().time() + IDLE_SECONDS)
                    self._transport.sendto(data, addr)

            responses = asyncio.create_task(send_responses())
            try:
                while not responses.done():
                    getting = asyncio.create_task(waiting.get())
                    await asyncio.wait([getting, responses], return_when=asyncio.FIRST_COMPLETED)
                    if getting.done():
                        idle.reschedule(asyncio.get_running_loop().time() + IDLE_SECONDS)
                        await socket.write(getting.result())
                    else:
                        getting.cancel()
                responses.result()
            finally:
                responses.cancel()

    async def close(self) -> None:
        """Close all streams."""
        self._transport.close()
        await _cancel(self._tasks)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


async def forward(session: Session, guest: GuestRef, ports: Sequence[Port], address: str) -> None:
    """Listen on all ports and forward connections until a signal arrives."""
    await _require_guest(session, guest)
    async with AsyncExitStack() as stack:
        stopped = stack.enter_context(stop_event())  # before any output, because scripts may react with a signal
        for port in ports:
            number = await _listen(stack, Forwarder(session, guest, port), port, address)
            click.echo(f"forwarding {port.protocol} {_join(address, number)} to {port.remote}")
        await stopped.wait()


async def _listen(stack: AsyncExitStack, forwarder: Forwarder, port: Port, address: str) -> int:
    """Listen on the local port and return its number; if it is 0, the system chooses a free port."""
    loop = asyncio.get_running_loop()
    try:
        if port.protocol == "udp":
            transport, datagrams = await loop.create_datagram_endpoint(
                lambda: DatagramForwarder(forwarder), local_addr=(address, port.local)
            )
            stack.push_async_callback(datagrams.close)
            return int(transport.get_extra_info("sockname")[1])
        server = await asyncio.start_server(forwarder.serve, address, port.local)
    except OSError as error:
        message = f"cannot listen on {_join(address, port.local)}: {error.strerror or error}"
        raise CommandError(
            message, next_step=f"Choose another local port: 0:{port.remote} uses a free port."
        ) from error
    stack.push_async_callback(forwarder.close)
    stack.callback(server.close)
    return int(server.sockets[0].getsockname()[1])


async def _require_guest(session: Session, guest: GuestRef) -> None:
    """Raise CommandError if the guest does not exist; ignore other errors, such as a missing read permission."""
    kind = VirtualMachine if guest.kind == "vm" else VirtualMachineInstance
    try:
        await session.client.get(kind, guest.name, session.namespace)
    except StatusError as error:
        if error.code == 404:
            raise await explain_instance_error(session, guest.name, error) from error


async def connect_stdio(session: Session, guest: GuestRef, port: Port) -> None:
    """Connect standard input and output to a port."""
    try:
        socket = await Forwarder(session, guest, port).open()
    except StatusError as error:
        raise await explain_instance_error(session, guest.name, error) from error
    try:
        await relay(Stdio(), socket, linger=LINGER_SECONDS)
    except StreamClosed as end:
        raise CommandError(f"{guest.kind}/{guest.name} port {port.remote}: {end}") from end
    finally:
        await socket.close()


def _join(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
