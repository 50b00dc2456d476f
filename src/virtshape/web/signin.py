"""
Sign in to the web console with a token or a one-time code, and sign out.

The responses are JSON. A session has the permissions of the credential that it was created with, and ends when the
credential expires or is revoked.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from virtshape.api.status import StatusError
from virtshape.apiserver.audit import AuditEntry, shorten
from virtshape.apiserver.auth.authentication import Credential, User, unauthorized
from virtshape.apiserver.message import JSON, Request, Response
from virtshape.web.cookies import clear_cookie, find_session_secret, write_cookie
from virtshape.web.csrf import derive_csrf_token, require_own_page, require_same_origin
from virtshape.web.sessions import Opened, SealedCredentials

MAX_FAILURES: Final = 20
FAILURE_SECONDS: Final = 60.0
MAX_PEERS: Final = 1000

_NO_STORE: Final = (("cache-control", "no-store"),)


class Identity(NamedTuple):
    """The user of a credential, and when the credential expires, in seconds since 1970."""

    user: User
    expires: float | None = None


class IssuedCode(NamedTuple):
    """A one-time code, the user that it signs in, and its expiry in seconds since 1970."""

    user: User
    code: str
    expires: float


Identify = Callable[[Credential], Awaitable[Identity]]
"""Returns the identity of a credential; raises StatusError 401 if the credential is not valid."""


class SignInRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to sign in, with either a token or a code."""

    token: str | None = None
    code: str | None = None


class SessionInfo(msgspec.Struct, rename="camel"):
    """A session, in the format that is sent to its browser."""

    username: str
    groups: tuple[str, ...]
    expires: str
    csrf_token: str
    uploads: bool
    """True if this server accepts uploads of disk images."""


class CodeInfo(msgspec.Struct):
    """A one-time code and its expiry."""

    code: str
    expires: str


class FailureLimit:
    """Limits the failed sign-in attempts from each address."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._failures: dict[str, tuple[float, int]] = {}

    def require(self, peer: str) -> None:
        """Raise StatusError 429 after too many recent failures from this address."""
        since, count = self._failures.get(peer, (0.0, 0))
        left = since + FAILURE_SECONDS - self._clock()
        if count >= MAX_FAILURES and 0 < left <= FAILURE_SECONDS:  # more is left if the clock was set back
            message = "Too many failed attempts to sign in, please try again later."
            raise StatusError(429, "TooManyRequests", message).retry_after(int(left) + 1)

    def note(self, peer: str) -> None:
        """Count a failed attempt from this address."""
        now = self._clock()
        since, count = self._failures.pop(peer, (now, 0))
        if not since <= now < since + FAILURE_SECONDS:
            since, count = now, 0
        if len(self._failures) >= MAX_PEERS:
            del self._failures[next(iter(self._failures))]
        self._failures[peer] = since, count + 1


class SignIn:
    """Answers requests for sessions and one-time codes."""

    def __init__(
        self,
        identify: Identify,
        sessions: SealedCredentials,
        codes: SealedCredentials,
        record: Callable[[AuditEntry], None],
        uploads: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._identify = identify
        self._sessions = sessions
        self._codes = codes
        self._record = record
        self._uploads = uploads
        self._clock = clock
        self._failures = FailureLimit(clock)

    def find_credential(self, request: Request) -> Credential | None:
        """Return the credential of the session, or None; raise StatusError 403 if the request fails the CSRF checks."""
        found = self._find_session(request)
        return found[1].credential if found is not None else None

    async def show(self, request: Request) -> Response:
        """Return the session of the request; raise StatusError 401 if there is none."""
        found = self._find_session(request)
        if found is None:
            raise unauthorized()
        secret, opened = found
        try:
            identity = await self._identify(opened.credential)
        except StatusError as error:
            if error.code == 401:
                self._sessions.remove(secret)
            raise
        return self._describe(secret, opened.expires, identity.user)

    async def create(self, request: Request) -> Response:
        """Start a session and set its cookie; an earlier session of the same browser ends."""
        began = self._clock()
        require_same_origin(request)
        self._failures.require(request.peer)
        try:
            credential = self._read_credential(request)
            identity = await self._identify(credential)
        except StatusError as error:
            if error.code == 401:
                self._failures.note(request.peer)
                self._note(request, "create", "consolesessions", User(""), error, began)
            raise
        earlier = find_session_secret(request)
        if earlier:
            self._sessions.remove(earlier)
        session = self._sessions.add(credential, identity.user.name, identity.expires)
        self._note(request, "create", "consolesessions", identity.user, 200, began)
        cookie = write_cookie(request, session.secret, session.expires - self._clock())
        return self._describe(session.secret, session.expires, identity.user, cookie)

    async def end(self, request: Request) -> Response:
        """End the session of the request and remove its cookie; raise StatusError 401 if there is no session."""
        began = self._clock()
        found = self._find_session(request)
        if found is None:
            raise unauthorized()
        secret, opened = found
        try:
            user = (await self._identify(opened.credential)).user
        except StatusError:
            user = User("")  # end the session even if its credential is no longer valid
        self._sessions.remove(secret)
        self._note(request, "delete", "consolesessions", user, 200, began)
        return Response(200, b'{"status":"Success"}', JSON, (*_NO_STORE, clear_cookie(request)))

    async def create_code(self, request: Request, credential: Credential) -> Response:
        """Return a response with a one-time code for a credential; raise StatusError 401 for an invalid credential."""
        began = self._clock()
        issued = await self.issue_code(credential)
        self._note(request, "create", "consolecodes", issued.user, 201, began)
        return Response(201, msgspec.json.encode(CodeInfo(issued.code, _format(issued.expires))), JSON, _NO_STORE)

    async def issue_code(self, credential: Credential) -> IssuedCode:
        """Return a one-time code for a credential; raise StatusError 401 if the credential is not valid."""
        identity = await self._identify(credential)
        code = self._codes.add(credential, identity.user.name, identity.expires)
        return IssuedCode(identity.user, code.secret, code.expires)

    def _find_session(self, request: Request) -> tuple[str, Opened] | None:
        secret = find_session_secret(request)
        opened = self._sessions.find(secret) if secret else None
        if not secret or opened is None:
            return None
        require_own_page(request, secret)
        return secret, opened

    def _read_credential(self, request: Request) -> Credential:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise StatusError(415, "UnsupportedMediaType", f"the body must be {JSON}")
        try:
            wanted = msgspec.json.decode(request.body, type=SignInRequest)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # The error is not reported, because it could contain a part of the token.
            wanted = SignInRequest()
        if wanted.token and wanted.code is None:
            return Credential(f"Bearer {wanted.token}")
        if wanted.code and wanted.token is None:
            opened = self._codes.take(wanted.code)
            if opened is None:
                raise unauthorized()
            return opened.credential
        raise StatusError(400, "BadRequest", 'the body must be {"token": "..."} or {"code": "..."}')

    def _note(
        self, request: Request, verb: str, resource: str, user: User, result: StatusError | int, began: float
    ) -> None:
        code, reason = (result, "") if isinstance(result, int) else (result.code, result.reason)
        self._record(
            AuditEntry(
                time=datetime.fromtimestamp(began, UTC),
                audit_id=request.audit_id,
                user=user.name,
                groups=user.groups,
                verb=verb,
                resource=resource,
                code=code,
                reason=reason,
                latency_ms=round((self._clock() - began) * 1000, 3),
                source_ip=request.peer,
                user_agent=shorten(request.headers.get("user-agent", "")),
            )
        )

    def _describe(self, secret: str, expires: float, user: User, *headers: tuple[str, str]) -> Response:
        info = SessionInfo(user.name, user.groups, _format(expires), derive_csrf_token(secret), self._uploads)
        return Response(200, msgspec.json.encode(info), JSON, (*_NO_STORE, *headers))


def _format(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
