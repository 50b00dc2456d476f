"""
A process that has loaded all that launcher processes need, and waits: each of them is a fork of it, and starts at once.

It ends when its supervisor does; its forks go on. Started as `python -m virtshape.launcher.node.nursery HANDLE`, the
handle being a socket on which each message asks for a fork and each answer is a process id.
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
from virtshape.launcher.node.confined import enter
from virtshape.launcher.node.confining import Confinement
from virtshape.launcher.node.logs import open_log
from virtshape.launcher.node.naming import get_process_name, set_process_name

_NAME: Final = "nursery"
LONGEST_MESSAGE: Final = 1 << 17
_NEEDED: Final = (
    "virtshape.launcher.guest.answering",
    "virtshape.launcher.guest.planning",
    "virtshape.launcher.guest.run",
)


class Birth(Struct, frozen=True, kw_only=True):
    """A launcher process to be."""

    module: str
    directory: str
    log: str
    confinement: Confinement | None = None


def main(handle: int) -> None:
    """Load everything, then fork whenever asked to."""
    line = socket.socket(fileno=handle)
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that end are not waited for
    while message := line.recv(LONGEST_MESSAGE):
        birth = msgspec.json.decode(message, type=Birth)
        os.chdir(birth.directory)
        set_process_name(get_process_name(Path(birth.directory)))  # the fork is known by it from its first moment
        pid = os.fork()
        if pid == 0:
            line.close()
            _live(birth)
        os.chdir("/")
        set_process_name(_NAME)
        line.send(str(pid).encode())


def _load() -> None:
    prepare_environment()
    for name in _NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()  # what all forks have in common stays in common


def _live(birth: Birth) -> NoReturn:
    """Be a launcher process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    log = open_log(Path(birth.log))
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    try:
        enter(birth.confinement, birth.module, Path(birth.directory))
    except BaseException:  # noqa: BLE001 - to go back into the loop would make two nurseries
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
