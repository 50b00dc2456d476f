"""
Serve the VNC screen of a guest on a local port, for a viewer that the command or the user starts.

The command ends when the first viewer or the guest disconnects.
"""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.guest.instance import explain_instance_error
from virtshape.cli.guest.vncviewer import Viewer
from virtshape.cli.signals import stop_event
from virtshape.client.guests import open_vnc
from virtshape.stream.duplex import SocketStream, StreamClosed
from virtshape.stream.relay import relay
from virtshape.stream.websocket import WebSocket

CONNECT_SECONDS: Final = 60.0
"""How long a started viewer may take to connect."""
STOP_SECONDS: Final = 2.0


class Screen:
    """Serves a screen to the first viewer that connects."""

    def __init__(self, socket: WebSocket, name: str) -> None:
        self._socket = socket
        self._name = name
        self.taken = asyncio.Event()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._carrying: asyncio.Task[None] | None = None

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a viewer's connection if it is the first."""
        if self.taken.is_set():
            writer.close()
            return
        self.taken.set()
        self._carrying = asyncio.create_task(self._carry(SocketStream(reader, writer)))

    async def close(self) -> None:
        """Close the connections to the viewer and the guest."""
        if self._carrying is not None:
            self._carrying.cancel()
            await asyncio.wait([self._carrying])
        await self._socket.close()

    async def _carry(self, viewer: SocketStream) -> None:
        try:
            await relay(viewer, self._socket)
        except StreamClosed as end:
            self._end(CommandError(f"disconnected from the screen of {self._name}: {end}"))
        except OSError:  # the viewer has disconnected
            self._end(None)
        except Exception as error:  # noqa: BLE001 - raised to the waiting task
            self._end(error)
        else:
            self._end(None)
        finally:
            await viewer.close()

    async def watch(self) -> None:
        """End the session with an error if the guest disconnects before a viewer connects."""
        await self._socket.wait_ended()
        if not self.taken.is_set():
            self._end(CommandError(f"the screen of {self._name} was closed before a viewer connected"))

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


async def serve_screen(session: Session, name: str, viewer: Viewer | None, address: str, port: int) -> None:
    """Serve the screen and start the viewer; without a viewer, print the port."""
    try:
        socket = await open_vnc(session.transport, session.namespace, name)
    except StatusError as error:
        raise await explain_instance_error(session, name, error) from error
    screen = Screen(socket, name)
    try:
        server = await _listen(screen, address, port)
        number = int(server.sockets[0].getsockname()[1])
        async with server:
            with stop_event() as stopped:  # before any output, because scripts may react with a signal
                if viewer is None:
                    click.echo(json.dumps({"port": number}, separators=(",", ":")))
                    await _wait(screen, stopped, [])
                else:
                    await _show(screen, stopped, viewer.build_arguments(address, number))
    finally:
        await screen.close()


async def _listen(screen: Screen, address: str, port: int) -> asyncio.Server:
    try:
        return await asyncio.start_server(screen.serve, address, port)
    except OSError as error:
        message = f"cannot listen on {address}:{port}: {error.strerror or error}"
        raise CommandError(message, next_step="Choose another --port, or omit it to use a free one.") from error


async def _show(screen: Screen, stopped: asyncio.Event, arguments: list[str]) -> None:
    """Run the viewer until it exits or the guest disconnects."""
    process = await asyncio.create_subprocess_exec(
        *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    running = asyncio.create_task(process.communicate())
    connecting = asyncio.create_task(_wait_for_viewer(screen))
    try:
        await _wait(screen, stopped, [running, connecting])
        if running.done() and not screen.taken.is_set() and not stopped.is_set():
            output = running.result()[1].decode(errors="replace").strip()
            message = f"{Path(arguments[0]).name} exited with status {process.returncode} and never connected"
            raise CommandError(message, output.splitlines()[-3:])
    finally:
        connecting.cancel()
        await _end(process, running)


async def _end(process: asyncio.subprocess.Process, running: "asyncio.Future[Any]") -> None:
    """Terminate the viewer, and kill it if it does not exit."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        # process.send_signal would reap an exited child before asyncio's child watcher, which would then log a warning.
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
        if (await asyncio.wait([running], timeout=STOP_SECONDS))[0]:
            return


async def _wait_for_viewer(screen: Screen) -> None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await screen.taken.wait()
    except TimeoutError:
        raise CommandError(f"the viewer did not connect within {CONNECT_SECONDS:g} seconds") from None
    await asyncio.Event().wait()


async def _wait(screen: Screen, stopped: asyncio.Event, others: Sequence["asyncio.Future[Any]"]) -> None:
    """Wait until the screen is closed, another task ends, or a signal arrives."""
    watching = [asyncio.create_task(stopped.wait()), asyncio.create_task(screen.watch())]
    try:
        waiting: list[asyncio.Future[Any]] = [screen.ended, watching[0], *others]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in watching:
            task.cancel()
    for future in done:
        future.result()
