"""
The audit log: one line of JSON per write, saying who did what to which object, and what came of it.

Never holds the content of objects or tokens. The file is its owner's alone; when it has grown, it is put aside under a
number and a new one begun. A log that cannot be written is reported, and stops no request.
"""

import logging
import os
from datetime import datetime
from pathlib import Path
from typing import Self

import msgspec

from virtshape.apiserver.auth.privatefile import FILE_MODE, make_private_directory

LARGEST_FILE = 100 * 1024 * 1024
KEPT_FILES = 10
LONGEST_TEXT = 512

_log = logging.getLogger(__name__)


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One write: who, what, to which object, with what result."""

    time: datetime
    """When the request came, in UTC, to the microsecond."""
    user: str
    """The user's name."""
    groups: tuple[str, ...] = ()
    """The user's groups."""
    impersonated_by: str = ""
    """Who took on the user's name, if someone did."""
    verb: str
    """What was to be done, such as `create`."""
    group: str = ""
    """The object's API group."""
    resource: str
    """The object's resource, such as `virtualmachines`."""
    subresource: str = ""
    """The part of the object, such as `status`."""
    namespace: str = ""
    """The object's namespace."""
    name: str = ""
    """The object's name."""
    dry_run: bool = False
    """Whether nothing was to be stored."""
    code: int
    """The HTTP status of the answer."""
    reason: str = ""
    """The reason of a refusal, such as `Conflict`."""
    latency_ms: float
    """How long the answer took, in milliseconds."""
    source_ip: str = ""
    """Where the request came from."""
    user_agent: str = ""
    """What the client calls itself."""


class AuditLog:
    """Writes the log of one server."""

    def __init__(self, path: Path, *, largest: int = LARGEST_FILE, kept: int = KEPT_FILES) -> None:
        self._path = path
        self._largest = largest
        self._kept = kept
        self._lost = 0
        make_private_directory(path.parent)
        self._descriptor = self._open()
        self._size = os.fstat(self._descriptor).st_size

    def record(self, entry: AuditEntry) -> None:
        """Write one line."""
        line = _encoder.encode(entry) + b"\n"
        try:
            if self._size and self._size + len(line) > self._largest:
                self._rotate()
            self._size += os.write(self._descriptor, line)
        except OSError as error:
            self._lost += 1
            if self._lost == 1:
                _log.error("cannot write %s, so writes go unrecorded: %s", self._path, error)
        else:
            if self._lost:
                _log.warning("%s is written again; %d lines were lost", self._path, self._lost)
                self._lost = 0

    def close(self) -> None:
        """Write no more."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> int:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
        return descriptor

    def _rotate(self) -> None:
        for number in range(self._kept - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))
        before, self._descriptor = self._descriptor, self._open()
        self._size = 0
        os.close(before)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def shorten(text: str) -> str:
    """Cut what a client sent to a length that no log suffers from."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


_encoder = msgspec.json.Encoder()
