"""
Errors as in Kubernetes: a Status with one cause per violation.

    Exception
    └── StatusError     carries a Status; every error that a client can cause
"""

from collections.abc import Iterable

from msgspec.structs import replace

from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ListMeta
from virtshape.api.model import Int32, Model


class StatusCause(Model):
    """A cause of an error."""

    reason: str | None = None
    """Type of the violation, such as FieldValueInvalid."""
    message: str | None = None
    """Human-readable description of the violation."""
    field: str | None = None
    """Path of the invalid field."""


class StatusDetails(Model):
    """Machine-readable details of an error."""

    name: str | None = None
    """Name of the object that the error is about."""
    group: str | None = None
    """API group of the object that the error is about."""
    kind: str | None = None
    """Kind or resource of the object that the error is about."""
    uid: str | None = None
    """UID of the object that the error is about."""
    causes: list[StatusCause] | None = None
    """One entry per violation."""
    retry_after_seconds: Int32 | None = None
    """Seconds to wait before a retry."""


class Status(Model, kw_only=True):
    """Response to a request that returns no object."""

    api_version: str
    """The version of this object: v1."""
    kind: str
    """The kind of this object: Status."""
    metadata: ListMeta
    """Continue token of the list, if any."""
    status: str
    """Result of the request: Success or Failure."""
    message: str | None = None
    """Human-readable description of the result."""
    reason: str | None = None
    """Reason for a failure, in CamelCase."""
    details: StatusDetails | None = None
    """Details of the response."""
    code: Int32 | None = None
    """HTTP status code of the response."""


class StatusError(Exception):
    """An error response: HTTP code, reason, message, all causes, and the object that it is about."""

    def __init__(self, code: int, reason: str, message: str, causes: Iterable[FieldError] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)
        self.details = StatusDetails()
        self.continuation: str | None = None
        self.warnings: tuple[str, ...] = ()

    def about(self, group: str, kind: str, name: str = "") -> "StatusError":
        """Set the object or resource that the error is about, and return the error."""
        self.details.group, self.details.kind, self.details.name = group or None, kind or None, name or None
        return self

    def retry_after(self, seconds: int) -> "StatusError":
        """Set the number of seconds after which the client should retry, and return the error."""
        self.details.retry_after_seconds = seconds
        return self

    @property
    def status(self) -> Status:
        """The error as a Status object."""
        causes = [
            StatusCause(reason=c.reason or None, message=c.message or None, field=c.field or None) for c in self.causes
        ]
        details = replace(self.details, causes=causes or None)
        # A Status with the reason Invalid always has details.
        is_bare = details == StatusDetails() and self.reason != "Invalid"
        return Status(
            api_version="v1",
            kind="Status",
            metadata=ListMeta(continue_=self.continuation),
            status="Failure",
            message=self.message,
            reason=self.reason or None,
            details=None if is_bare else details,
            code=self.code,
        )
