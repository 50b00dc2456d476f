"""Fork server: start launcher processes from a preloaded parent, or directly if that fails."""

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
from virtshape.launcher.node.forkserverprocess import MAX_MESSAGE_BYTES, SpawnRequest
from virtshape.launcher.node.process import confine_to, spawn, start_python

PROCESS_MODULE: Final = "virtshape.launcher.node.forkserverprocess"
_log = logging.getLogger(__name__)


class ForkServer:
    """Starts launcher processes, which run a module's `main`; if `log` is None, processes are started directly."""

    def __init__(self, module: str, log: Path | None) -> None:
        self._module = module
        self._log = log
        self._socket: socket.socket | None = None
        self._pid: int | None = None
        self._lock = asyncio.Lock()

    def open(self) -> None:
        """Start the fork server process, so that the first launcher process starts as fast as all later processes."""
        if self._socket is not None or self._log is None:
            return
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._pid = start_python([PROCESS_MODULE, "3"], self._log, other.fileno())
        self._socket = own

    async def start(self, directory: Path, log: Path, account: Account, reach: tuple[str, ...]) -> int:
        """Start a launcher process for a directory and return its pid; the process can access the paths in `reach`."""
        confinement = confine_to(account, reach)
        request = SpawnRequest(module=self._module, directory=str(directory), log=str(log), confinement=confinement)
        async with self._lock:
            pid = await asyncio.to_thread(self._request_fork, msgspec.json.encode(request))
        return pid or spawn(self._module, directory, log, confinement)

    async def close(self) -> None:
        """Stop the fork server process."""
        async with self._lock:
            self._stop()

    def _request_fork(self, message: bytes) -> int | None:
        """Request a fork and return its pid, or None if the fork server does not work."""
        try:
            self.open()
            if self._socket is None or len(message) > MAX_MESSAGE_BYTES:
                return None
            self._socket.send(message)
            response = self._socket.recv(MAX_MESSAGE_BYTES)
            failure = "" if response else f"it ended, see {self._log}"
        except OSError as error:
            response, failure = b"", str(error)
        if failure:
            _log.warning(
                "fork server failed: %s; starting this launcher process directly, and a new fork server later",
                failure,
            )
            self._stop()
            return None
        return int(response)

    def _stop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = None
