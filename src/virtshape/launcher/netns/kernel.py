"""System calls for network namespaces."""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Final

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_MS_BIND: Final = 0x1000
_PR_SET_DUMPABLE: Final = 4
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_CAPABILITY_VERSION_3: Final = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Move this single-threaded process into new namespaces."""
    _raise_on_error(_libc.unshare(flags), "unshare")


def set_namespace(path: str, kind: int) -> None:
    """Join the namespace that a /proc/PID/ns file refers to."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _raise_on_error(_libc.setns(handle, kind), "setns")
    finally:
        os.close(handle)


def allow_inspection() -> None:
    """Allow processes of the same user to open this process's namespaces, which is forbidden after setuid."""
    _raise_on_error(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")


def map_identity(user: int, group: int) -> None:
    """Map a user and a group to the same IDs in this process's new user namespace."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def drop_capabilities() -> None:
    """Drop all capabilities of this process."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _raise_on_error(_libc.capset(header, bytes(24)), "capset")


def bind_mount(source: str, target: str) -> None:
    """Bind-mount a file over another."""
    _raise_on_error(_libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(_MS_BIND), None), "mount")


def set_link_up(device: str) -> None:
    """Bring a network device up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH22x", device.encode(), 0)
        (_, flags) = struct.unpack_from("16sH", fcntl.ioctl(handle, _SIOCGIFFLAGS, request))
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH22x", device.encode(), flags | _IFF_UP))


def _raise_on_error(status: int, call: str) -> None:
    if status != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")


def has_default_route() -> bool:
    """Return True if this process's network namespace has a default route."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/net/route").read_text().splitlines()[1:]
        if any(line.split()[1] == "00000000" and line.split()[7] == "00000000" for line in lines):
            return True
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/net/ipv6_route").read_text().splitlines()
        return any(line.split()[:2] == ["0" * 32, "00"] and line.split()[9] != "lo" for line in lines)
    return False
