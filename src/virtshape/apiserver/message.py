"""HTTP messages as handlers see them: requests, responses, streamed responses and WebSocket upgrades."""

from collections.abc import AsyncIterator, Mapping
from urllib.parse import parse_qs, unquote

from virtshape.apiserver.incoming import IncomingBody
from virtshape.stream.duplex import Duplex

JSON = "application/json"
YAML = "application/yaml"
PLAIN_TEXT = "text/plain; charset=utf-8"
IMPERSONATION_PREFIX = "impersonate-"
"""Prefix of the impersonation headers."""
IDENTITY_PREFIXES = (IMPERSONATION_PREFIX, "x-remote-")
"""Prefixes of all headers that name users and groups, from clients and from front proxies."""
LINE = "\n"
"""Separator between the values of a repeated header with such a prefix; values may contain commas."""


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
        self.query = parse_qs(self.query_text, keep_blank_values=True) if self.query_text else {}
        """Query parameters; a parameter without a value has an empty string."""
        self.headers = headers
        self.body = body
        self.peer = peer
        self.certificate = certificate
        self.incoming = incoming
        self.reserved = 0
        """Bytes that the connection reserved for the body."""

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
    def is_of_other_site(self) -> bool:
        """Return True if, according to the browser, a page from another origin sent the request."""
        return self.headers.get("sec-fetch-site") in ("cross-site", "same-site")

    @property
    def wants_websocket(self) -> bool:
        """Return True if the client requests a WebSocket."""
        upgrade, connection = self.headers.get("upgrade", ""), self.headers.get("connection", "")
        return upgrade.lower() == "websocket" and "upgrade" in connection.lower()


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
    """A response that is sent in chunks until they end, the client disconnects or the server stops."""

    __slots__ = ("chunks", "content_type", "headers", "status")

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


class Upgrade:
    """A switch to a WebSocket between the client and an open stream."""

    __slots__ = ("headers", "join_fragments", "status", "stream")

    def __init__(
        self, stream: Duplex, headers: tuple[tuple[str, str], ...] = (), *, join_fragments: bool = False
    ) -> None:
        self.status = 101
        self.stream = stream
        self.headers = headers
        self.join_fragments = join_fragments
