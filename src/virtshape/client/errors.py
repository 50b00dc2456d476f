"""
Errors of API clients.

    StatusError         rejected by the server, with code, reason and causes
    └── GoneError       revision is compacted: list again
    UnreachableError    no response: connection refused or lost, or timeout
    ConfigError         invalid kubeconfig or failing credential plugin
"""

import msgspec

from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusDetails, StatusError

_READ_AS = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 409: "Conflict"}


class GoneError(StatusError):
    """The requested revision is compacted: list the objects again and watch from the revision of that list."""


class UnreachableError(Exception):
    """No response: connection refused or lost, or timeout."""


class ConfigError(Exception):
    """An invalid kubeconfig or a failing credential plugin."""


class _Cause(msgspec.Struct):
    reason: str | None = None
    message: str | None = None
    field: str | None = None


class _Details(msgspec.Struct, rename="camel"):
    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    causes: list[_Cause] | None = None
    retry_after_seconds: int | None = None


class _Metadata(msgspec.Struct):
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Status(msgspec.Struct):
    """A Status from any server; unknown fields are ignored."""

    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None
    code: int | None = None
    metadata: _Metadata | None = None


_status_decoder = msgspec.json.Decoder(_Status)


def parse_status_error(body: bytes, code: int = 0) -> StatusError:
    """Return the StatusError in a response body; a body without a Status, such as one from a proxy, is the message."""
    try:
        status = _status_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = _Status()
    if status.status is None:
        status.message = body[:512].decode(errors="replace").strip() or f"the server responded with status {code}"
    code = status.code or code
    details = status.details or _Details()
    causes = [FieldError(cause.field or "", cause.message or "", cause.reason or "") for cause in details.causes or ()]
    kind = GoneError if code == 410 else StatusError
    error = kind(code, status.reason or _READ_AS.get(code, ""), status.message or "", causes)
    error.details = StatusDetails(
        name=details.name,
        group=details.group,
        kind=details.kind,
        uid=details.uid,
        retry_after_seconds=details.retry_after_seconds,
    )
    error.continuation = status.metadata.continue_ if status.metadata else None
    return error
