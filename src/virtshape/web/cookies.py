"""Read and write the session cookie of the web console."""

from typing import Final

from virtshape.apiserver.message import Request

COOKIE_PREFIX: Final = "__Host-virtshape-session"
"""The prefix `__Host-` makes browsers accept the cookie only from this host, over HTTPS and for all paths."""

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


def _name_cookie(request: Request) -> str:
    """Return the cookie's name, with the port if the URL has one: browsers share cookies between ports of a host."""
    host, colon, port = request.headers.get("host", "").rpartition(":")
    return f"{COOKIE_PREFIX}-{port}" if colon and host and port.isdecimal() else COOKIE_PREFIX
