"""Temporary network bridges with an address, for tests."""

import contextlib
import errno
import fcntl
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.skipping import IMPOSSIBLE

_SIOCBRADDBR, _SIOCBRDELBR = 0x89A0, 0x89A1
_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
_FORBIDDEN: Final = {errno.EPERM, errno.ENOPKG, errno.ENOTTY}
_UP: Final = struct.pack("=H", 1)


@contextlib.contextmanager
def create_bridge(bridge: str, address: str) -> Iterator[None]:
    """
    Create a bridge and remove it after the block; skip the test if bridges are not allowed here.

    Names and addresses of bridges belong to the whole machine: tests that run at the same time wait for each other.
    """
    with (Path(tempfile.gettempdir()) / "virtshape-test-bridges.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _make_bridge(bridge, address):
            yield


@contextlib.contextmanager
def _make_bridge(bridge: str, address: str) -> Iterator[None]:
    try:
        _configure(bridge, _SIOCBRADDBR)
    except OSError as error:
        if error.errno in _FORBIDDEN:
            pytest.skip(f"{IMPOSSIBLE}creating a bridge failed: {error.strerror}")
        raise
    try:
        _configure(bridge, _SIOCSIFADDR, _write_address(address))
        _configure(bridge, _SIOCSIFNETMASK, _write_address("255.255.255.0"))
        _configure(bridge, _SIOCSIFFLAGS, _UP)
        yield
    finally:
        _configure(bridge, _SIOCSIFFLAGS)
        _configure(bridge, _SIOCBRDELBR)


def list_bridge_ports(bridge: str) -> list[str]:
    """Return the devices connected to a bridge."""
    return sorted(path.name for path in Path(f"/sys/class/net/{bridge}/brif").iterdir())


def _configure(bridge: str, request: int, value: bytes = b"") -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, request, struct.pack("16s", bridge.encode()) + value.ljust(24, b"\0"))


def _write_address(address: str) -> bytes:
    return struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address))
