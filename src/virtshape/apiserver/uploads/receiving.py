"""
Handle uploads: check the token and the claim, and pass the bytes to the upload sink.

The controllers fill the claim from the uploaded data.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from msgspec.structs import replace

from virtshape.api.cdi import UploadTokenRequest, UploadTokenRequestStatus
from virtshape.api.kinds import find_resource
from virtshape.api.status import StatusError
from virtshape.api.times import format_timestamp
from virtshape.apiserver.audit import CLIENT_LEFT, AuditLog, Caller, build_audit_entry
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.tokens import TokenError
from virtshape.apiserver.message import PLAIN_TEXT, Request, Response
from virtshape.apiserver.responses import NO_CACHE
from virtshape.apiserver.route import Route
from virtshape.apiserver.uploads.multipart import FormError, read_file
from virtshape.apiserver.uploads.route import UploadRoute, find_upload
from virtshape.apiserver.uploads.sink import IncomingUpload, UploadSink, UploadSinkError
from virtshape.apiserver.uploads.targets import CLAIMS, Target, get_target
from virtshape.apiserver.uploads.tokens import SECONDS, Grant, UploadTokens
from virtshape.store.store import Store

READY_SECONDS: Final = 10.0
"""How long an upload waits for its claim to become ready, in seconds."""
STALL_SECONDS: Final = 300.0
"""Maximum time between two chunks of an upload, in seconds."""
RECHECK_SECONDS: Final = 0.2
_BEARER: Final = re.compile(r"Bearer\s+([A-Za-z0-9\-._~+/]+=*)", re.IGNORECASE)


class Uploads:
    """Issues upload tokens and receives uploads; if `sink` is None, all requests are rejected with 501."""

    def __init__(self, store: Store, sink: UploadSink | None, audit: AuditLog) -> None:
        self._store = store
        self._sink = sink
        self._audit = audit
        self._tokens = UploadTokens()

    @property
    def has_storage(self) -> bool:
        """True if there is storage for uploads."""
        return self._sink is not None

    def answer_token_request(self, request: UploadTokenRequest, namespace: str, user: User) -> UploadTokenRequest:
        """Return the token request with a token in its status; raise StatusError if the claim accepts no upload."""
        self._require_sink()
        target, now = get_target(self._store, namespace, request.spec.pvc_name), time.time()
        grant = Grant(
            namespace=namespace,
            name=request.spec.pvc_name,
            uid=target.uid,
            user=user.name,
            groups=user.groups,
            expires=now + SECONDS,
        )
        metadata = replace(request.metadata, namespace=namespace, creation_timestamp=format_timestamp(int(now)))
        return replace(request, metadata=metadata, status=UploadTokenRequestStatus(token=self._tokens.issue(grant)))

    async def answer(self, request: Request) -> Response:
        """Handle an upload, or a HEAD request that asks whether an upload would be accepted."""
        began = time.time()
        try:
            route, grant = self._read(request)
        except StatusError as error:
            return _answer(error.code, error.message)
        code = CLIENT_LEFT
        try:
            await self._take(request, route, grant)
            code, message = 200, ""
        except StatusError as error:
            code, message = error.code, error.message
        finally:
            if request.method == "POST":
                caller = Caller(User(grant.user, grant.groups))
                self._audit.record(build_audit_entry(request, _audited(grant), caller, code, began))
        return _answer(code, message)

    def _read(self, request: Request) -> tuple[UploadRoute, Grant]:
        route = find_upload(request.path)
        if route is None or request.method not in ("HEAD", "POST"):
            raise StatusError(405, "MethodNotAllowed", "uploads must use POST")
        shown = _BEARER.fullmatch(request.headers.get("authorization", "").strip())
        if shown is None:
            message = "missing header Authorization: Bearer TOKEN, with a token from an UploadTokenRequest"
            raise StatusError(400, "BadRequest", message)
        try:
            return route, self._tokens.read(shown[1], time.time())
        except TokenError as error:
            raise StatusError(401, "Unauthorized", str(error)) from None

    async def _take(self, request: Request, route: UploadRoute, grant: Grant) -> None:
        sink = self._require_sink()
        target = await self._await_ready(grant)
        if request.incoming is None:
            return
        length = request.headers.get("content-length", "")
        upload = IncomingUpload(
            key=target.key,
            content=target.content,
            size=target.size,
            length=int(length) if length.isascii() and length.isdigit() and len(length) < 20 else None,
        )
        pieces = list_pieces(request.incoming.read, route, request.headers.get("content-type", ""))
        try:
            async with aclosing(pieces), sink.receive(upload, lambda: self._is_wanted(grant)) as writer:
                async for piece in pieces:
                    await writer.write(piece)
        except FormError as error:
            raise StatusError(400, "BadRequest", str(error)) from None
        except UploadSinkError as error:
            code = 503 if error.is_temporary else 400
            raise StatusError(code, "", f"Saving stream failed: {error}") from None
        if route.waits:
            await self._await_filled(grant, target.failures)

    async def _await_ready(self, grant: Grant) -> Target:
        deadline = asyncio.get_running_loop().time() + READY_SECONDS
        while True:
            target = self._get_target(grant)
            if target.is_filled:
                raise StatusError(409, "Conflict", f"PVC {grant.name} already finished uploading")
            if target.is_ready and target.key:
                return target
            if asyncio.get_running_loop().time() >= deadline:
                raise StatusError(503, "ServiceUnavailable", f"PVC {grant.name} is not ready for an upload")
            await asyncio.sleep(RECHECK_SECONDS)

    async def _await_filled(self, grant: Grant, failures: int) -> None:
        """Wait until the claim is filled; raise StatusError if the data could not be used."""
        while not (target := self._get_target(grant)).is_filled:
            if target.failures > failures:
                raise StatusError(500, "InternalError", f"Saving stream failed: {target.message}")
            await asyncio.sleep(RECHECK_SECONDS)

    def _get_target(self, grant: Grant) -> Target:
        target = get_target(self._store, grant.namespace, grant.name)
        # The token may have been issued for a DataVolume whose claim was created later.
        if grant.uid not in (target.uid, target.key):
            raise StatusError(401, "Unauthorized", f"the token is for an earlier PVC {grant.name}, which was deleted")
        return target

    def _is_wanted(self, grant: Grant) -> bool:
        try:
            return not self._get_target(grant).is_filled
        except StatusError:
            return False

    def _require_sink(self) -> UploadSink:
        if self._sink is None:
            message = "uploads need a launcher: start `virtshape up` with --launcher qemu and with controllers"
            raise StatusError(501, "NotImplemented", message)
        return self._sink


async def list_pieces(
    read: Callable[[], Awaitable[bytes]], route: UploadRoute, content_type: str
) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of the file in a request body; raise StatusError 408 after STALL_SECONDS without data."""

    async def read_in_time() -> bytes:
        try:
            async with asyncio.timeout(STALL_SECONDS):
                return await read()
        except TimeoutError:
            raise StatusError(408, "Timeout", f"no data received for {STALL_SECONDS:g} seconds") from None

    if route.is_form:
        async for piece in read_file(read_in_time, content_type):
            yield piece
    else:
        while piece := await read_in_time():
            yield piece


def _audited(grant: Grant) -> Route:
    kind = find_resource("", "v1", CLAIMS)
    assert kind is not None  # noqa: S101 - the table of kinds has it
    return Route("create", kind, grant.namespace, grant.name, "upload")


def _answer(code: int, message: str) -> Response:
    return Response(code, f"{message}\n".encode() if message else b"", PLAIN_TEXT, NO_CACHE)
