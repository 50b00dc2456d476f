"""
Requests off the wire: bytes in, requests out. Parsing is httptools'; answers are not known here.

Behind a request that may change the protocol nothing is read until it is answered. An upload is passed on when its
head is there, all others when they are there whole.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import httptools

from virtshape.api.status import StatusError
from virtshape.apiserver.incoming import Incoming
from virtshape.apiserver.limits import LARGEST_BODY, check_size
from virtshape.apiserver.message import LINE, NAMING, Request
from virtshape.apiserver.uploads.route import is_upload

LARGEST_HEAD: Final = 64 * 1024


class Client(NamedTuple):
    """What the transport knows of a client."""

    address: str = ""
    certificate: Mapping[str, object] | None = None


class RequestReader:
    """
    Reads the requests of one connection.

    `take` gets each with whether the client means to go on, `refuse` what cannot be read as one, after which nothing is
    read any more; `invite` is called for a client that waits to be told to send its body, `throttle` with whether one
    is to wait that sends an upload faster than it is taken.
    """

    def __init__(
        self,
        client: Client,
        take: Callable[[Request, bool], None],
        refuse: Callable[[StatusError], None],
        invite: Callable[[], None],
        throttle: Callable[[bool], None] = lambda _: None,
        largest_body: int = LARGEST_BODY,
    ) -> None:
        self._client = client
        self._largest_body = largest_body
        self._take = take
        self._refuse_with = refuse
        self._invite = invite
        self._throttle = throttle
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
        self._incoming: Incoming | None = None

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
            text = f"{self._headers[key]}{LINE if key.startswith(NAMING) else ','}{text}"
        self._headers[key] = text

    def _grow_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > LARGEST_HEAD:
            self._refuse(StatusError(431, "BadRequest", "the request's head is too large"))

    def on_headers_complete(self) -> None:
        """Pass an upload on; of others, refuse a body that says it is too large, and have one sent that waits."""
        length = self._headers.get("content-length", "")
        if self._parser.should_upgrade() and (length.strip("0") or "transfer-encoding" in self._headers):
            # Whose the bytes behind the head are then is not for us to guess.
            self._refuse(StatusError(501, "NotImplemented", "a request with a body cannot change the protocol"))
        if not self._refused and is_upload(self._read_method(), self._read_target()):
            self._incoming = Incoming(self._invite_if_waiting, self._throttle)
            self._pass_on()
            return
        self._check_size(int(length) if length.isdecimal() else 0)
        if not self._refused:
            self._invite_if_waiting()

    def _invite_if_waiting(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self._invite()

    def on_body(self, body: bytes) -> None:
        """Take a piece of its body."""
        if self._incoming is not None:
            self._incoming.feed(body)
            return
        self._body_size += len(body)
        self._check_size(self._body_size)
        if not self._refused:
            self._body.append(body)

    def _check_size(self, size: int) -> None:
        try:
            check_size(size, self._largest_body)
        except StatusError as error:
            self._refuse(error)

    def on_message_complete(self) -> None:
        """Pass the request on."""
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None
        elif not self._refused:
            self._is_held = self._parser.should_upgrade()
            self._pass_on()

    def _pass_on(self) -> None:
        request = Request(
            self._read_method(),
            self._read_target(),
            self._headers,
            b"".join(self._body),
            peer=self._client.address,
            certificate=self._client.certificate,
            incoming=self._incoming,
        )
        self._take(request, self._parser.should_keep_alive())

    def _read_method(self) -> str:
        return self._parser.get_method().decode("ascii")

    def _read_target(self) -> str:
        return self._target.decode("latin-1")

    def _refuse(self, error: StatusError) -> None:
        if not self._refused:
            self._refused = True
            self._refuse_with(error)
