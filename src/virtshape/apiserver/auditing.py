"""
Lines for the audit log out of what a write was and how it was answered.

Only says what happened; whether the line is kept is the log's business.
"""

import time
from datetime import UTC, datetime

import msgspec

from virtshape.apiserver.audit import AuditEntry, shorten
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.message import JSON, Request, Response
from virtshape.apiserver.route import Route

CLIENT_LEFT = 499
"""The code of a write whose client did not wait for the answer; it may have been made."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, and who stands behind that name if it was taken on."""

    user: User
    impersonator: str = ""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Answered(msgspec.Struct):
    """What objects and refusals have in common: each says which object it is about."""

    metadata: _Named = _Named()
    details: _Named = _Named()
    reason: str = ""


_NOTHING = _Answered()
_read_answer = msgspec.json.Decoder(_Answered).decode


def build_audit_entry(
    request: Request, route: Route, asker: Caller, answer: Response | int, began: float
) -> AuditEntry:
    """The line about a write; the answer is only a code where there was none. `began` is in seconds since 1970."""
    said = _NOTHING if route.name and _has_worked(answer) else _read(answer)
    return AuditEntry(
        time=datetime.fromtimestamp(began, UTC),
        user=asker.user.name,
        groups=asker.user.groups,
        impersonated_by=asker.impersonator,
        verb=str(route.verb),
        group=route.kind.group,
        resource=route.kind.plural,
        subresource=shorten(route.subresource),
        namespace=shorten(route.namespace),
        name=shorten(route.name or said.metadata.name or said.details.name),
        dry_run="dryRun" in request.query,
        code=answer if isinstance(answer, int) else answer.status,
        reason=said.reason,
        latency_ms=round((time.time() - began) * 1000, 3),
        source_ip=request.peer,
        user_agent=shorten(request.headers.get("user-agent", "")),
    )


def _has_worked(answer: Response | int) -> bool:
    return isinstance(answer, Response) and answer.status < 300


def _read(answer: Response | int) -> _Answered:
    if isinstance(answer, int) or answer.content_type != JSON:
        return _NOTHING
    try:
        return _read_answer(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError):  # a compressed answer
        return _NOTHING
