"""
CSRF protection: only pages of this server may use the session of a browser.

A browser also adds cookies to requests that pages of other sites make. Two checks reject such requests: the origin must
be this server, and writes must contain the session's CSRF token, which other sites cannot read.
"""

from hashlib import sha256
from hmac import compare_digest
from typing import Final

from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request

CSRF_HEADER: Final = "x-csrf-token"
_SAFE_METHODS: Final = ("GET", "HEAD")


def require_own_page(request: Request, secret: str) -> None:
    """Raise StatusError 403 unless a page of this server sent the request; `secret` is the session's secret."""
    require_same_origin(request)
    if request.method not in _SAFE_METHODS and not is_csrf_token(secret, request.headers.get(CSRF_HEADER, "")):
        raise _forbidden(f"the header {CSRF_HEADER} is missing or does not belong to the session")


def require_same_origin(request: Request) -> None:
    """
    Raise StatusError 403 unless the headers that the browser sets show that the origin is this server.

    Browsers set Sec-Fetch-Site on all requests but WebSockets, and Origin on WebSockets and writes. Requests
    from the address bar or a bookmark (`none`) may only read.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is None and (site is None or request.wants_websocket):
        raise _forbidden("the request does not state its origin")
    if origin is not None and origin.lower() != f"https://{request.headers.get('host', '').lower()}":
        raise _forbidden(f"requests from {origin[:200]} are not allowed")
    if request.is_cross_origin or (site == "none" and request.method not in _SAFE_METHODS):
        raise _forbidden("requests from other sites are not allowed")


def _forbidden(reason: str) -> StatusError:
    return StatusError(403, "Forbidden", f"forbidden: {reason}")


def derive_csrf_token(secret: str) -> str:
    """Return the CSRF token of a session."""
    return sha256(f"csrf:{secret}".encode()).hexdigest()


def is_csrf_token(secret: str, token: str) -> bool:
    """Return True if a token belongs to a session."""
    return compare_digest(derive_csrf_token(secret).encode(), token.encode())
