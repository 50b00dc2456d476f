"""
Run pasta, from the package passt: connect a network namespace to external networks through ordinary sockets.

pasta maps no address to the host's loopback and forwards only the given ports.
"""

import os
import shutil
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, NoReturn

from msgspec import Struct

PROGRAM: Final = "pasta"
PID_FILE: Final = "pasta.pid"
LOG: Final = "pasta.log"
STARTED, STARTED_WITHOUT_PORTS, FAILED = 0, 3, 1
_CLOSED: Final = ("--no-map-gw", "-T", "none", "-U", "none", "--no-dhcp", "--no-dhcpv6", "--no-ra", "--no-ndp")
_LOG_MODE: Final = 0o600


class PortForward(Struct, frozen=True):
    """A port of the host's loopback address that is forwarded to the same port of the namespace."""

    protocol: Literal["tcp", "udp"]
    port: int


def find_pasta() -> str | None:
    """Return the path of pasta, or None if it is not installed."""
    return shutil.which(PROGRAM)


def build_command(directory: Path, process: int, forwards: Iterable[PortForward] = ()) -> list[str]:
    """Return the command line that connects the network namespace of a process."""
    listed = list(forwards)
    return [
        PROGRAM,
        "--config-net",
        "--no-netns-quit",  # the namespace outlives the process that created it if another process takes over
        "--quiet",
        *_CLOSED,
        *_format_ports("-t", [one.port for one in listed if one.protocol == "tcp"]),
        *_format_ports("-u", [one.port for one in listed if one.protocol == "udp"]),
        "--pid",
        str(directory / PID_FILE),
        str(process),
    ]


def run_pasta(directory: Path, process: int, forwards: Sequence[PortForward]) -> NoReturn:
    """
    Start pasta in the background and exit; the exit status is STARTED, STARTED_WITHOUT_PORTS or FAILED.

    Call this in a child process. If pasta fails, for example because a port is taken, pasta is started again without
    ports.
    """
    attempts = [(build_command(directory, process, forwards), STARTED)]
    if forwards:
        attempts.append((build_command(directory, process), STARTED_WITHOUT_PORTS))
    program = find_pasta() or PROGRAM
    status = FAILED
    for command, success in attempts:
        if _run(program, command, directory / LOG) == 0:
            status = success
            break
    os._exit(status)


def read_failure(directory: Path) -> str:
    """Return the last line that pasta printed, or an empty string."""
    try:
        lines = (directory / LOG).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    messages = [line.strip() for line in lines if line.strip() and "syslog" not in line]
    return messages[-1][:200] if messages else ""


def _run(program: str, command: Sequence[str], log: Path) -> int:
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, _LOG_MODE)
        pid = os.posix_spawn(
            program,
            list(command),
            {"PATH": os.environ.get("PATH", os.defpath)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, handle, 1),
                (os.POSIX_SPAWN_DUP2, handle, 2),
            ],
            setsid=True,
            setsigdef=[signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD],
        )
    except OSError:
        return FAILED
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _format_ports(option: str, ports: Sequence[int]) -> list[str]:
    if not ports:
        return [option, "none"]
    return [word for port in ports for word in (option, f"127.0.0.1/{port}")]
