"""
Commands that clients run in a launcher pod through exec: `python -m virtshape.launcher.pod.exec ACTION`.

    ask JSON             send a request to the launcher process and print its answer
    console, vnc         connect standard input and output to the serial console or VNC
    port NUMBER          connect standard input and output to a TCP port of the guest
    log                  print the serial console log
    resize VCPUS BYTES   set the guest's vCPUs and memory; 0 leaves a value unchanged
"""

import os
import socket
import sys
import threading
from pathlib import Path
from typing import Final

from virtshape.api import launcherpod
from virtshape.launcher.controlprotocol import (
    Answer,
    Connect,
    Request,
    SetMemory,
    SetVcpus,
    format_line,
    parse_answer,
    parse_request,
)
from virtshape.launcher.layout import SERIAL_LOG, SERIAL_SOCKET, VNC_SOCKET, Layout
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.controlclient import open_connection
from virtshape.launcher.node.directories import GuestDirectories

PIECE: Final = 65536
_SOCKETS: Final = {"console": SERIAL_SOCKET, "vnc": VNC_SOCKET}


def main(arguments: list[str]) -> int:
    """Run one action and return the exit status."""
    layout = get_guest()
    match arguments:
        case ["ask", text]:
            sys.stdout.buffer.write(ask(layout, text.encode()))
        case ["console" | "vnc" as name]:
            splice(connect(layout.directory / _SOCKETS[name]))
        case ["port", number]:
            try:
                splice(open_connection(layout.socket, Connect(port=int(number))))
            except OSError as error:
                sys.exit(str(error))
        case ["log"]:
            sys.stdout.buffer.write((layout.directory / SERIAL_LOG).read_bytes())
        case [launcherpod.RESIZE_ACTION, vcpus, memory]:
            sys.stdout.buffer.write(resize(layout, int(vcpus), int(memory)))
        case _:
            sys.exit(f"unknown action: {' '.join(arguments)}")
    sys.stdout.buffer.flush()
    return 0


def get_guest(root: Path = Path(launcherpod.ROOT)) -> Layout:
    """Return the layout of the pod's guest; exit if the guest has not started yet."""
    directories = GuestDirectories(root, choose_account())
    found = directories.list_guests()
    if not found:
        sys.exit("the guest has not started yet")
    return directories.get_layout(found[0])


def ask(layout: Layout, line: bytes) -> bytes:
    """Send a request line and return the answer line."""
    parse_request(line)
    try:
        with connect(layout.socket) as line_to, line_to.makefile("rb") as reader:
            line_to.sendall(line.rstrip(b"\n") + b"\n")
            return reader.readline()
    except OSError as error:
        return format_line(Answer(error=f"the guest's launcher process does not answer: {error}"))


def resize(layout: Layout, vcpus: int, memory: int) -> bytes:
    """Set the number of vCPUs and the memory in bytes; skip a value of 0. Return an answer line with all errors."""
    requests: list[Request] = [SetVcpus(count=vcpus)] if vcpus else []
    requests += [SetMemory(size=memory)] if memory else []
    errors = [parse_answer(ask(layout, format_line(request))).error for request in requests]
    return format_line(Answer(error="; ".join(error for error in errors if error)))


def connect(path: Path) -> socket.socket:
    """Connect to a Unix socket of the guest."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(path))
    return line


def splice(line: socket.socket) -> None:
    """Copy data in both directions until the guest closes the connection."""

    def send() -> None:
        while data := os.read(sys.stdin.fileno(), PIECE):
            line.sendall(data)
        line.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    with line:
        while data := line.recv(PIECE):
            os.write(sys.stdout.fileno(), data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
