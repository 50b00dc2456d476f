"""HTTP messages as handlers see them: requests, responses, streamed responses and WebSocket upgrades."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qs, unquote

from virtshape.apiserver.incoming import IncomingBody
from virtshape.stream.duplex import Duplex

JSON = "application/json"
YAML = "application/yaml"
PLAIN_TEXT = "text/plain; charset=utf-8"
IMPERSONATION_PREFIX = "impersonate-"
"""Prefix of the impersonation headers."""
IDENTITY_PREFIXES = (IMPERSONATION_PREFIX, "x-remote-")
"""Prefixes of all headers that contain users and groups, from clients and from front proxies."""
AUDIT_ID: Final = "audit-id"
"""Name of the header that contains the request's ID, in requests and responses, as in kube-apiserver."""
MAX_AUDIT_ID_LENGTH: Final = 64
_MAX_CACHED_QUERY: Final = 100
"""Parsed queries of up to this length are cached, because most clients repeat a few short ones."""
LINE = "\n"
"""Separator between values of a repeated header with one of the IDENTITY_PREFIXES; values may contain commas."""


class Request:
    """One request with its body; the body of an upload is in `incoming`."""

    def __init__(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        peer: str = "",
        certificate: Mapping[str, object] | None = None,
        incoming: IncomingBody | None = None,
    ) -> None:
        self.method = method
        path, _, self.query_text = target.partition("?")
        self.path = unquote(path) if "%" in path else path
        self.query = _parse_query(self.query_text) if self.query_text else {}
        """Query parameters; a parameter that is sent without a value has an empty string as its value."""
        self.headers = headers
        self.body = body
        self.peer = peer
        self.certificate = certificate
        self.incoming = incoming
        self.reserved = 0
        """Bytes that the connection reserved for the body."""
        self._audit_id = ""

    @property
    def audit_id(self) -> str:
        """The ID of the request in its response, in log lines and in the audit log; the client may choose it."""
        if not self._audit_id:
            given = self.headers.get(AUDIT_ID, "")[:MAX_AUDIT_ID_LENGTH]
            self._audit_id = given if given.isascii() and given.isprintable() and given else _make_id()
        return self._audit_id

    def parameter(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter, or the default."""
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool | None:
        """Return a boolean parameter: True unless it is `false` or `0`, None if absent."""
        values = self.query.get(name)
        return values[0].lower() not in ("false", "0") if values else None

    @property
    def is_arriving(self) -> bool:
        """Return True while the body is still being received."""
        return self.incoming is not None and not self.incoming.is_ended

    @property
    def is_cross_origin(self) -> bool:
        """Return True if, according to the browser, a page from another origin sent the request."""
        return self.headers.get("sec-fetch-site") in ("cross-site", "same-site")

    @property
    def wants_websocket(self) -> bool:
        """Return True if the client requests a WebSocket."""
        upgrade, connection = self.headers.get("upgrade", ""), self.headers.get("connection", "")
        return upgrade.lower() == "websocket" and "upgrade" in connection.lower()


def _parse_query(text: str) -> Mapping[str, list[str]]:
    return _parse_short_query(text) if len(text) <= _MAX_CACHED_QUERY else parse_qs(text, keep_blank_values=True)


@lru_cache(maxsize=256)
def _parse_short_query(text: str) -> Mapping[str, list[str]]:
    return parse_qs(text, keep_blank_values=True)


CURRENT_REQUEST: Final[ContextVar[Request | None]] = ContextVar("current_request", default=None)
"""The request that is being handled, for log lines."""


def _make_id() -> str:
    """Return a random UUID for a request; the UUID may be predictable, because it is not used for security."""
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


IsPermitted = Callable[[], bool]
"""Returns True while the sender of a request may make it."""


class Response:
    """A complete response."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self, status: int, body: bytes, content_type: str = JSON, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers


class Stream:
    """A response that is sent in chunks until the last chunk, the client disconnects or the server stops."""

    __slots__ = ("chunks", "content_type", "headers", "is_permitted", "status")

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        content_type: str = JSON,
        headers: tuple[tuple[str, str], ...] = (),
        status: int = 200,
    ) -> None:
        self.status = status
        self.chunks = chunks
        self.content_type = content_type
        self.headers = headers
        self.is_permitted: IsPermitted | None = None
        """If set, the stream ends soon after this function returns False."""


class Upgrade:
    """A response that switches the connection to a WebSocket, which relays data between the client and a stream."""

    __slots__ = ("headers", "is_permitted", "join_fragments", "status", "stream")

    def __init__(
        self, stream: Duplex, headers: tuple[tuple[str, str], ...] = (), *, join_fragments: bool = False
    ) -> None:
        self.status = 101
        self.stream = stream
        self.headers = headers
        self.join_fragments = join_fragments
        self.is_permitted: IsPermitted | None = None
        """If set, the stream ends soon after this function returns False."""


AnyResponse = Response | Stream | Upgrade
