"""Extract error messages from QEMU's log and from libvirt's start errors."""

import re
from pathlib import Path
from typing import Final

_TAIL_BYTES: Final = 8192
_TIMESTAMP: Final = re.compile(r"^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+0000):? ?")
_TIMESTAMPS: Final = re.compile(_TIMESTAMP.pattern.removeprefix("^"))
_EXITED: Final = re.compile(r"^internal error: (process exited while connecting to monitor|[^:]*closed the monitor): ")
_ARGUMENT: Final = re.compile(r"^qemu-system-\w+: (-\w+ (\{.*?\}+|\S+): )?")
_SHUTDOWN_LINE: Final = re.compile(r"^shutting down|: terminating on signal")


def find_last_message(log: Path) -> str:
    """Return the last line that QEMU printed, except shutdown messages, or an empty string."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    for line in reversed(text.splitlines()):
        message = _TIMESTAMP.sub("", line).strip()
        if _is_start_line(message):
            return ""
        if message and not _SHUTDOWN_LINE.search(message):
            return message
    return ""


def format_start_error(error: str) -> str:
    """Return libvirt's message about a failed start; if QEMU exited, return QEMU's errors without its arguments."""
    if _EXITED.match(error) is None:
        return error.strip()
    lines = _TIMESTAMPS.sub("", _EXITED.sub("", error)).splitlines()
    message = [_ARGUMENT.sub("", line).strip() for line in lines]
    return f"QEMU did not start: {'; '.join(filter(None, message))}"


def _is_start_line(message: str) -> bool:
    """Return True if libvirt wrote the line before it started QEMU."""
    return message.startswith(("starting up", "-")) or message.endswith("\\")
