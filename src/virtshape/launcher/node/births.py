"""
Launcher processes as forks of one that waits with everything loaded, or started by themselves where that one fails.

Only starts them; what becomes of them is somebody else's business.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Final

import msgspec

from virtshape.launcher.node.account import Account
from virtshape.launcher.node.nursery import LONGEST_MESSAGE, Birth
from virtshape.launcher.node.spawning import confine_to, spawn, start_python

NURSERY: Final = "virtshape.launcher.node.nursery"
_log = logging.getLogger(__name__)


class Births:
    """Starts launcher processes, in which the module's `main` runs; no forks without a log for them."""

    def __init__(self, module: str, log: Path | None) -> None:
        self._module = module
        self._log = log
        self._line: socket.socket | None = None
        self._pid: int | None = None
        self._alone = asyncio.Lock()

    def open(self) -> None:
        """Have a process load what launcher processes need, so that the first one starts as fast as all others."""
        if self._line is not None or self._log is None:
            return
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._pid = start_python([NURSERY, "3"], self._log, other.fileno())
        self._line = own

    async def start(self, directory: Path, log: Path, account: Account, reach: tuple[str, ...]) -> int:
        """Start a launcher process of an account for a directory, able to reach these paths; its process id."""
        confinement = confine_to(account, reach)
        birth = Birth(module=self._module, directory=str(directory), log=str(log), confinement=confinement)
        async with self._alone:
            pid = await asyncio.to_thread(self._ask, msgspec.json.encode(birth))
        return pid or spawn(self._module, directory, log, confinement)

    async def close(self) -> None:
        """End the process that waits."""
        async with self._alone:
            self._give_up()

    def _ask(self, message: bytes) -> int | None:
        """Ask for a fork; its process id, or None if there is none to be had."""
        try:
            self.open()
            if self._line is None or len(message) > LONGEST_MESSAGE:
                return None
            self._line.send(message)
            answer = self._line.recv(LONGEST_MESSAGE)
        except OSError as error:
            answer = b""
            _log.warning("launcher processes start by themselves: %s", error)
        if not answer:
            self._give_up()
            return None
        return int(answer)

    def _give_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = None
