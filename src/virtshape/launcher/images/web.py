"""
Requests to web servers: HTTP and HTTPS only, with limits, and with credentials that never follow a redirect elsewhere.

Every failure becomes one TransferError in words that never show a credential.
"""

import base64
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import cache
from http.client import HTTPMessage
from typing import IO, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from virtshape.launcher.images.errors import TransferError

SILENCE_SECONDS: Final = 15.0
"""How long a server may say nothing."""
_AGENT: Final = "virtshape"


class Access(NamedTuple):
    """How to be let in: headers to send, a name and password, and the PEM of authorities to trust over the system's."""

    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    password: str = ""
    authorities: str = ""

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
    asking = urllib.request.Request(url, method=method, headers={"User-Agent": _AGENT, **(headers or {})})  # noqa: S310 - checked above
    for name, value in access.secrets.items():
        asking.add_unredirected_header(name, value)
    try:
        response = _opener(access.authorities).open(asking, timeout=SILENCE_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            raise RefusedRequestError(where, error) from error
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


@cache
def _opener(authorities: str) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context(cadata=authorities or None)
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener
