"""
Refusals as Kubernetes words them: a Status with one cause per violation.

    Exception
    └── StatusError     carries a Status; everything that a user can put right
"""

from collections.abc import Iterable
from typing import NamedTuple

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

    api_version: str = "v1"
    """Always v1."""
    kind: str = "Status"
    """Always Status."""
    status: str
    """Success or Failure."""
    message: str | None = None
    """The answer in words."""
    reason: str | None = None
    """The answer in one CamelCase word."""
    details: StatusDetails | None = None
    """More about the answer."""
    code: Int32
    """The HTTP status."""


class StatusError(Exception):
    """A refusal: an HTTP code, a reason, words, and all causes."""

    def __init__(self, code: int, reason: str, message: str, causes: Iterable[Cause] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)

    @property
    def status(self) -> Status:
        """The Status to send."""
        causes = [StatusCause(reason=c.type, message=c.message, field=c.field) for c in self.causes]
        return Status(
            status="Failure",
            message=self.message,
            reason=self.reason,
            details=StatusDetails(causes=causes) if causes else None,
            code=self.code,
        )
