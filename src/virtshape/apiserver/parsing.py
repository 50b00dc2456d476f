"""
Parse HTTP requests with httptools.

Parsing pauses while the connection has no room for more requests. Parsing also pauses after a request that may switch
the protocol, until the response to this request is sent. The connection receives an upload as soon as its headers are
complete, and any other request when its body is complete.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import httptools

from virtshape.api.status import StatusError
from virtshape.apiserver.incoming import IncomingBody
from virtshape.apiserver.limits import MAX_BODY_BYTES, require_size_below
from virtshape.apiserver.message import IDENTITY_PREFIXES, LINE, Request
from virtshape.apiserver.uploads.route import is_upload

MAX_HEAD_BYTES: Final = 64 * 1024
PARSED_AT_ONCE: Final = 16 * 1024
"""Maximum bytes to parse in one step, which bounds how many requests are parsed beyond the connection's limit."""
LARGE_BODY: Final = 64 * 1024
"""Size in bytes; a larger body is read only if the connection admits it."""

Admit = Callable[[Request, int], StatusError | None]
"""Returns the error if a request with a body of up to this size may not be read, else None."""


FindLimit = Callable[[str], int]
"""Returns the maximum body size of a request with this path."""


class Client(NamedTuple):
    """The client's address and certificate, from the transport."""

    address: str = ""
    certificate: Mapping[str, object] | None = None


class RequestReader:
    """
    Reads the requests of one connection.

    `take` receives each request and whether the client keeps the connection open; `refuse` receives the error for a
    request that cannot be parsed, after which parsing stops. `send_continue` is called for a client that waits for 100
    Continue, `throttle` when an upload must pause or may resume. `admit` decides whether a large body may be read.
    While `has_room` returns False, received bytes wait unparsed until `release`.
    """

    def __init__(
        self,
        client: Client,
        take: Callable[[Request, bool], None],
        refuse: Callable[[StatusError], None],
        send_continue: Callable[[], None],
        throttle: Callable[[bool], None] = lambda _: None,
        get_limit: FindLimit = lambda _: MAX_BODY_BYTES,
        admit: Admit = lambda _request, _size: None,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._admit = admit
        self._has_room = has_room
        self._find_limit = get_limit
        self._take = take
        self._refuse_with = refuse
        self._send_continue = send_continue
        self._throttle = throttle
        self._parser = httptools.HttpRequestParser(self)
        self._rest = b""
        self._is_held = False
        self._refused = False
        self._unaccounted = 0
        self._begin()

    def feed(self, data: bytes) -> None:
        """Parse received bytes while the connection has room for more requests; after an error, discard them."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        while data and not self._refused:
            if self._is_held or not self._has_room():
                self._rest = data
                return
            if len(data) <= PARSED_AT_ONCE or self._incoming is not None:
                data = data[self._parse(data) :]
            else:
                data = data[self._parse(data[:PARSED_AT_ONCE]) :]

    def _parse(self, data: bytes) -> int:
        """Parse some bytes; return how many were consumed."""
        taken = len(data)
        self._unaccounted += taken
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            taken = upgrade.args[0]
        except httptools.HttpParserError as error:
            self._refuse(StatusError(400, "BadRequest", f"invalid HTTP request: {error}"))
        # The parser buffers an unfinished header or trailer itself, without a limit.
        if self._unaccounted > MAX_HEAD_BYTES + PARSED_AT_ONCE:
            self._refuse_head()
        return taken

    def is_holding(self) -> bool:
        """Return True while a request that may switch the protocol waits for its response."""
        return self._is_held

    def release(self) -> None:
        """Parse the waiting bytes; called when there is room for more requests or the protocol did not switch."""
        self._is_held = False
        if self._rest:
            self.feed(b"")

    def take_rest(self) -> bytes:
        """Return the bytes that followed a request that switches the protocol."""
        rest, self._rest = self._rest, b""
        return rest

    def discard(self) -> None:
        """Drop unparsed bytes after the connection has ended, before its object is garbage-collected."""
        self._refused = True
        self._rest = b""
        self._body.clear()

    def _begin(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._head_size = 0
        self._has_head = False
        self._is_admitted = False
        self._reserved = 0
        self._body: list[bytes] = []
        self._body_size = 0
        self._incoming: IncomingBody | None = None

    def on_message_begin(self) -> None:
        """Start a new request."""
        self._begin()

    def on_url(self, url: bytes) -> None:
        """Append bytes to the request target."""
        self._target += url
        self._grow_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; repeated headers are joined. Trailers are dropped."""
        self._grow_head(len(name) + len(value))
        if self._has_head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in self._headers:
            text = f"{self._headers[key]}{LINE if key.startswith(IDENTITY_PREFIXES) else ','}{text}"
        self._headers[key] = text

    def _grow_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD_BYTES:
            self._refuse_head()

    def _refuse_head(self) -> None:
        message = f"the request line and headers are too large: limit is {MAX_HEAD_BYTES} bytes"
        self._refuse(StatusError(431, "BadRequest", message))

    def on_headers_complete(self) -> None:
        """Pass an upload to the connection; for other requests, check the body size and send 100 Continue if needed."""
        self._has_head = True
        self._unaccounted = 0
        length = self._headers.get("content-length", "")
        if self._parser.should_upgrade() and (length.strip("0") or "transfer-encoding" in self._headers):
            # The bytes after the headers could belong to either protocol.
            self._refuse(StatusError(501, "NotImplemented", "a request with a body cannot upgrade the protocol"))
        if not self._refused and is_upload(self._read_method(), self._read_target()):
            self._incoming = IncomingBody(self._send_continue_if_waiting, self._throttle)
            self._pass_on()
            return
        self._check_size(int(length) if length.isdecimal() else 0)
        if length.isdecimal() and int(length) > LARGE_BODY:
            self._admit_body(int(length))
        if not self._refused:
            self._send_continue_if_waiting()

    def _admit_body(self, size: int) -> None:
        """Ask the connection, once per request, whether a large body may be read; if not, refuse the request."""
        if self._refused or self._is_admitted:
            return
        self._is_admitted = True
        self._reserved = size
        if error := self._admit(self._build_request(), size):
            self._reserved = 0
            self._refuse(error)

    def _send_continue_if_waiting(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self._send_continue()

    def on_body(self, body: bytes) -> None:
        """Append bytes to the body."""
        self._unaccounted = 0
        if self._incoming is not None:
            self._incoming.feed(body)
            return
        self._body_size += len(body)
        self._check_size(self._body_size)
        if self._body_size > LARGE_BODY and not self._is_admitted:
            self._admit_body(self._read_limit())
        if not self._refused:
            self._body.append(body)

    def _check_size(self, size: int) -> None:
        if not size:
            return
        try:
            require_size_below(size, self._read_limit())
        except StatusError as error:
            self._refuse(error)

    def _read_limit(self) -> int:
        return self._find_limit(self._read_target().partition("?")[0])

    def on_message_complete(self) -> None:
        """Pass the complete request to the connection, or mark the body of an upload as complete."""
        self._unaccounted = 0
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None
        elif not self._refused:
            self._is_held = self._parser.should_upgrade()
            self._pass_on()

    def _pass_on(self) -> None:
        request = self._build_request()
        request.reserved = self._reserved
        self._body.clear()
        self._take(request, self._parser.should_keep_alive())

    def _build_request(self) -> Request:
        return Request(
            self._read_method(),
            self._read_target(),
            self._headers,
            b"".join(self._body),
            peer=self._client.address,
            certificate=self._client.certificate,
            incoming=self._incoming,
        )

    def _read_method(self) -> str:
        return self._parser.get_method().decode("ascii")

    def _read_target(self) -> str:
        return self._target.decode("latin-1")

    def _refuse(self, error: StatusError) -> None:
        if not self._refused:
            self._refused = True
            self._refuse_with(error)
