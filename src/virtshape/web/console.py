"""
The web console: answer requests below `/console` and authenticate requests by session cookie.

Every response has headers that confine the page to this server's own files and API.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from virtshape.api.status import StatusError
from virtshape.apiserver.audit import AuditEntry
from virtshape.apiserver.auth.authentication import Credential, read_certificate
from virtshape.apiserver.message import PLAIN_TEXT, Request, Response
from virtshape.apiserver.responses import build_error_response
from virtshape.web.cookies import clear_cookie
from virtshape.web.files import ConsoleFiles
from virtshape.web.securityheaders import SECURITY_HEADERS
from virtshape.web.sessions import SealedCredentials, open_codes
from virtshape.web.signin import Identify, SignIn

PATH: Final = "/console/"
CODES_PATH: Final = f"{PATH}codes"


class Console:
    """The web console of one server."""

    def __init__(
        self,
        identify: Identify,
        record: Callable[[AuditEntry], None],
        sessions: SealedCredentials,
        *,
        uploads: bool,
        files: ConsoleFiles | None = None,
    ) -> None:
        self._files = files or ConsoleFiles()
        self._sign_in = SignIn(identify, sessions, open_codes(), record, uploads)

    def answer(self, request: Request) -> Response | Awaitable[Response] | None:
        """Return the response to a request for the console; None if the path belongs to the API."""
        if request.path == "/":
            wants_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
            return _redirect() if wants_page else None
        if request.path == "/console":
            return _redirect()
        if not request.path.startswith(PATH):
            return None
        match request.path.removeprefix(PATH), request.method:
            case "session", "GET" | "HEAD":
                return self._finish(request, self._sign_in.show(request))
            case "session", "POST":
                return self._finish(request, self._sign_in.create(request))
            case "session", "DELETE":
                return self._finish(request, self._sign_in.end(request))
            case "session", _:
                return _refuse_method("GET, HEAD, POST, DELETE")
            case "codes", "POST" if not request.is_cross_origin:
                credential = Credential(request.headers.get("authorization"), read_certificate(request.certificate))
                return self._finish(request, self._sign_in.create_code(request, credential))
            case "codes", "POST":
                return _secure(Response(403, b"requests from other sites are not allowed\n", PLAIN_TEXT))
            case "codes", _:
                return _refuse_method("POST")
            case name, "GET" | "HEAD":
                found = self._files.answer(request, name)
                return _secure(found or Response(404, b"404 page not found\n", PLAIN_TEXT))
            case _:
                return _refuse_method("GET, HEAD")

    def find_credential(self, request: Request) -> Credential | None:
        """Return the credential of the session, or None; raise StatusError 403 if the request fails the CSRF checks."""
        return self._sign_in.find_credential(request)

    async def write_link(self, url: str, credential: Credential) -> str:
        """Return a link that signs in to the console of the server at this URL; the link works only once."""
        return format_link(url, (await self._sign_in.issue_code(credential)).code)

    async def _finish(self, request: Request, answer: Awaitable[Response]) -> Response:
        try:
            return _secure(await answer)
        except StatusError as error:
            response = build_error_response(error)
            if error.code == 401 and "cookie" in request.headers:
                response.headers += (clear_cookie(request),)
            return _secure(response)


def format_url(host: str, port: int) -> str:
    """Return the server's address for clients on this machine; wildcard addresses become loopback addresses."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - not bound here
    return f"https://[{reachable}]:{port}" if ":" in reachable else f"https://{reachable}:{port}"


def format_link(url: str, code: str) -> str:
    """Return the link that signs in with a code; browsers do not send the part after `#` to servers."""
    return f"{url}{PATH}#code={code}"


def _redirect() -> Response:
    return _secure(Response(303, b"", "", (("location", PATH), ("cache-control", "no-store"), ("vary", "Accept"))))


def _refuse_method(allowed: str) -> Response:
    return _secure(Response(405, b"method not allowed\n", PLAIN_TEXT, (("allow", allowed),)))


def _secure(response: Response) -> Response:
    response.headers += SECURITY_HEADERS
    return response
