"""
How much the server takes on: requests at once, bytes of a body, levels of nesting, seconds for an answer.

Refuses with the codes and words that clients know to retry on, or not to. Measures nothing but what it is given.
"""

import re
from itertools import accumulate
from typing import Final

from virtshape.api.duration import parse_duration
from virtshape.api.status import StatusError

MOST_WRITES: Final = 200
LARGEST_BODY: Final = 3 * 1024 * 1024
LARGEST_OBJECT: Final = 1536 * 1024
"""Bytes of an object in JSON as it is stored; the default of etcd's `--max-request-bytes`."""
DEEPEST_NESTING: Final = 200
RETRY_AFTER_SECONDS: Final = 1
LONGEST_SECONDS: Final = 60.0

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OTHERS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_STEP = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}


class Slots:
    """
    Room for so many writes at once; entered by each while it is being made, refused with 429 when full.

    Reads need none: they are answered one at a time.
    """

    __slots__ = ("_most", "taken")

    def __init__(self, most: int = MOST_WRITES) -> None:
        self._most = most
        self.taken = 0

    def __enter__(self) -> None:
        if self.taken >= self._most:
            raise too_many_requests()
        self.taken += 1

    def __exit__(self, *_: object) -> None:
        self.taken -= 1


def too_many_requests() -> StatusError:
    """The refusal of a request that should come again later; its Retry-After header is `RETRY_AFTER_SECONDS`."""
    message = "Too many requests, please try again later."
    return StatusError(429, "TooManyRequests", message).retry_after(RETRY_AFTER_SECONDS)


def check_size(size: int, largest: int = LARGEST_BODY) -> None:
    """Refuse a body of so many bytes with 413 if that is too many."""
    if size > largest:
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {largest}")


def check_object_size(size: int, resource: str, name: str, largest: int = LARGEST_OBJECT) -> None:
    """Refuse an object of more bytes than are stored, with 413 and etcd's message."""
    if size > largest:
        message = f'etcdserver: request is too large: {resource} "{name}" has {size} bytes, limit is {largest}'
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def check_nesting(body: bytes, deepest: int = DEEPEST_NESTING) -> None:
    """Refuse JSON that is nested deeper than anything that objects need, before it is decoded."""
    if body.count(b"{") + body.count(b"[") <= deepest or body.lstrip()[:1] not in (b"{", b"["):
        return
    brackets = _STRING.sub(b"", body).translate(None, _OTHERS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > deepest:
        raise StatusError(400, "BadRequest", f"the body is nested more than {deepest} levels deep")


def read_patience(text: str) -> float:
    """For how many seconds a client is ready to wait, as it says in Go's words: `1m30s`; no longer than anyone may."""
    if not text:
        return LONGEST_SECONDS
    try:
        seconds = parse_duration(text)
    except ValueError:
        message = f'invalid timeout specified in the request URL: "{text}"'
        raise StatusError(400, "BadRequest", message) from None
    return min(seconds, LONGEST_SECONDS) or LONGEST_SECONDS


def too_slow() -> StatusError:
    """The refusal of a request that took too long; what it asks for may be done all the same."""
    message = "Timeout: request did not complete within the allotted timeout"
    return StatusError(504, "Timeout", message).retry_after(RETRY_AFTER_SECONDS)
