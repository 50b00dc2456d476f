"""
Request logging as in kubectl: method, URL, status, duration and, at higher levels, bodies.

Credentials are never logged: headers are omitted, and tokens in bodies are redacted.
"""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from msgspec import Struct

LOG_REQUESTS: Final = 6
"""The lowest log level at which requests are logged."""
LOG_BODIES: Final = {8: 1024, 9: 10240}
"""Maximum number of logged characters of a body, by log level; lower levels log no body, higher levels all of it."""
_TOKEN: Final = re.compile(r'("token"\s*:\s*)"(?:[^"\\]|\\.)*"')


class Exchange(Struct, frozen=True):
    """A request and its response; status 0 means no response."""

    method: str
    url: str
    status: int
    seconds: float
    sent: bytes = b""
    received: bytes = b""


RequestLogger = Callable[[Exchange], None]


def describe_exchange(exchange: Exchange, level: int) -> list[str]:
    """Return the lines to log for a request at one of kubectl's log levels."""
    if level < LOG_REQUESTS:
        return []
    status = _describe_status(exchange.status) if exchange.status else "no response"
    lines = [f"{exchange.method} {exchange.url} {status} in {round(exchange.seconds * 1000)} milliseconds"]
    if level >= min(LOG_BODIES):
        for direction, body in (("Request", exchange.sent), ("Response", exchange.received)):
            if body:
                lines.append(f"{direction} Body: {_describe_body(body, LOG_BODIES.get(level))}")
    return lines


def _describe_status(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def _describe_body(body: bytes, most: int | None) -> str:
    text = _TOKEN.sub(r'\1"--- REDACTED ---"', body.decode(errors="replace")).strip()
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]} [and {len(text) - most} more characters]"
