"""
Audit log: one JSON line per write request, with the user, the object and the result.

Entries never contain tokens or the contents of objects. Only the owner may read the file. A large file is rotated.
If the log cannot be written, the error is logged and requests continue.
"""

import errno
import logging
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.privatefile import FILE_MODE, make_private_directory
from virtshape.apiserver.message import JSON, Request, Response
from virtshape.apiserver.route import Route

MAX_FILE_BYTES = 100 * 1024 * 1024
KEPT_FILES = 10
MAX_TEXT_LENGTH = 512
CLIENT_LEFT = 499
"""Status code of a write whose client disconnected before the response; the write may have been stored."""

_log = logging.getLogger(__name__)


class Caller(msgspec.Struct, frozen=True):
    """The user that a request is authorized as, and the name of the user that impersonates this user, if any."""

    user: User
    impersonator: str = ""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One write request and its result."""

    time: datetime
    """When the request was received, in UTC, to the microsecond."""
    audit_id: str = ""
    """The ID of the request, as in the Audit-Id response header and in log lines."""
    user: str
    """Name of the user that the request is authorized as."""
    groups: tuple[str, ...] = ()
    """Groups of the user."""
    impersonated_by: str = ""
    """The user that impersonated this user, if any."""
    verb: str
    """The API verb, such as `create`."""
    group: str = ""
    """API group of the object."""
    resource: str
    """Resource of the object, such as `virtualmachines`."""
    subresource: str = ""
    """The subresource, such as `status`."""
    namespace: str = ""
    """Namespace of the object."""
    name: str = ""
    """Name of the object."""
    dry_run: bool = False
    """Whether the request was a dry run."""
    code: int
    """The HTTP status code of the response."""
    reason: str = ""
    """Why the request failed, such as `Conflict`."""
    latency_ms: float
    """The time from the request to the response, in milliseconds."""
    source_ip: str = ""
    """The client's IP address."""
    user_agent: str = ""
    """The User-Agent header of the request."""


class AuditLog:
    """Writes the audit log of one server."""

    def __init__(self, path: Path, *, largest: int = MAX_FILE_BYTES, kept: int = KEPT_FILES) -> None:
        self._path = path
        self._largest = largest
        self._kept = kept
        self._lost = 0
        make_private_directory(path.parent)
        self._descriptor = self._open()
        self._size = os.fstat(self._descriptor).st_size

    def record(self, entry: AuditEntry) -> None:
        """Append an entry; a failed write is logged, not raised."""
        line = _encoder.encode(entry) + b"\n"
        try:
            if self._size and self._size + len(line) > self._largest:
                self._rotate()
            self._append(line)
        except OSError as error:
            self._lost += 1
            if self._lost == 1:
                _log.error("audit log: cannot write %s: %s; requests continue without audit entries", self._path, error)
        else:
            if self._lost:
                _log.warning("audit log: writing to %s works again; %d entries were lost", self._path, self._lost)
                self._lost = 0

    def _append(self, line: bytes) -> None:
        """Write a whole line; if the disk has room for only a part, remove the part and raise OSError."""
        written = os.write(self._descriptor, line)
        if written < len(line):
            os.ftruncate(self._descriptor, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written

    def close(self) -> None:
        """Close the log file."""
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
    """Truncate text from a client to MAX_TEXT_LENGTH characters."""
    return text if len(text) <= MAX_TEXT_LENGTH else text[: MAX_TEXT_LENGTH - 1] + "…"


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _ResponseBody(msgspec.Struct):
    """The fields of an object or a Status that contain the object's name and the reason for a failure."""

    metadata: _Named = _Named()
    details: _Named = _Named()
    reason: str = ""


_EMPTY = _ResponseBody()
_STORED_NAME = re.compile(
    rb'\{"apiVersion":"[\w./-]+","kind":"(?!Status")\w+","metadata":\{"name":"([\w.:-]+)"', re.ASCII
)
_decode_body = msgspec.json.Decoder(_ResponseBody).decode


def build_audit_entry(
    request: Request, route: Route, caller: Caller, response: Response | int, began: float
) -> AuditEntry:
    """
    Return the audit entry for a write request.

    `response` is a status code if there is no Response object; `began` is in seconds since 1970.
    """
    body = _EMPTY if route.name and _is_success(response) else _read(response)
    return AuditEntry(
        time=datetime.fromtimestamp(began, UTC),
        audit_id=request.audit_id,
        user=caller.user.name,
        groups=caller.user.groups,
        impersonated_by=caller.impersonator,
        verb=str(route.verb),
        group=route.kind.group,
        resource=route.kind.plural,
        subresource=shorten(route.subresource),
        namespace=shorten(route.namespace),
        name=shorten(route.name or body.metadata.name or body.details.name),
        dry_run="dryRun" in request.query,
        code=response if isinstance(response, int) else response.status,
        reason=body.reason,
        latency_ms=round((time.time() - began) * 1000, 3),
        source_ip=request.peer,
        user_agent=shorten(request.headers.get("user-agent", "")),
    )


def _is_success(response: Response | int) -> bool:
    return isinstance(response, Response) and response.status < 300


def _read(response: Response | int) -> _ResponseBody:
    if isinstance(response, int) or response.content_type != JSON:
        return _EMPTY
    if named := _STORED_NAME.match(response.body):  # the usual form of an object, so that it is not decoded
        return _ResponseBody(_Named(named[1].decode()))
    try:
        return _decode_body(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError):  # the body cannot be decoded if, for example, it is compressed
        return _EMPTY


_encoder = msgspec.json.Encoder()
