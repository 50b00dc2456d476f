"""
The web console as a reverse proxy of a cluster's API server.

Each request from the page is sent to the API server with the token that its user signed in with. The proxy has no
permissions of its own, and forwards only requests to API paths, and only headers that the API uses.
"""

import logging
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from virtshape.api.authentication import SelfSubjectReview
from virtshape.api.codec import decode, encode
from virtshape.api.meta import ObjectMeta
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.apiserver.audit import AuditEntry
from virtshape.apiserver.auth.authentication import Credential, User, unauthorized
from virtshape.apiserver.message import AUDIT_ID, JSON, AnyResponse, Request, Response, Stream, Upgrade
from virtshape.apiserver.responses import build_error_response, build_not_found_response
from virtshape.apiserver.sessionstreams import bind_to_session
from virtshape.apiserver.websocketrelay import accept_handshake
from virtshape.client.access import Access, Credentials, Impersonation, StaticCredentials
from virtshape.client.errors import UnreachableError, parse_status_error
from virtshape.client.http import HttpTransport
from virtshape.client.transport import Call, Reply
from virtshape.stream.websocket import WebSocket
from virtshape.web.console import Console
from virtshape.web.sessions import open_sessions
from virtshape.web.signin import Identity

_PATHS: Final = frozenset({"api", "apis", "openapi", "version"})
_REQUEST_HEADERS: Final = ("accept", "content-type", "if-none-match")
_RESPONSE_HEADERS: Final = ("cache-control", "etag", "retry-after", "warning")
_REVIEWS: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_SAFE: Final = "/:@!$&'()*+,;=~"
_log = logging.getLogger(__name__)


class ConsoleProxy:
    """Answers the page's requests to the console itself, and forwards API requests to the cluster's API server."""

    def __init__(self, access: Access) -> None:
        self._transport = HttpTransport(
            replace(access, credentials=StaticCredentials(Credentials()), acting_as=Impersonation())
        )
        self.console = Console(self.identify, _log_entry, open_sessions(), uploads=False)

    async def close(self) -> None:
        """Close the connections to the API server."""
        await self._transport.close()

    def handle(self, request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        """Return the response to a request, or an awaitable that returns it."""
        own = self.console.answer(request)
        if own is not None:
            return own
        if request.path[1:].partition("/")[0] not in _PATHS:
            return build_not_found_response()
        return bind_to_session(self._forward(request), partial(self._has_session, request))

    def authenticate(self, request: Request) -> None:
        """Raise StatusError unless the request has a session; called before a large body is read."""
        self._get_authorization(request)

    async def identify(self, credential: Credential) -> Identity:
        """Return the user that the API server identifies by a token; raise StatusError 401 if the token is invalid."""
        if credential.authorization is None:
            raise unauthorized()
        question = SelfSubjectReview(
            api_version="authentication.k8s.io/v1", kind="SelfSubjectReview", metadata=ObjectMeta()
        )
        headers = {"authorization": credential.authorization, "content-type": JSON, "accept": JSON}
        reply = await self._ask(Call("POST", _REVIEWS, headers, encode(question)))
        if reply.status != 201:
            raise parse_status_error(reply.body, reply.status)
        try:
            status = decode(reply.body, SelfSubjectReview).status
        except (DecodeError, msgspec.DecodeError):
            raise _unavailable("its response to a SelfSubjectReview is invalid") from None
        user = status.user_info if status is not None else None
        if user is None or not user.username:
            raise unauthorized()
        return Identity(
            User(user.username, tuple(user.groups or ()), user.uid or ""), _find_expiry(credential.authorization)
        )

    async def _forward(self, request: Request) -> AnyResponse:
        try:
            headers = {name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers}
            headers["authorization"] = self._get_authorization(request)
            headers[AUDIT_ID] = request.audit_id
            target = quote(request.path, safe=_SAFE) + (f"?{request.query_text}" if request.query_text else "")
            call = Call(request.method, target, headers, request.body)
            if request.wants_websocket:
                accepted = accept_handshake(request)
                return Upgrade(await self._open_socket(call), accepted)
            if request.method == "GET" and (request.flag("watch") or request.flag("follow")):
                return await self._stream(call)
            return _build_response(await self._ask(call))
        except StatusError as error:
            return build_error_response(error)

    def _get_authorization(self, request: Request) -> str:
        credential = self.console.find_credential(request)
        if credential is None or credential.authorization is None:
            raise unauthorized()
        return credential.authorization

    def _has_session(self, request: Request) -> bool:
        try:
            self._get_authorization(request)
        except StatusError:
            return False
        return True

    async def _ask(self, call: Call) -> Reply:
        try:
            return await self._transport.call(call)
        except UnreachableError as error:
            raise _unavailable(str(error)) from None

    async def _open_socket(self, call: Call) -> WebSocket:
        try:
            return await self._transport.open_socket(call)
        except UnreachableError as error:
            raise _unavailable(str(error)) from None

    async def _stream(self, call: Call) -> Stream:
        stack = AsyncExitStack()
        try:
            lines = await stack.enter_async_context(self._transport.stream(call))
        except UnreachableError as error:
            raise _unavailable(str(error)) from None
        return Stream(_read_lines(stack, lines))


class _Claims(msgspec.Struct):
    exp: float | None = None


def _find_expiry(authorization: str) -> float | None:
    """Return when a token expires, as a Unix timestamp; None if it is not a JSON Web Token or does not expire."""
    parts = authorization.split(".")
    if len(parts) != 3:
        return None
    try:
        return msgspec.json.decode(urlsafe_b64decode(f"{parts[1]}=="), type=_Claims).exp
    except (ValueError, msgspec.DecodeError):
        return None


def _build_response(reply: Reply) -> Response:
    headers = [
        (name, value) for name in _RESPONSE_HEADERS for value in reply.headers.get(name, "").split("\n") if value
    ]
    return Response(reply.status, reply.body, reply.headers.get("content-type", ""), tuple(headers))


async def _read_lines(stack: AsyncExitStack, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async with stack:
        try:
            async for line in lines:
                yield line + b"\n"
        except UnreachableError as error:
            _log.warning("connection to the API server lost: %s; ending the watch of the browser", error)


def _unavailable(reason: str) -> StatusError:
    _log.error("the API server of the cluster is not available: %s; responding with 503", reason)
    message = "the API server of the cluster is not available"
    return StatusError(503, "ServiceUnavailable", message).retry_after(1)


def _log_entry(entry: AuditEntry) -> None:
    _log.info("%s %s by %s from %s: %d", entry.verb, entry.resource, entry.user or "-", entry.source_ip, entry.code)
