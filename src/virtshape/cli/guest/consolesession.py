"""Connect the terminal to the console of a guest. The terminal settings are always restored."""

import asyncio
import sys
from typing import Final

import click

from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.guest.instance import explain_instance_error, find_vm
from virtshape.cli.guest.stdio import Stdio, raw_terminal
from virtshape.cli.progress import Progress
from virtshape.cli.signals import cancel_on_signals
from virtshape.client.guests import open_console, read_console_log
from virtshape.stream.duplex import NORMAL, StreamClosed
from virtshape.stream.relay import relay
from virtshape.stream.websocket import WebSocket

ESCAPE: Final = b"\x1d"
"""The byte that terminals send for Ctrl+] and Ctrl+5."""
PAUSE_SECONDS: Final = 1.0
LINGER_SECONDS: Final = 2.0
"""How long to wait for output after piped input has ended."""

_STARTING: Final = frozenset({"Provisioning", "Running", "Starting", "WaitingForVolumeBinding"})


class EscapeTyped(StreamClosed):
    """The user has typed the escape key."""

    def __init__(self) -> None:
        super().__init__(NORMAL)


class ConsoleInput(Stdio):
    """Standard input and output as one stream, which the escape key closes."""

    def __init__(self) -> None:
        super().__init__()
        self._is_escaped = False

    async def read(self) -> bytes:
        """Return the next input before the escape key; raise EscapeTyped after it."""
        if self._is_escaped:
            raise EscapeTyped
        data, key, _ = (await super().read()).partition(ESCAPE)
        self._is_escaped = bool(key)
        if key and not data:
            raise EscapeTyped
        return data


async def attach(session: Session, name: str, minutes: int) -> None:
    """Connect to the console until the user or the guest disconnects."""
    socket = await wait_for_console(session, name, minutes)
    try:
        with raw_terminal(), cancel_on_signals():
            # Print the message only now that keys reach the guest: the user starts to type when the message appears.
            message = f"Successfully connected to {name} console. Press Ctrl+] or Ctrl+5 to exit console."
            click.echo(message + ("\r" if sys.stdin.isatty() else ""), err=True)
            await relay(ConsoleInput(), socket, linger=LINGER_SECONDS)
    except EscapeTyped:
        click.echo(err=True)
    except StreamClosed as end:
        click.echo(err=True)
        raise CommandError(
            f"disconnected from the console of {name}: {end}",
            next_step=f"Check the guest: kubectl get vmi {name} -n {session.namespace}",
        ) from end
    else:
        if sys.stdin.isatty():
            click.echo("\nThe guest has closed its console.", err=True)
    finally:
        await socket.close(seconds=1.0)


async def wait_for_console(session: Session, name: str, minutes: int) -> WebSocket:
    """Open the console, waiting until the guest runs."""
    loop = asyncio.get_running_loop()
    began, seconds = loop.time(), minutes * 60
    progress = Progress(f"waiting for {name} to run (seconds)")
    try:
        while True:
            try:
                return await open_console(session.transport, session.namespace, name)
            except StatusError as error:
                if not await _is_starting(session, name, error):
                    raise await explain_instance_error(session, name, error) from error
                waited = loop.time() - began
                if waited >= seconds:
                    raise _timeout_error(session, name, minutes) from error
            progress.show(int(waited), seconds)
            await asyncio.sleep(PAUSE_SECONDS)
    finally:
        progress.clear()


async def _is_starting(session: Session, name: str, error: StatusError) -> bool:
    """Return True if the guest is starting."""
    if error.code == 400:
        return "not running" in error.message
    vm = await find_vm(session, name) if error.code == 404 else None
    return vm is not None and vm.status is not None and vm.status.printable_status in _STARTING


def _timeout_error(session: Session, name: str, minutes: int) -> CommandError:
    where = f"-n {session.namespace}"
    limit = f"within {minutes} minute{'' if minutes == 1 else 's'}" if minutes else "yet"
    return CommandError(f"{name} is not running {limit}", next_step=f"Check why: kubectl describe vmi {name} {where}")


async def print_log(session: Session, name: str) -> None:
    """Print the console log of a guest."""
    try:
        log = await read_console_log(session.client, session.namespace, name)
    except StatusError as error:
        if error.code == 404 and not error.details.kind:
            message = "this server does not keep console logs"
            raise CommandError(message, next_step=f"Connect to the console: virtctl console {name}") from error
        raise await explain_instance_error(session, name, error) from error
    sys.stdout.buffer.write(log)
    sys.stdout.flush()
