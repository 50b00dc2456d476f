"""
The fork server process: preload what launcher processes need, then fork a process for each request.

The process is started as `python -m virtshape.launcher.node.forkserverprocess DESCRIPTOR`. The descriptor is a socket:
each message is a SpawnRequest, and each response is a process ID. The process exits with its supervisor; launcher
processes keep running.
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

from virtshape.launcher.guest.libvirtdriver import prepare_environment
from virtshape.launcher.node.confinement import Confinement, run_confined
from virtshape.launcher.node.process import get_process_name, open_log, set_process_name

_PROCESS_NAME: Final = "forkserver"
MAX_MESSAGE_BYTES: Final = 1 << 17
_PRELOADED: Final = (
    "virtshape.launcher.guest.handler",
    "virtshape.launcher.guest.planning",
    "virtshape.launcher.guest.run",
)


class SpawnRequest(Struct, frozen=True, kw_only=True):
    """A request to start a launcher process."""

    module: str
    directory: str
    log: str
    confinement: Confinement | None = None


def main(handle: int) -> None:
    """Preload modules, then fork a launcher process for each request."""
    connection = socket.socket(fileno=handle)
    _preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps launcher processes
    while message := connection.recv(MAX_MESSAGE_BYTES):
        request = msgspec.json.decode(message, type=SpawnRequest)
        os.chdir(request.directory)
        set_process_name(get_process_name(Path(request.directory)))  # before the fork: the child inherits the name
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
    gc.freeze()  # prevents garbage collection from copying memory that forks share


def _run_launcher(request: SpawnRequest) -> NoReturn:
    """Run the launcher in the forked process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    log = open_log(Path(request.log))
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    try:
        run_confined(request.confinement, request.module, Path(request.directory))
    except BaseException:  # noqa: BLE001 - the fork must not return to the server loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
