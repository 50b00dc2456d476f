"""
Requests to web servers: HTTP and HTTPS only, with limits, and with credentials that never follow a redirect elsewhere.

Every connection, also after a redirect, goes to an address that imports may reach (see `addresses`). Every failure
becomes one TransferError that never shows a credential.
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

from virtshape.launcher.images.addresses import ForbiddenAddressError, check_host, connect
from virtshape.launcher.images.errors import TransferError

SILENCE_SECONDS: Final = 15.0
"""How long a server may say nothing."""
_AGENT: Final = "virtshape"


class Access(NamedTuple):
    """How to reach servers: headers to send, a login, the PEM of authorities to trust over the system's."""

    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    password: str = ""
    authorities: str = ""
    networks: tuple[str, ...] = ()
    """Networks that may be reached although they are not public."""

    @property
    def secrets(self) -> dict[str, str]:
        """The headers that only the server that was named may see."""
        given = dict(self.headers)
        if self.user:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            given.setdefault("Authorization", f"Basic {pair}")
        return given


def request(
    url: str, access: Access, headers: Mapping[str, str] | None = None, method: str = "GET"
) -> http.client.HTTPResponse:
    """Ask a server; what it answers with 400 and above becomes an error that carries the status."""
    where = describe_url(url)
    if urlsplit(url).scheme not in {"http", "https"}:
        raise TransferError(f"{where} is no HTTP or HTTPS address")
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
    """The words of an error, without the number that some begin with."""
    reason = getattr(error, "reason", None) or error
    return (reason.strerror if isinstance(reason, OSError) else None) or str(reason)


class RefusedRequestError(TransferError):
    """An answer that is no success, with its headers."""

    def __init__(self, where: str, error: urllib.error.HTTPError) -> None:
        super().__init__(f"{where} answered {error.code} {error.reason}", error.code)
        self.headers = error.headers


def describe_url(url: str) -> str:
    """Write an address without what may be secret in it: names, passwords and queries."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to other HTTP servers, never from HTTPS back to HTTP; secrets go along only to the same server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme != "https" and after.scheme != before.scheme:
            raise TransferError(f"{describe_url(req.full_url)} leads to {describe_url(newurl)}, which is not secure")
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and (before.scheme, before.netloc) == (after.scheme, after.netloc):
            for name, value in req.unredirected_hdrs.items():
                following.add_unredirected_header(name, value)
        return following


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was judged."""

    networks: tuple[str, ...] = ()

    def connect(self) -> None:
        self.sock = connect(self.host, self.port, self.timeout, self.networks)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """The same with TLS: HTTPSConnection lets the next class connect, and then checks the certificate for the name."""


def _prepare(
    kind: type[_Connection], networks: tuple[str, ...], host: str, /, **options: Any
) -> http.client.HTTPConnection:
    connection = kind(host, **options)
    connection.networks = networks
    return connection


class _Handler(urllib.request.HTTPHandler):
    """Opens HTTP addresses, by a proxy if the environment of the server names one."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        super().__init__()
        self._networks = networks

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        if req.has_proxy():
            parts = urlsplit(req.full_url)
            check_host(parts.hostname or "", parts.port or 80, self._networks)
            return self.do_open(http.client.HTTPConnection, req)
        return self.do_open(partial(_prepare, _Connection, self._networks), req)


class _SecureHandler(urllib.request.HTTPSHandler):
    """Opens HTTPS addresses, by a proxy if the environment of the server names one."""

    def __init__(self, networks: tuple[str, ...], context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._networks = networks
        self._trust = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        if getattr(req, "_tunnel_host", None):
            parts = urlsplit(req.full_url)
            check_host(parts.hostname or "", parts.port or 443, self._networks)
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
