"""
Refusals as Kubernetes words them: a Status with one cause per violation.

    Exception
    └── StatusError     carries a Status; everything that a user can put right
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from virtshape.api.meta import ListMeta
from virtshape.api.model import Int32, Model


class Cause(NamedTuple):
    """One violation: what kind it is, in which field, in words."""

    type: str
    message: str
    field: str


class StatusCause(Model):
    """One reason of a refusal."""

    reason: str | None = None
    """What kind of violation, such as FieldValueInvalid."""
    message: str | None = None
    """The violation in words."""
    field: str | None = None
    """The path of the offending field."""


class StatusDetails(Model):
    """More about a refusal, for programs."""

    name: str | None = None
    """The object's name."""
    group: str | None = None
    """The object's API group."""
    kind: str | None = None
    """The object's kind or resource."""
    uid: str | None = None
    """The object's UID."""
    causes: list[StatusCause] | None = None
    """One entry per violation."""
    retry_after_seconds: Int32 | None = None
    """When to try again."""


class Status(Model, kw_only=True):
    """The answer to a request that returns no object."""

    api_version: str
    """Always v1."""
    kind: str
    """Always Status."""
    metadata: ListMeta
    """Where a list that ended here goes on, if it does."""
    status: str
    """Success or Failure."""
    message: str | None = None
    """The answer in words."""
    reason: str | None = None
    """The answer in one CamelCase word."""
    details: StatusDetails | None = None
    """More about the answer."""
    code: Int32 | None = None
    """The HTTP status."""


class StatusError(Exception):
    """A refusal: an HTTP code, a reason, words, all causes, and what it is about."""

    def __init__(self, code: int, reason: str, message: str, causes: Iterable[Cause] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)
        self.details = StatusDetails()
        self.continuation: str | None = None
        self.warnings: tuple[str, ...] = ()

    def about(self, group: str, kind: str, name: str = "") -> "StatusError":
        """The same error, saying which object or resource it is about."""
        self.details.group, self.details.kind, self.details.name = group or None, kind or None, name or None
        return self

    def retry_after(self, seconds: int) -> "StatusError":
        """The same error, saying when to try again."""
        self.details.retry_after_seconds = seconds
        return self

    @property
    def status(self) -> Status:
        """The Status to send."""
        causes = [
            StatusCause(reason=c.type or None, message=c.message or None, field=c.field or None) for c in self.causes
        ]
        details = replace(self.details, causes=causes or None)
        is_bare = details == StatusDetails() and self.reason != "Invalid"  # which has details even if they say nothing
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
