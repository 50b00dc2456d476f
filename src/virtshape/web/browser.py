"""
Checks on requests from browsers: the session cookie, the origin and the CSRF token.

A browser also adds cookies to requests that pages of other sites make. Two checks reject such requests: the origin does
not match, and other sites cannot read the CSRF token.
"""

from typing import Final

from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request
from virtshape.web.sessions import is_csrf_token

CSRF_HEADER: Final = "x-csrf-token"
COOKIE_PREFIX: Final = "__Host-virtshape-session"
"""The prefix `__Host-` makes browsers accept the cookie only from this host, over HTTPS and for all paths."""

_SAFE_METHODS: Final = ("GET", "HEAD")
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Strict"


def find_session_secret(request: Request) -> str | None:
    """Return the value of the session cookie, or None."""
    header = request.headers.get("cookie")
    if not header:
        return None
    wanted = _name_cookie(request)
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == wanted:
            return value
    return None


def write_cookie(request: Request, secret: str, seconds: float) -> tuple[str, str]:
    """Return the header that sets the session cookie."""
    return "set-cookie", f"{_name_cookie(request)}={secret}; Max-Age={max(int(seconds), 0)}; {_ATTRIBUTES}"


def clear_cookie(request: Request) -> tuple[str, str]:
    """Return the header that removes the session cookie."""
    return write_cookie(request, "", 0)


def require_own_page(request: Request, secret: str) -> None:
    """Raise StatusError 403 unless a page of this server sent the request; `secret` is that of the session."""
    require_same_origin(request)
    if request.method not in _SAFE_METHODS and not is_csrf_token(secret, request.headers.get(CSRF_HEADER, "")):
        raise _forbidden(f"the header {CSRF_HEADER} is missing or does not belong to the session")


def require_same_origin(request: Request) -> None:
    """
    Raise StatusError 403 unless the browser says that the request comes from this server's own origin.

    Browsers set Sec-Fetch-Site on all requests but WebSockets, and Origin on WebSockets and writes. Requests
    from the address bar or a bookmark (`none`) may only read.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is None and (site is None or request.wants_websocket):
        raise _forbidden("the request does not state its origin")
    if origin is not None and origin.lower() != f"https://{request.headers.get('host', '').lower()}":
        raise _forbidden(f"requests from {origin[:200]} are not allowed")
    if request.is_of_other_site or (site == "none" and request.method not in _SAFE_METHODS):
        raise _forbidden("requests from other sites are not allowed")


def _name_cookie(request: Request) -> str:
    """Return the cookie's name, which contains the port, because browsers share cookies between ports of a host."""
    host, colon, port = request.headers.get("host", "").rpartition(":")
    return f"{COOKIE_PREFIX}-{port}" if colon and host and port.isdecimal() else COOKIE_PREFIX


def _forbidden(reason: str) -> StatusError:
    return StatusError(403, "Forbidden", f"forbidden: {reason}")
