"""
The fork server process: preload what launcher processes need, then fork one for each request.

Started as `python -m virtshape.launcher.node.forkserver_process DESCRIPTOR`. The descriptor is a socket: each message
is a SpawnRequest, each response a process id. The process exits with its supervisor; launcher processes keep running.
"""

import gc
import os
import signal
import socket
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

import msgspec
from msgspec import Struct

from virtshape.launcher.guest.connection import prepare_environment
from virtshape.launcher.node.confined_process import run_confined
from virtshape.launcher.node.confinement import Confinement
from virtshape.launcher.node.logs import open_log
from virtshape.launcher.node.naming import get_process_name, set_process_name

_PROCESS_NAME: Final = "forkserver"
MAX_MESSAGE_BYTES: Final = 1 << 17
_PRELOADED: Final = (
    "virtshape.launcher.guest.handler",
    "virtshape.launcher.guest.planning",
    "virtshape.launcher.guest.run",
)


class SpawnRequest(Struct, frozen=True, kw_only=True):
    """A launcher process to be."""

    module: str
    directory: str
    log: str
    confinement: Confinement | None = None


def main(handle: int) -> None:
    """Load everything, then fork whenever asked to."""
    connection = socket.socket(fileno=handle)
    _preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that end are not waited for
    while message := connection.recv(MAX_MESSAGE_BYTES):
        request = msgspec.json.decode(message, type=SpawnRequest)
        os.chdir(request.directory)
        set_process_name(get_process_name(Path(request.directory)))  # the fork is known by it from its first moment
        pid = os.fork()
        if pid == 0:
            connection.close()
            _run_launcher(request)
        os.chdir("/")
        set_process_name(_PROCESS_NAME)
        connection.send(str(pid).encode())


def _preload() -> None:
    prepare_environment()
    for name in _PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()  # what all forks have in common stays in common


def _run_launcher(request: SpawnRequest) -> NoReturn:
    """Be a launcher process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    log = open_log(Path(request.log))
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    try:
        run_confined(request.confinement, request.module, Path(request.directory))
    except BaseException:  # noqa: BLE001 - to go back into the loop would make two nurseries
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
