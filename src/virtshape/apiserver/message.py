"""
HTTP messages as the server's handlers see them: a request, an answer, one that goes on, one that turns into a stream.

No sockets here.
"""

from collections.abc import AsyncIterator, Mapping
from urllib.parse import parse_qs, unquote

from virtshape.apiserver.incoming import IncomingBody
from virtshape.stream.duplex import Duplex

JSON = "application/json"
YAML = "application/yaml"
PLAIN_TEXT = "text/plain; charset=utf-8"
PERSONAL = "impersonate-"
"""How headers begin that name people and groups."""
NAMING = (PERSONAL, "x-remote-")
"""How all headers begin that name people and groups: those that a client sends, and those of a proxy before us."""
LINE = "\n"
"""What stands between several such headers of one name: the names in them may have commas."""


class Request:
    """One request, its body read whole; one that is too large for that has it in `incoming`."""

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
        """The parameters behind the question mark; one without a value has an empty one."""
        self.headers = headers
        self.body = body
        self.peer = peer
        self.certificate = certificate
        self.incoming = incoming
        self.reserved = 0
        """Bytes that its connection reserved for the body."""

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool | None:
        """Whether a parameter says yes, which all do but `false` and `0`; None where it is absent."""
        values = self.query.get(name)
        return values[0].lower() not in ("false", "0") if values else None

    @property
    def is_arriving(self) -> bool:
        """Whether some of its body is still to come."""
        return self.incoming is not None and not self.incoming.is_ended

    @property
    def wants_websocket(self) -> bool:
        """Whether the client asks to go on with a WebSocket."""
        upgrade, connection = self.headers.get("upgrade", ""), self.headers.get("connection", "")
        return upgrade.lower() == "websocket" and "upgrade" in connection.lower()


class Response:
    """An answer that is all there."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self, status: int, body: bytes, content_type: str = JSON, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers


class Stream:
    """An answer that goes on until its chunks end, the client leaves or the server stops."""

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
    """The consent to go on with a WebSocket, between the client and a stream that is open already."""

    __slots__ = ("headers", "status", "stream", "whole_messages")

    def __init__(
        self, stream: Duplex, headers: tuple[tuple[str, str], ...] = (), *, whole_messages: bool = False
    ) -> None:
        self.status = 101
        self.stream = stream
        self.headers = headers
        self.whole_messages = whole_messages
