"""
A supervisor process for tests to kill: it starts a guest in a data directory, prints the guest's uid, and waits.

Run as a program: `python -m tests.support.supervisor DIRECTORY`.
"""

import asyncio
import sys
import uuid
from pathlib import Path

from tests.support.guests import build_guest

from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.node.probing import probe_host
from virtshape.supervise.supervisor import Supervisor


async def supervise(data: Path) -> None:
    """Start a guest and wait to be killed."""
    places = GuestDirectories(data, choose_account())
    guests = Guests(places, await probe_host(places), Supervisor())
    uid = str(uuid.uuid4())
    running = asyncio.Event()
    guests.observe(lambda _, report: running.set() if report.state != "starting" else None)
    await guests.start(uid, build_guest(uid), {})
    await running.wait()
    sys.stdout.write(f"{uid}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(supervise(Path(sys.argv[1])))
