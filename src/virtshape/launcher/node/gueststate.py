"""
Read the state of a guest from its directory: last report, launch request, log, running processes.

The guest's user can write to the directory, so its files are untrusted.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.codec import decode
from virtshape.api.problems import DecodeError
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.layout import Layout
from virtshape.launcher.netns.pasta import PID_FILE
from virtshape.launcher.node.process import get_process_name
from virtshape.launcher.report import Report

_MAX_BYTES: Final = 4 * 1024 * 1024
_TAIL_BYTES: Final = 4096
MAX_LOG_BYTES: Final = 16 * 1024 * 1024
"""Maximum number of bytes that are read from the end of a console log."""
_DRIVER_PID: Final = "driver.pid"
"""Libvirt's PID file for the launcher process, in the same directory as QEMU's PID files."""
_DEAD: Final = ("Z", "X")


def find_report(layout: Layout) -> Report | None:
    """Return the last report, or None if it cannot be read."""
    try:
        return msgspec.json.decode(_read(layout.report), type=Report)
    except (OSError, msgspec.DecodeError):
        return None


def find_launch_request(layout: Layout) -> LaunchRequest | None:
    """Return the launch request, or None if it cannot be read."""
    try:
        return decode(_read(layout.launch_request), LaunchRequest)
    except (OSError, DecodeError):
        return None


class _Mounts(Struct):
    mounts: dict[str, str] = {}


def list_mounted_paths(guests: Path) -> Iterator[str]:
    """Yield the paths that guests' volumes use; raise msgspec.DecodeError if a launch request is invalid."""
    for request in guests.glob("*/guest.json"):
        with contextlib.suppress(FileNotFoundError):  # the guest was removed
            yield from msgspec.json.decode(_read(request), type=_Mounts).mounts.values()


def mark_lost(report: Report, layout: Layout) -> Report:
    """Return the final report for a guest whose launcher process exited without a final report."""
    last_line = find_last_line(layout)
    message = f"the guest's launcher process has ended{f': {last_line}' if last_line else ''}"
    return replace(report, state="failed", reason="LauncherLost", message=message, agent=False)


def find_last_line(layout: Layout) -> str:
    """Return the last line of the launcher's log, which often is the error message, or an empty string."""
    try:
        lines = _read(layout.log)[-_TAIL_BYTES:].decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def find_qemu(layout: Layout) -> int | None:
    """Return the pid of the guest's QEMU, or None if it does not run."""
    for path in layout.get_pid_file("").parent.glob("*.pid"):
        if path.name == _DRIVER_PID:
            continue
        with contextlib.suppress(OSError, ValueError):
            pid = int(_read(path))
            if is_alive(pid, layout):
                return pid
    return None


def find_pasta(layout: Layout) -> int | None:
    """Return the pid of the guest's pasta, or None if it does not run."""
    try:
        pid = int(_read(layout.directory / PID_FILE))
    except (OSError, ValueError):
        return None
    return pid if is_alive(pid, layout) else None


def is_alive(pid: int | None, layout: Layout) -> bool:
    """Return True if this process still runs and is the launcher, QEMU or pasta of the guest with this directory."""
    if not pid:
        return False
    process = Path(f"/proc/{pid}")
    try:
        name, _, fields = (process / "stat").read_text().partition("(")[2].rpartition(")")
        command = (process / "cmdline").read_bytes()
        if fields.split()[0] in _DEAD:
            return False
        # A forked launcher has a name derived from the directory; the command of other processes contains the
        # directory, except that a new process has no command yet.
        if name == get_process_name(layout.directory) or not command or str(layout.directory).encode() in command:
            return True
        return layout.directory.samefile(process / "cwd")  # a launcher of an earlier release; needs CAP_SYS_PTRACE
    except OSError:
        return False


def read_tail(path: Path) -> bytes:
    """Return the end of a file that a guest may have written; empty if it is missing or not a regular file."""
    try:
        return _read(path, tail=True)
    except OSError:
        return b""


def _read(path: Path, *, tail: bool = False) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is not a regular file")
        if tail:
            file.seek(max(0, found.st_size - MAX_LOG_BYTES))
        return file.read(MAX_LOG_BYTES if tail else _MAX_BYTES)
