"""
Offers the screen of a guest at a port of this machine, to a viewer that is started for it or to any other.

One viewer, once: when it leaves, or the guest does, it is over.
"""

import asyncio
import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import Refusal
from virtshape.cli.guest.instance import explain_refusal
from virtshape.cli.guest.signals import listening
from virtshape.cli.guest.viewers import Viewer, find_viewer
from virtshape.client.guests import open_vnc
from virtshape.stream.duplex import HangUp, SocketStream
from virtshape.stream.relay import relay
from virtshape.stream.websocket import WebSocket

CONNECT_SECONDS: Final = 60.0
"""How long a viewer that we start has to connect."""
FAREWELL_SECONDS: Final = 2.0

_INSTALL: Final = "Install virt-viewer or a VNC viewer, or connect one yourself: virtctl vnc NAME --proxy-only"


def choose_viewer(viewer_type: str, path: str) -> Viewer:
    """The viewer to start; Refusal if there is none."""
    if path:
        if shutil.which(path) is None:
            raise Refusal(f"{path} is no program", next_step="Check --vnc-path.")
        return Viewer(viewer_type, path)
    viewer = find_viewer(viewer_type)
    if viewer is None:
        raise Refusal(f"no VNC viewer{f' of type {viewer_type}' if viewer_type else ''} is found", next_step=_INSTALL)
    return viewer


class Screen:
    """A screen at a port, for the first viewer that connects."""

    def __init__(self, socket: WebSocket, name: str) -> None:
        self._socket = socket
        self._name = name
        self.taken = asyncio.Event()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._carrying: asyncio.Task[None] | None = None

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a viewer's connection, if it is the first."""
        if self.taken.is_set():
            writer.close()
            return
        self.taken.set()
        self._carrying = asyncio.create_task(self._carry(SocketStream(reader, writer)))

    async def close(self) -> None:
        """Let go of the viewer and of the guest."""
        if self._carrying is not None:
            self._carrying.cancel()
            await asyncio.wait([self._carrying])
        await self._socket.close()

    async def _carry(self, viewer: SocketStream) -> None:
        try:
            await relay(viewer, self._socket)
        except HangUp as end:
            self._end(Refusal(f"disconnected from the screen of {self._name}: {end}"))
        except OSError:  # the viewer has left in its own way
            self._end(None)
        except Exception as error:  # noqa: BLE001 - raised where the screen is waited for
            self._end(error)
        else:
            self._end(None)
        finally:
            await viewer.close()

    async def watch(self) -> None:
        """End it if the guest goes before a viewer comes."""
        await self._socket.wait_ended()
        if not self.taken.is_set():
            self._end(Refusal(f"the screen of {self._name} was closed before a viewer came"))

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


async def offer(session: Session, name: str, viewer: Viewer | None, address: str, port: int) -> None:
    """Offer the screen, and have the viewer show it; without one, say where it is."""
    try:
        socket = await open_vnc(session.transport, session.namespace, name)
    except StatusError as error:
        raise await explain_refusal(session, name, error) from error
    screen = Screen(socket, name)
    try:
        server = await _listen(screen, address, port)
        number = int(server.sockets[0].getsockname()[1])
        async with server:
            with listening() as told:  # before anything is said or started: a signal may come at once
                if viewer is None:
                    click.echo(json.dumps({"port": number}, separators=(",", ":")))
                    await _wait(screen, told, [])
                else:
                    await _show(screen, told, viewer.build_arguments(address, number))
    finally:
        await screen.close()


async def _listen(screen: Screen, address: str, port: int) -> asyncio.Server:
    try:
        return await asyncio.start_server(screen.serve, address, port)
    except OSError as error:
        words = f"cannot listen at {address}:{port}: {error.strerror or error}"
        raise Refusal(words, next_step="Choose another port, or none to have one chosen.") from error


async def _show(screen: Screen, told: asyncio.Event, arguments: list[str]) -> None:
    """Run the viewer until it or the guest ends."""
    process = await asyncio.create_subprocess_exec(
        *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    running = asyncio.create_task(process.communicate())
    connecting = asyncio.create_task(_wait_for_viewer(screen))
    try:
        await _wait(screen, told, [running, connecting])
        if running.done() and not screen.taken.is_set() and not told.is_set():
            said = running.result()[1].decode(errors="replace").strip()
            words = f"{Path(arguments[0]).name} ended with status {process.returncode} and never connected"
            raise Refusal(words, said.splitlines()[-3:])
    finally:
        connecting.cancel()
        await _end(process, running)


async def _end(process: asyncio.subprocess.Process, running: "asyncio.Future[Any]") -> None:
    """Have the viewer end, if it has not; one that does not listen is killed."""
    for send in (process.terminate, process.kill):
        with suppress(ProcessLookupError):
            send()
        if (await asyncio.wait([running], timeout=FAREWELL_SECONDS))[0]:
            return


async def _wait_for_viewer(screen: Screen) -> None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await screen.taken.wait()
    except TimeoutError:
        raise Refusal(f"the viewer did not connect within {CONNECT_SECONDS:g} seconds") from None
    await asyncio.Event().wait()


async def _wait(screen: Screen, told: asyncio.Event, others: Sequence["asyncio.Future[Any]"]) -> None:
    """Wait until the screen is over, one of the others is, or a signal comes."""
    watching = [asyncio.create_task(told.wait()), asyncio.create_task(screen.watch())]
    try:
        waiting: list[asyncio.Future[Any]] = [screen.ended, watching[0], *others]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in watching:
            task.cancel()
    for future in done:
        future.result()
