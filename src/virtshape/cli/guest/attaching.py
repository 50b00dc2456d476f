"""
Attaches this terminal to the console of a guest, and lets go of it again.

Waits for the guest to run; whatever happens, the terminal is as before afterwards.
"""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import Refusal
from virtshape.cli.guest.instance import explain_refusal, find_machine
from virtshape.cli.guest.stdio import Escaped, Stdio, raw_terminal
from virtshape.cli.progress import Progress
from virtshape.client.guests import open_console, read_console_log
from virtshape.stream.duplex import HangUp
from virtshape.stream.relay import relay
from virtshape.stream.websocket import WebSocket

PAUSE_SECONDS: Final = 1.0
LAST_WORDS_SECONDS: Final = 2.0
"""How long a guest may be silent after input that was piped in has ended."""

_COMING: Final = frozenset({"Provisioning", "Running", "Starting", "WaitingForVolumeBinding"})


async def attach(session: Session, name: str, minutes: int) -> None:
    """Connect to the console of a guest until either leaves."""
    socket = await wait_for_console(session, name, minutes)
    try:
        with raw_terminal(), _ending_on_signals():
            # Said when every key reaches the guest, and not before: whoever reads this begins to type.
            words = f"Successfully connected to {name} console. Press Ctrl+] or Ctrl+5 to exit console."
            click.echo(words + ("\r" if sys.stdin.isatty() else ""), err=True)
            await relay(Stdio(has_escape=True), socket, linger=LAST_WORDS_SECONDS)
    except Escaped:
        click.echo(err=True)
    except HangUp as end:
        click.echo(err=True)
        raise Refusal(
            f"disconnected from the console of {name}: {end}",
            next_step=f"See how the guest is: kubectl get vmi {name} -n {session.namespace}",
        ) from end
    else:
        if sys.stdin.isatty():
            click.echo("\nThe guest has closed its console.", err=True)
    finally:
        await socket.close(seconds=1.0)


async def wait_for_console(session: Session, name: str, minutes: int) -> WebSocket:
    """The console of a guest, as soon as it runs."""
    loop = asyncio.get_running_loop()
    began, seconds = loop.time(), minutes * 60
    progress = Progress(f"waiting for {name} to run, seconds")
    try:
        while True:
            try:
                return await open_console(session.transport, session.namespace, name)
            except StatusError as error:
                if not await _may_come(session, name, error):
                    raise await explain_refusal(session, name, error) from error
                waited = loop.time() - began
                if waited >= seconds:
                    raise _give_up(session, name, minutes) from error
            progress.show(int(waited), seconds)
            await asyncio.sleep(PAUSE_SECONDS)
    finally:
        progress.clear()


async def _may_come(session: Session, name: str, error: StatusError) -> bool:
    """Whether a guest that does not run is about to."""
    if error.code == 400:
        return "not running" in error.message
    vm = await find_machine(session, name) if error.code == 404 else None
    return vm is not None and vm.status is not None and vm.status.printable_status in _COMING


def _give_up(session: Session, name: str, minutes: int) -> Refusal:
    where = f"-n {session.namespace}"
    limit = f"within {minutes} minute{'' if minutes == 1 else 's'}" if minutes else "yet"
    return Refusal(f"{name} does not run {limit}", next_step=f"See why: kubectl describe vmi {name} {where}")


async def print_log(session: Session, name: str) -> None:
    """Print what the console of a guest has shown."""
    try:
        log = await read_console_log(session.client, session.namespace, name)
    except StatusError as error:
        if error.code == 404 and not error.details.kind:
            words = "this server keeps no record of consoles"
            raise Refusal(words, next_step=f"Connect to it: virtctl console {name}") from error
        raise await explain_refusal(session, name, error) from error
    sys.stdout.buffer.write(log)
    sys.stdout.flush()


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Have signals that end a process end what is under way first, so that the terminal is restored."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - we are within one
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        raise click.Abort from None
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
