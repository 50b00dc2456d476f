"""
Limits of the server: concurrent requests, body size, nesting depth and request timeout.

Errors have the status codes and messages of Kubernetes, from which clients decide whether to retry.
"""

import re
from itertools import accumulate
from typing import Final

from virtshape.api.status import StatusError
from virtshape.api.times import parse_duration

MAX_WRITES: Final = 200
"""Maximum number of writes in progress; equals the default of `--max-mutating-requests-inflight`."""
MAX_READS: Final = 400
"""Maximum number of large lists in progress; equals the default of `--max-requests-inflight`."""
LISTS_AT_ONCE: Final = 1
"""Number of large lists that are read and rendered at a time; each needs memory, and slows down other requests."""
MAX_BODY_BYTES: Final = 3 * 1024 * 1024
MAX_OBJECT_BYTES: Final = 1536 * 1024
"""Maximum size of an object's stored JSON; equals the default of etcd's `--max-request-bytes`."""
DEEPEST_NESTING: Final = 200
RETRY_AFTER_SECONDS: Final = 1
MAX_SECONDS: Final = 60.0

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OTHERS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_STEP = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}


class Slots:
    """
    Limits concurrent requests: a context manager that raises StatusError 429 if all slots are in use.

    Reads are handled one at a time and need no slot, except large lists. Watches and health checks need none. Writes of
    leases need none, so that leaders keep their leases under load.
    """

    __slots__ = ("_most", "taken")

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    def __enter__(self) -> None:
        if self.taken >= self._most:
            raise too_many_requests()
        self.taken += 1

    def __exit__(self, *_: object) -> None:
        self.taken -= 1


def too_many_requests() -> StatusError:
    """Return the 429 error; its Retry-After header is `RETRY_AFTER_SECONDS`."""
    message = "Too many requests, please try again later."
    return StatusError(429, "TooManyRequests", message).retry_after(RETRY_AFTER_SECONDS)


def too_many_connections() -> StatusError:
    """Return the 429 error for a connection that exceeds the limit."""
    message = "Too many connections, please try again later."
    return StatusError(429, "TooManyRequests", message).retry_after(RETRY_AFTER_SECONDS)


def require_size_below(size: int, largest: int = MAX_BODY_BYTES) -> None:
    """Raise StatusError 413 if a body is too large."""
    if size > largest:
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {largest}")


def validate_object_size(size: int, resource: str, name: str, largest: int = MAX_OBJECT_BYTES) -> None:
    """Raise StatusError 413 with etcd's message if an object is too large to store."""
    if size > largest:
        message = f'etcdserver: request is too large: {resource} "{name}" has {size} bytes, limit is {largest}'
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def validate_nesting(body: bytes, deepest: int = DEEPEST_NESTING) -> None:
    """Raise StatusError if JSON is nested too deeply; call this before decoding it."""
    if body.count(b"{") + body.count(b"[") <= deepest or body.lstrip()[:1] not in (b"{", b"["):
        return
    brackets = _STRING.sub(b"", body).translate(None, _OTHERS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > deepest:
        raise StatusError(400, "BadRequest", f"the body is nested more than {deepest} levels deep")


def read_timeout(text: str) -> float:
    """
    Return a request's timeout in seconds from a Go duration such as `1m30s`; raise StatusError if it is invalid.

    MAX_SECONDS is the default and the maximum.
    """
    if not text:
        return MAX_SECONDS
    try:
        seconds = parse_duration(text)
    except ValueError:
        message = f'invalid timeout specified in the request URL: "{text}"'
        raise StatusError(400, "BadRequest", message) from None
    return min(seconds, MAX_SECONDS) or MAX_SECONDS


def timeout_error() -> StatusError:
    """Return the error for a request that timed out; the request's write may still be stored."""
    message = "Timeout: request did not complete within the allotted timeout"
    return StatusError(504, "Timeout", message).retry_after(RETRY_AFTER_SECONDS)
