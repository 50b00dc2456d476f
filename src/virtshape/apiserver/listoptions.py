"""Parameters of list and watch requests, parsed and checked together."""

import base64
import binascii
import re
from typing import Final

import msgspec
from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request
from virtshape.store.record import Key

DEFAULT_WATCH_SECONDS: Final = 1800.0
MAX_WATCH_SECONDS: Final = 24 * 3600.0
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,30}")
_MAX_INTEGER: Final = 2**63 - 1
_MAX_REVISION: Final = 2**64 - 1
_CONTINUATION_VERSION: Final = "meta.k8s.io/v1"


class ListOptions(Struct):
    """Options of a list or watch request."""

    label_selector: str
    field_selector: str
    limit: int
    continuation: str
    revision: str
    match: str
    timeout_seconds: float
    bookmarks: bool
    initial_events: bool | None


def read_options(request: Request, *, watch: bool) -> ListOptions:
    """Return the options of a request; raise StatusError for invalid options."""
    parameter = request.parameter
    options = ListOptions(
        label_selector=parameter("labelSelector"),
        field_selector=parameter("fieldSelector"),
        limit=max(0, _read_number(parameter("limit", "0"))),
        continuation=parameter("continue"),
        revision=parameter("resourceVersion"),
        match=parameter("resourceVersionMatch"),
        timeout_seconds=float(min(_read_number(parameter("timeoutSeconds", "0")), MAX_WATCH_SECONDS))
        or DEFAULT_WATCH_SECONDS,
        bookmarks=bool(request.flag("allowWatchBookmarks")),
        initial_events=request.flag("sendInitialEvents"),
    )
    if watch:
        _complete_watch(options)
    causes = _check_watch(options) if watch else _check_list(options)
    if causes:
        reason = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
        listed = f"[{reason}]" if len(causes) > 1 else reason
        message = f'ListOptions.meta.k8s.io "" is invalid: {listed}'
        raise StatusError(422, "Invalid", message, causes).about("meta.k8s.io", "ListOptions")
    return options


def _read_number(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise StatusError(400, "BadRequest", f'strconv.ParseInt: parsing "{text}": invalid syntax')
    number = int(text)
    if not -_MAX_INTEGER <= number <= _MAX_INTEGER:
        raise StatusError(400, "BadRequest", f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def read_revision(text: str) -> int:
    """Parse the resourceVersion of a list request; return 0 if it is empty, raise StatusError 400 if it is invalid."""
    problem = find_revision_problem(text)
    if problem:
        message = f'invalid resource version: resourceVersion: Invalid value: "{text}": {problem}'
        raise StatusError(400, "BadRequest", message)
    return int(text or 0)


def read_watch_revision(text: str) -> int:
    """
    Parse the resourceVersion of a get or watch request; return 0 if it is empty.

    Raise StatusError 500, as in Kubernetes, for an invalid resourceVersion.
    """
    problem = find_revision_problem(text)
    if problem:
        raise StatusError(500, "", f'resourceVersion: Invalid value: "{text}": {problem}')
    return int(text or 0)


def find_revision_problem(text: str) -> str:
    """Return why a string is not a resourceVersion, or an empty string if it is valid or empty."""
    if not text:
        return ""
    if not (text.isascii() and text.isdecimal()):
        return f'strconv.ParseUint: parsing "{text}": invalid syntax'
    if len(text) >= len(str(_MAX_REVISION)) and int(text[:40]) > _MAX_REVISION:
        return f'strconv.ParseUint: parsing "{text}": value out of range'
    return ""


def _forbidden(field: str, message: str) -> FieldError:
    return FieldError(field, f"Forbidden: {message}", "FieldValueForbidden")


def _check_list(options: ListOptions) -> list[FieldError]:
    causes = []
    if options.match:
        if not options.revision:
            message = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.append(_forbidden("resourceVersionMatch", message))
        if options.continuation:
            message = "resourceVersionMatch is forbidden when continue is provided"
            causes.append(_forbidden("resourceVersionMatch", message))
        if options.match not in ("Exact", "NotOlderThan"):
            message = f'Unsupported value: "{options.match}": supported values: "Exact", "NotOlderThan", ""'
            causes.append(FieldError("resourceVersionMatch", message, "FieldValueNotSupported"))
        if options.match == "Exact" and options.revision == "0":
            message = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(_forbidden("resourceVersionMatch", message))
    if options.initial_events is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _complete_watch(options: ListOptions) -> None:
    """If the resourceVersion of a watch is empty or 0, set the options that make it send existing objects first."""
    if options.initial_events is None and not options.match and options.revision in ("", "0"):
        options.initial_events = True
        options.match = "NotOlderThan"


def _check_watch(options: ListOptions) -> list[FieldError]:
    causes = []
    if options.initial_events is not None and options.match != "NotOlderThan":
        message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(_forbidden("resourceVersionMatch", message))
    if not options.match:
        return causes
    if options.initial_events is None:
        message = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(_forbidden("resourceVersionMatch", message))
    if options.match != "NotOlderThan":
        message = f'Unsupported value: "{options.match}": supported values: "NotOlderThan"'
        causes.append(FieldError("resourceVersionMatch", message, "FieldValueNotSupported"))
    if options.continuation:
        message = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(_forbidden("resourceVersionMatch", message))
    return causes


class _Token(Struct):
    v: str
    rv: int
    start: str


def format_continuation(revision: int, last: Key, *, namespaced: bool) -> str:
    """Return the token that continues a list after a key, at a revision; revision -1 means the latest."""
    start = f"/{last.name}" if namespaced or not last.namespace else f"/{last.namespace}/{last.name}"
    token = _Token(v=_CONTINUATION_VERSION, rv=revision, start=f"{start}\0")
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).rstrip(b"=").decode()


def parse_continuation(text: str, resource: str, namespace: str) -> tuple[int, Key]:
    """Return the revision and the last key in a token; raise StatusError 400 if the token is invalid."""
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
        *above, name = token.start.removeprefix("/").removesuffix("\0").split("/")
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise StatusError(400, "BadRequest", f"invalid continue token: continue key is not valid: {error}") from None
    if problem := _find_token_problem(token):
        raise StatusError(400, "BadRequest", f"invalid continue token: {problem}")
    return token.rv, Key(resource, above[0] if above else namespace, name)


def _find_token_problem(token: _Token) -> str:
    if token.v != _CONTINUATION_VERSION:
        return f"continue key is not valid: server does not recognize this encoded version {token.v}"
    if token.rv == 0:
        return f"incorrect encoded start resourceVersion (version {_CONTINUATION_VERSION})"
    if not token.start:
        return f"continue key is not valid: encoded start key empty (version {_CONTINUATION_VERSION})"
    steps = token.start.removeprefix("/").split("/")
    return f"continue key is not valid: {token.start}" if {"", ".", ".."}.intersection(steps) else ""
