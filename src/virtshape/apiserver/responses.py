"""Build HTTP responses for objects, lists and errors, as YAML or compressed if the client requests it."""

import gzip
from typing import Final

import msgspec

from virtshape.api.codec import encode
from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError
from virtshape.api.yaml import write_yaml
from virtshape.apiserver.encoding.negotiation import ResponseFormat, choose_format
from virtshape.apiserver.message import JSON, PLAIN_TEXT, YAML, Request, Response, Stream, Upgrade
from virtshape.store.errors import CompactedError, FutureError

COMPRESS_FROM: Final = 128 * 1024
_TRUE: Final = ("1", "t", "true")
NO_CACHE: Final = (("cache-control", "no-cache, private"),)


def build_response(
    request: Request, response_format: ResponseFormat, body: bytes, status: int = 200, warnings: list[str] | None = None
) -> Response:
    """Return a response with warnings; the JSON body is converted to YAML, indented or compressed as requested."""
    headers: tuple[tuple[str, str], ...] = NO_CACHE
    content_type = JSON
    if warnings:
        headers += tuple(("warning", format_warning(text)) for text in warnings)
    if response_format.yaml:
        body, content_type = _to_yaml(body), YAML
    elif request.query and request.parameter("pretty").lower() in _TRUE:
        body = msgspec.json.format(body, indent=2)
    if len(body) > COMPRESS_FROM and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, 1, mtime=0)
        headers += (("content-encoding", "gzip"), ("vary", "Accept-Encoding"))
    return Response(status, body, content_type, headers)


def add_warning(answer: Response | Stream | Upgrade, text: str) -> None:
    """Add a warning to a response, before its other warnings."""
    answer.headers = (("warning", format_warning(text)), *answer.headers)


def format_warning(text: str) -> str:
    """Format a message as the value of a Warning header."""
    return f"299 - {quote(text)}"


def quote(text: str) -> str:
    """Format text as a quoted string for a header."""
    safe = "".join(character if character.isprintable() else " " for character in text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"').encode("ascii", "backslashreplace").decode() + '"'


def build_error_response(error: StatusError, accept: str = "") -> Response:
    """Return an error response, as YAML if the client prefers it."""
    headers: tuple[tuple[str, str], ...] = NO_CACHE
    if error.details.retry_after_seconds:
        headers += (("retry-after", str(error.details.retry_after_seconds)),)
    headers += tuple(("warning", format_warning(text)) for text in error.warnings)
    body = encode(error.status)
    if "yaml" in accept and _wants_yaml(accept):
        return Response(error.code, _to_yaml(body), YAML, headers)
    return Response(error.code, body, JSON, headers)


def _to_yaml(body: bytes) -> bytes:
    return write_yaml(msgspec.to_builtins(msgspec.json.decode(body), order="deterministic")).encode()


def _wants_yaml(accept: str) -> bool:
    try:
        return choose_format(accept).yaml
    except StatusError:
        return False


def build_not_found_response() -> Response:
    """Return the response for an unknown path."""
    headers = (*NO_CACHE, ("x-content-type-options", "nosniff"))
    return Response(404, b"404 page not found\n", PLAIN_TEXT, headers)


def future_revision_error(error: FutureError) -> StatusError:
    """Return the error for a resourceVersion that the store has not reached."""
    cause = FieldError("", "Too large resource version", "ResourceVersionTooLarge")
    return StatusError(504, "Timeout", f"Timeout: {error}", [cause]).retry_after(1)


def replaced_store_error(error: FutureError) -> StatusError:
    """Return the error for a watch from an unknown revision, after the store was restored or replaced."""
    return StatusError(410, "Expired", f"{error}: the store was restored or replaced; list again")


def expired_revision_error(error: CompactedError) -> StatusError:
    """Return the error for a revision that was compacted."""
    return StatusError(410, "Expired", str(error))
