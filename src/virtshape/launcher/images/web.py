"""
HTTP and HTTPS requests; credentials are not sent to other servers after a redirect.

Connections, including those after redirects, go only to addresses that imports may reach (see `addresses`). Failures
raise TransferError, whose message contains no credentials.
"""

import base64
import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import lru_cache, partial
from http.client import HTTPMessage
from typing import IO, Any, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from virtshape.launcher.images.addresses import ForbiddenAddressError, connect, require_allowed_host
from virtshape.launcher.images.errors import TransferError

SILENCE_SECONDS: Final = 15.0
"""Socket timeout of requests."""
_AGENT: Final = "virtshape"


class Access(NamedTuple):
    """Request settings: extra headers, credentials, and PEM certificates of CAs to trust instead of the system's."""

    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    password: str = ""
    authorities: str = ""
    networks: tuple[str, ...] = ()
    """Non-public networks that requests may connect to."""

    @property
    def secrets(self) -> dict[str, str]:
        """Headers that are sent only to the requested server."""
        given = dict(self.headers)
        if self.user:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            given.setdefault("Authorization", f"Basic {pair}")
        return given


def request(
    url: str, access: Access, headers: Mapping[str, str] | None = None, method: str = "GET"
) -> http.client.HTTPResponse:
    """Send a request and return the response; raise RefusedRequestError for status 400 and above."""
    where = describe_url(url)
    if urlsplit(url).scheme not in {"http", "https"}:
        raise TransferError(f"invalid URL {where}: must start with http:// or https://")
    outgoing = urllib.request.Request(url, method=method, headers={"User-Agent": _AGENT, **(headers or {})})  # noqa: S310 - checked above
    for name, value in access.secrets.items():
        outgoing.add_unredirected_header(name, value)
    try:
        response = _opener(access.authorities, access.networks).open(outgoing, timeout=SILENCE_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            raise RefusedRequestError(where, error) from error
    except ForbiddenAddressError as error:
        raise ForbiddenAddressError(f"{where} cannot be reached: {error}") from error
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise TransferError(f"{where} cannot be reached: {_explain(error)}") from error
    assert isinstance(response, http.client.HTTPResponse)  # noqa: S101 - no other handler is installed
    return response


def _explain(error: Exception) -> str:
    """Return the message of an error without its errno."""
    reason = getattr(error, "reason", None) or error
    return (reason.strerror if isinstance(reason, OSError) else None) or str(reason)


class RefusedRequestError(TransferError):
    """The server returned an error status; `headers` are those of the response."""

    def __init__(self, where: str, error: urllib.error.HTTPError) -> None:
        super().__init__(f"{where} returned status {error.code} {error.reason}", error.code)
        self.headers = error.headers


def describe_url(url: str) -> str:
    """Return a URL without parts that may be secret: user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from HTTPS to HTTP; sends credentials only to the same server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme != "https" and after.scheme != before.scheme:
            raise TransferError(
                f"{describe_url(req.full_url)} redirects to {describe_url(newurl)}, which does not use HTTPS"
            )
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and (before.scheme, before.netloc) == (after.scheme, after.netloc):
            for name, value in req.unredirected_hdrs.items():
                following.add_unredirected_header(name, value)
        return following


class _Connection(http.client.HTTPConnection):
    """A connection to a permitted address."""

    networks: tuple[str, ...] = ()

    def connect(self) -> None:
        self.sock = connect(self.host, self.port, self.timeout, self.networks)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """A TLS connection: HTTPSConnection calls `_Connection.connect` and then verifies the certificate."""


def _prepare(
    kind: type[_Connection], networks: tuple[str, ...], host: str, /, **options: Any
) -> http.client.HTTPConnection:
    connection = kind(host, **options)
    connection.networks = networks
    return connection


class _Handler(urllib.request.HTTPHandler):
    """Opens HTTP URLs, through a proxy if the server's environment sets one."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        super().__init__()
        self._networks = networks

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        if req.has_proxy():
            parts = urlsplit(req.full_url)
            require_allowed_host(parts.hostname or "", parts.port or 80, self._networks)
            return self.do_open(http.client.HTTPConnection, req)
        return self.do_open(partial(_prepare, _Connection, self._networks), req)


class _SecureHandler(urllib.request.HTTPSHandler):
    """Opens HTTPS URLs, through a proxy if the server's environment sets one."""

    def __init__(self, networks: tuple[str, ...], context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._networks = networks
        self._trust = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        if getattr(req, "_tunnel_host", None):
            parts = urlsplit(req.full_url)
            require_allowed_host(parts.hostname or "", parts.port or 443, self._networks)
            return self.do_open(http.client.HTTPSConnection, req, context=self._trust)
        return self.do_open(partial(_prepare, _SecureConnection, self._networks), req, context=self._trust)


@lru_cache(maxsize=16)
def _opener(authorities: str, networks: tuple[str, ...]) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context(cadata=authorities or None)
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _Handler(networks),
        _SecureHandler(networks, context),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener
