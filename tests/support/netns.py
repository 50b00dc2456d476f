"""
A network namespace for a test and its processes, connected to a second namespace that simulates the internet.

The calling thread is in the namespace during the `with` block. No traffic leaves the machine.
"""

import contextlib
import ctypes
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

MACHINE: Final = "198.51.100.2"
"""The machine's address."""
OTHER_MACHINE: Final = "198.51.100.7"
"""A second address of the machine."""
INTERNET: Final = "203.0.113.5"
"""The address of a web server on port 80."""
_GATEWAY: Final = "198.51.100.1"
_FS, _NEWNS, _NEWNET = 0x00000200, 0x00020000, 0x40000000
_REC_PRIVATE, _BIND = 0x4000 | 0x40000, 0x1000
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def isolate_network(directory: Path, resolver: str = "") -> Iterator[None]:
    """Enter a namespace with a route to the simulated internet; `resolver` is its name server."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("creating network namespaces needs root and iproute2")
    before = [os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY) for kind in ("mnt", "net")]
    try:
        _check(_libc.unshare(_NEWNS | _NEWNET), "creating a network namespace failed")
        _mount(None, "/", _REC_PRIVATE)
        if resolver:
            (directory / "resolv.conf").write_text(f"nameserver {resolver}\n")
            _mount(str(directory / "resolv.conf"), "/etc/resolv.conf", _BIND)
        with _internet(directory):
            yield
    finally:
        # setns fails while this thread shares file system attributes with others
        _check(_libc.unshare(_FS), "the test cannot leave its namespace")
        for handle, kind in zip(before, (_NEWNS, _NEWNET), strict=True):
            _check(_libc.setns(handle, kind), "the test cannot leave its namespace")
            os.close(handle)


@contextlib.contextmanager
def serve_directory(directory: Path, address: str, port: int) -> Iterator[None]:
    """Serve a directory over HTTP on an address of the current network namespace."""
    directory.mkdir(exist_ok=True)
    with _run_server(directory, address, port, ()):
        yield


@contextlib.contextmanager
def serve_dns(address: str, answer: str) -> Iterator[None]:
    """Run a name server on an address of this namespace that resolves every name to one IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind((address, 53))
        threading.Thread(target=_answer, args=(listening, socket.inet_aton(answer)), daemon=True).start()
        yield


def _answer(listening: socket.socket, address: bytes) -> None:
    with contextlib.suppress(OSError):  # the socket is closed at the end of the test
        while True:
            query, client = listening.recvfrom(512)
            record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, len(address)) + address
            counts = struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0)
            listening.sendto(query[:2] + counts + query[12:] + record, client)


@contextlib.contextmanager
def _internet(directory: Path) -> Iterator[None]:
    pages = directory / "internet"
    pages.mkdir()
    (pages / "index.html").write_text("hello from the internet\n")
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])  # noqa: S607 - of the system
    try:
        _wait_for_namespace(holder.pid)
        inside = ("nsenter", "--net", "--target", str(holder.pid))
        for command in (
            ("ip", "link", "set", "lo", "up"),
            ("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1", "netns", str(holder.pid)),
            ("ip", "addr", "add", f"{MACHINE}/24", "dev", "eth0"),
            ("ip", "addr", "add", f"{OTHER_MACHINE}/24", "dev", "eth0"),
            ("ip", "link", "set", "eth0", "up"),
            ("ip", "route", "add", "default", "via", _GATEWAY),
            (*inside, "ip", "addr", "add", f"{_GATEWAY}/24", "dev", "eth1"),
            (*inside, "ip", "addr", "add", f"{INTERNET}/32", "dev", "eth1"),
            (*inside, "ip", "link", "set", "eth1", "up"),
        ):
            subprocess.run(command, check=True)
        with _run_server(pages, INTERNET, 80, inside):
            yield
    finally:
        holder.kill()
        holder.wait()


@contextlib.contextmanager
def _run_server(directory: Path, address: str, port: int, prefix: tuple[str, ...]) -> Iterator[None]:
    command = [*prefix, sys.executable, "-u", "-m", "http.server", "--bind", address, str(port)]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith(b"Serving")
            yield
        finally:
            server.kill()


def _wait_for_namespace(process: int) -> None:
    own = Path("/proc/thread-self/ns/net").stat().st_ino
    while Path(f"/proc/{process}/ns/net").stat().st_ino == own:
        pass


def _mount(source: str | None, target: str, flags: int) -> None:
    origin = source.encode() if source is not None else None
    _check(_libc.mount(origin, target.encode(), None, ctypes.c_ulong(flags), None), f"mount over {target}")


def _check(status: int, what: str) -> None:
    assert status == 0, f"{what}: {os.strerror(ctypes.get_errno())}"
