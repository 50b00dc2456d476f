"""
Client for a launcher process's control socket: send requests and watch reports.

The guest's user can write to the socket's directory, so the socket and the answers are untrusted.
"""

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from virtshape.launcher.controlprotocol import Answer, Connect, Request, Watch, format_line, parse_answer
from virtshape.launcher.report import Report

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
MAX_CONNECT_RESPONSE_BYTES: Final = 65536
TIMEOUT_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 20.0


@contextlib.contextmanager
def pin_socket(path: Path) -> Iterator[str]:
    """
    Yield a path that refers to exactly this socket until the end of the `with` block.

    Raise OSError if the path is a link, which could redirect the connection, or not a socket of the guest.
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
    """Send a request to a launcher process and return its answer; raise OSError or ValueError if that fails."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        with pin_socket(path) as pinned:
            reader, writer = await asyncio.open_unix_connection(pinned, limit=MAX_LINE_BYTES)
        try:
            writer.write(format_line(request))
            line = await reader.readline()
        finally:
            writer.close()
    if not line:
        raise ConnectionResetError("the launcher process closed the connection")
    return parse_answer(line)


async def watch_reports(path: Path) -> AsyncIterator[Report]:
    """Yield the reports of a launcher process until it exits; raise OSError if the process does not run."""
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
    """Return a connection to a guest, which the guest's launcher process opens; raise OSError on failure."""
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
