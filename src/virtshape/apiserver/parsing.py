"""
Requests off the wire: bytes in, requests out. Parsing is httptools'; answers are not known here.

Behind a request that may change the protocol nothing is read until it is answered.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import httptools

from virtshape.api.status import StatusError
from virtshape.apiserver.limits import LARGEST_BODY, check_size
from virtshape.apiserver.message import LINE, PERSONAL, Request

LARGEST_HEAD: Final = 64 * 1024


class Client(NamedTuple):
    """What the transport knows of a client."""

    address: str = ""
    certificate: Mapping[str, object] | None = None


class RequestReader:
    """
    Reads the requests of one connection.

    `take` gets each with whether the client means to go on, `refuse` what cannot be read as one, after which nothing is
    read any more; `invite` is called for a client that waits to be told to send its body.
    """

    def __init__(
        self,
        client: Client,
        take: Callable[[Request, bool], None],
        refuse: Callable[[StatusError], None],
        invite: Callable[[], None],
    ) -> None:
        self._client = client
        self._take = take
        self._refuse_with = refuse
        self._invite = invite
        self._parser = httptools.HttpRequestParser(self)
        self._rest = b""
        self._is_held = False
        self._refused = False
        self._begin()

    def feed(self, data: bytes) -> None:
        """Take in what came; after a refusal, only to throw it away."""
        if self.is_holding():
            self._rest += data
            return
        while data and not self._refused:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                if self.is_holding():
                    self._rest = data
                    return
            except httptools.HttpParserError as error:
                self._refuse(StatusError(400, "BadRequest", f"this is not HTTP: {error}"))
                return
            else:
                return

    def is_holding(self) -> bool:
        """Whether a request that may change the protocol waits for its answer."""
        return self._is_held

    def release(self) -> None:
        """Go on behind a request that was answered without changing the protocol."""
        if self._is_held:
            self._is_held = False
            self.feed(self.take_rest())

    def take_rest(self) -> bytes:
        """What came behind a request that changes the protocol."""
        rest, self._rest = self._rest, b""
        return rest

    def _begin(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._head_size = 0
        self._body: list[bytes] = []
        self._body_size = 0

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of its target."""
        self._target += url
        self._grow_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one of its headers; several of one name become a list."""
        self._grow_head(len(name) + len(value))
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in self._headers:
            text = f"{self._headers[key]}{LINE if key.startswith(PERSONAL) else ','}{text}"
        self._headers[key] = text

    def _grow_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > LARGEST_HEAD:
            self._refuse(StatusError(431, "BadRequest", "the request's head is too large"))

    def on_headers_complete(self) -> None:
        """Refuse a body that says it is too large; tell a client that waits to be told to send its body."""
        length = self._headers.get("content-length", "")
        self._check_size(int(length) if length.isdecimal() else 0)
        if self._parser.should_upgrade() and (length.strip("0") or "transfer-encoding" in self._headers):
            # Whose the bytes behind the head are then is not for us to guess.
            self._refuse(StatusError(501, "NotImplemented", "a request with a body cannot change the protocol"))
        if self._headers.get("expect", "").lower() == "100-continue" and not self._refused:
            self._invite()

    def on_body(self, body: bytes) -> None:
        """Take a piece of its body."""
        self._body_size += len(body)
        self._check_size(self._body_size)
        if not self._refused:
            self._body.append(body)

    def _check_size(self, size: int) -> None:
        try:
            check_size(size, LARGEST_BODY)
        except StatusError as error:
            self._refuse(error)

    def on_message_complete(self) -> None:
        """Pass the request on."""
        if self._refused:
            return
        self._is_held = self._parser.should_upgrade()
        request = Request(
            self._parser.get_method().decode("ascii"),
            self._target.decode("latin-1"),
            self._headers,
            b"".join(self._body),
            peer=self._client.address,
            certificate=self._client.certificate,
        )
        self._take(request, self._parser.should_keep_alive())

    def _refuse(self, error: StatusError) -> None:
        if not self._refused:
            self._refused = True
            self._refuse_with(error)
