"""
List the running guests of a data directory and stop them, without a server.

A server leaves its guests running when it stops.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.controlprotocol import Stop
from virtshape.launcher.layout import Layout
from virtshape.launcher.node import controlclient
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.gueststate import find_launch_request, find_qemu, find_report, is_alive

MARGIN_SECONDS: Final = 15.0
"""Time after the grace period before a guest's processes are killed."""
_PAUSE_SECONDS: Final = 0.1
_MAX_NAMED: Final = 10


class RunningGuest(Struct, frozen=True, kw_only=True):
    """A guest with at least one live process."""

    namespace: str
    name: str
    grace_seconds: float
    layout: Layout
    pids: tuple[int, ...]
    """The ids of its launcher and QEMU processes that are alive."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def list_running_guests(directory: Path) -> list[RunningGuest]:
    """Return the running guests of a data directory, sorted by namespace and name."""
    if not os.access(directory, os.R_OK | os.X_OK):
        return []
    directories = GuestDirectories(directory.absolute(), choose_account())
    found = (_find_running(directories.get_layout(uid)) for uid in directories.list_guests())
    return sorted((guest for guest in found if guest is not None), key=str)


def count_guests(guests: Sequence[object]) -> str:
    """Return the number of guests as text: `1 guest`, `2 guests`."""
    return f"{len(guests)} guest{'' if len(guests) == 1 else 's'}"


def name_guests(guests: Sequence[object]) -> str:
    """Return the names of guests, such as `default/a, default/b`; only the first names if there are many."""
    more = len(guests) - _MAX_NAMED
    return ", ".join(map(str, guests[:_MAX_NAMED])) + (f" and {more} more" if more > 0 else "")


async def stop_guests(guests: Iterable[RunningGuest]) -> list[RunningGuest]:
    """Shut guests down in parallel, each within its grace period; return the guests that had to be killed."""
    stopped = await asyncio.gather(*(_stop(guest) for guest in guests))
    return [guest for guest in stopped if guest is not None]


def _find_running(layout: Layout) -> RunningGuest | None:
    report, request = find_report(layout), find_launch_request(layout)
    pids = _list_pids(layout, report.launcher_pid if report is not None else None)
    if not pids or request is None:
        return None
    metadata, grace = request.vmi.metadata, request.vmi.spec.termination_grace_period_seconds
    return RunningGuest(
        namespace=metadata.namespace or "",
        name=metadata.name or "",
        grace_seconds=DEFAULT_GRACE_SECONDS if grace is None else grace,
        layout=layout,
        pids=pids,
    )


def _list_pids(layout: Layout, launcher: int | None) -> tuple[int, ...]:
    return tuple(pid for pid in (launcher, find_qemu(layout)) if pid is not None and is_alive(pid, layout))


async def _stop(guest: RunningGuest) -> RunningGuest | None:
    """Stop a guest; return the guest if its processes had to be killed."""
    timeout = guest.grace_seconds + MARGIN_SECONDS
    try:
        await controlclient.send_request(guest.layout.socket, Stop(grace=guest.grace_seconds))
    except (OSError, ValueError):  # its launcher process has died or does not respond
        timeout = 0.0
    if await _wait_until_ended(guest, timeout):
        return None
    for pid in guest.pids:
        if is_alive(pid, guest.layout):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    await _wait_until_ended(guest, MARGIN_SECONDS)
    return guest


async def _wait_until_ended(guest: RunningGuest, seconds: float) -> bool:
    """Wait until all processes of the guest have ended; return False after the timeout."""
    deadline = asyncio.get_running_loop().time() + seconds
    while any(is_alive(pid, guest.layout) for pid in guest.pids):
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(_PAUSE_SECONDS)
    return True
