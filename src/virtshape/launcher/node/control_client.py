"""
The connection to a launcher process: requests over its control socket, and its reports as they come.

The socket is in a directory that the guest's user can write to, so that nothing is taken for granted about it.
"""

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from virtshape.launcher.report import Report
from virtshape.launcher.request import Answer, Connect, Request, Watch, format_line, parse_answer

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
MAX_CONNECT_RESPONSE_BYTES: Final = 65536
TIMEOUT_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 20.0


@contextlib.contextmanager
def pin_socket(path: Path) -> Iterator[str]:
    """
    Give a path that leads to this socket and to nothing else, for as long as it is pinned.

    OSError if the path is a link or no socket: whoever can write to the directory could lead elsewhere.
    """
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found, directory = os.fstat(handle), path.parent.stat()
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid not in (directory.st_gid, os.geteuid()):
            raise ConnectionRefusedError(f"{path} is not a socket of the guest")
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


async def send_request(path: Path, request: Request) -> Answer:
    """Ask a launcher process; OSError if there is none, or if it goes away."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        with pin_socket(path) as pinned:
            reader, writer = await asyncio.open_unix_connection(pinned, limit=MAX_LINE_BYTES)
        try:
            writer.write(format_line(request))
            line = await reader.readline()
        finally:
            writer.close()
    if not line:
        raise ConnectionResetError("the launcher process went away")
    return parse_answer(line)


async def watch_reports(path: Path) -> AsyncIterator[Report]:
    """The reports of a launcher process, for as long as it is there; OSError if it is not."""
    with pin_socket(path) as pinned:
        reader, writer = await asyncio.open_unix_connection(pinned, limit=MAX_LINE_BYTES)
    try:
        writer.write(format_line(Watch()))
        while line := await reader.readline():
            report = parse_answer(line).report
            if report is not None:
                yield report
    finally:
        writer.close()


def open_connection(path: Path, request: Connect) -> socket.socket:
    """Ask a launcher process for a connection to its guest; ConnectionError says why there is none."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(CONNECT_SECONDS)
        with pin_socket(path) as pinned:
            line.connect(pinned)
        line.sendall(format_line(request))
        text, handles, _, _ = socket.recv_fds(line, MAX_CONNECT_RESPONSE_BYTES, 1)
    try:
        answer = parse_answer(text)
    except ValueError as error:
        _close(handles)
        raise ConnectionError(f"the guest's launcher process does not answer: {error}") from error
    if answer.error or len(handles) != 1 or not stat.S_ISSOCK(os.fstat(handles[0]).st_mode):
        _close(handles)
        raise ConnectionError(answer.error or "the guest's launcher process sent no connection")
    return socket.socket(fileno=handles[0])


def _close(handles: list[int]) -> None:
    for handle in handles:
        os.close(handle)
