"""
Request handling: authenticate, route, authorize, and call the handler.

Reads return a response immediately, except large lists. Writes and large lists return an awaitable. Writes are
recorded in the audit log.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Final, Protocol

from virtshape.api.cdi import UploadTokenRequest
from virtshape.api.codec import encode
from virtshape.api.kinds import is_custom_resource
from virtshape.api.status import StatusError
from virtshape.api.tokenrequest import TokenRequest
from virtshape.apiserver.audit import CLIENT_LEFT, AuditLog, Caller, build_audit_entry
from virtshape.apiserver.auth.authentication import Credential, User, read_certificate
from virtshape.apiserver.auth.authorization import Attributes, Decision
from virtshape.apiserver.auth.impersonation import impersonate
from virtshape.apiserver.auth.reviews import AuthContext, answer_review, read_review
from virtshape.apiserver.creating import create_object
from virtshape.apiserver.deleting import delete_collection, delete_object
from virtshape.apiserver.discovery.publishing import Publisher
from virtshape.apiserver.encoding.negotiation import choose_format
from virtshape.apiserver.encoding.protobuf import CONTENT_TYPE as PROTOBUF
from virtshape.apiserver.encoding.protobuf import translate
from virtshape.apiserver.limits import (
    LISTS_AT_ONCE,
    MAX_READS,
    MAX_WRITES,
    Slots,
    read_timeout,
    timeout_error,
    validate_nesting,
)
from virtshape.apiserver.message import (
    IMPERSONATION_PREFIX,
    JSON,
    LINE,
    AnyResponse,
    IsPermitted,
    Request,
    Response,
    Stream,
    Upgrade,
)
from virtshape.apiserver.patching import patch_object
from virtshape.apiserver.reading import get_object, list_objects, not_found
from virtshape.apiserver.requestcounters import RequestCounters
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.responses import add_warning, build_error_response, build_not_found_response, build_response
from virtshape.apiserver.route import Route, find_route
from virtshape.apiserver.routeerrors import (
    is_builtin_path,
    require_produced,
    unknown_path_error,
    unsupported_method_error,
)
from virtshape.apiserver.selectors.fieldselector import NAME, parse_field_selector
from virtshape.apiserver.sessionstreams import StreamPermission, bind_to_session
from virtshape.apiserver.source import ObjectSource
from virtshape.apiserver.subresources.dispatch import Actions
from virtshape.apiserver.subresources.guestconnections import STREAMS
from virtshape.apiserver.subresources.info import find_info_response
from virtshape.apiserver.subresources.route import PREFIX as ACTION_PREFIX
from virtshape.apiserver.subresources.route import ActionRoute, find_action
from virtshape.apiserver.supportedverbs import find_deprecation, is_create_only, list_verbs
from virtshape.apiserver.updating import update_object
from virtshape.apiserver.uploads.receiving import Uploads
from virtshape.apiserver.uploads.route import find_upload
from virtshape.apiserver.watching import watch_objects
from virtshape.apiserver.writing import WriteContext
from virtshape.store.errors import StoreError
from virtshape.stream.handshake import find_bearer, split_list

Writer = Callable[[WriteContext, Request, Route, User], Awaitable[Response]]
Make = Callable[[], Awaitable[Response]]
IssueToken = Callable[[TokenRequest, str, str], TokenRequest]
"""Answers a TokenRequest for the service account with this namespace and name."""

_WRITERS: Final[dict[str, Writer]] = {
    "create": create_object,
    "update": update_object,
    "patch": patch_object,
    "delete": delete_object,
    "deletecollection": delete_collection,
}
_AUTHENTICATION: Final = "authentication.k8s.io/v1"
_LEASES: Final = "coordination.k8s.io"
_log = logging.getLogger(__name__)
_OF_CONSOLE: Final = ("", "console")
_OPEN_TO_ALL: Final = frozenset({"healthz", "livez", "readyz", "version"})


class BrowserAccess(Protocol):
    """The methods of the web console that the API server calls."""

    def answer(self, request: Request) -> Response | Awaitable[Response] | None:
        """Return the response to a request for the console; None if the path belongs to the API."""

    def find_credential(self, request: Request) -> Credential | None:
        """Return the credential of the session, or None; raise StatusError 403 if the request fails the CSRF checks."""


class Server:
    """Handles requests to the API; requests for the web console are passed to the console."""

    def __init__(
        self,
        context: WriteContext,
        auth: AuthContext,
        *,
        publisher: Publisher,
        definitions: ObjectSource,
        actions: Actions,
        issue_token: IssueToken,
        uploads: Uploads,
        audit: AuditLog,
        console: BrowserAccess | None = None,
    ) -> None:
        self._context = context
        self._actions = actions
        self._auth = auth
        self._authorizer = auth.authorizer
        self._publisher = publisher
        self._definitions = definitions
        self._issue_token = issue_token
        self._uploads = uploads
        self._audit = audit
        self._console = console
        self._writes = Slots(MAX_WRITES)
        self._reads = Slots(MAX_READS)
        self._list_threads = ThreadPoolExecutor(LISTS_AT_ONCE, thread_name_prefix="list")
        self.requests = RequestCounters()

    def set_address(self, address: str) -> None:
        """Set the address that discovery documents show to clients."""
        self._publisher.set_address(address)

    def handle(self, request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        """Return the response to a request, or an awaitable that returns it."""
        began = time.perf_counter()
        try:
            segment = request.path[1:].partition("/")[0]
            if segment in _OF_CONSOLE and self._console is not None:
                page = self._console.answer(request)
                if page is not None:
                    return page
            if segment in _OPEN_TO_ALL:
                reveal = partial(self._may_see_reasons, request)
                return self._publisher.answer(request, reveal=reveal) or build_not_found_response()
            if find_upload(request.path) is not None:
                return self._uploads.answer(request)
            caller = self._identify(request)
        except StatusError as error:
            refusal = build_error_response(error, request.headers.get("accept", ""))
            return self.requests.observe(request, None, refusal, began)
        answer = self.handle_as(request, caller)
        may_stream = isinstance(answer, Stream | Upgrade) or request.wants_websocket
        return bind_to_session(answer, self._make_permission(request)) if may_stream else answer

    def _make_permission(self, request: Request) -> IsPermitted:
        check = partial(self._is_permitted, request, _find_needs(request))
        # The session of a browser can end without a change of roles or accounts, so it is checked before each event.
        return check if "cookie" in request.headers else StreamPermission(check, self._count_changes)

    def _count_changes(self) -> tuple[int, int]:
        """Return two numbers that change whenever a client may lose its identity or its permissions."""
        return self._auth.authenticator.changes, self._authorizer.changes

    def _is_permitted(self, request: Request, needs: Attributes | None) -> bool:
        """Return True if a request's credentials are still valid, and its sender still has the permission it needs."""
        try:
            caller = self._identify(request)
        except StatusError:
            return False
        return needs is None or self._authorizer.authorize(caller.user, needs).allowed

    def authenticate(self, request: Request) -> None:
        """Raise StatusError if a request's headers do not authenticate its sender."""
        self._identify(request)

    def _may_see_reasons(self, request: Request) -> bool:
        """Return True if the client may see why health checks fail, that is, may access paths below the endpoint."""
        endpoint = request.path[1:].partition("/")[0]
        try:
            caller = self._identify(request)
            self._authorizer.require(caller.user, Attributes(verb="get", path=f"/{endpoint}/reasons"))
        except StatusError:
            return False
        return True

    def handle_as(self, request: Request, caller: Caller) -> AnyResponse | Awaitable[AnyResponse]:
        """Handle a request from an authenticated caller."""
        began = time.perf_counter()
        action = find_action(request) if request.path.startswith(ACTION_PREFIX) else None
        route = action.audited if action is not None else find_route(request)
        try:
            answer = self._dispatch(request, action or route, caller)
        except StatusError as error:
            answer = build_error_response(error, request.headers.get("accept", ""))
        except StoreError as error:
            answer = _store_failure_response(request, error)
        is_stream = action is not None and action.action in STREAMS
        return self.requests.observe(request, route, answer, began, is_stream=is_stream)

    @property
    def writes_in_progress(self) -> int:
        """Number of writes that have no response yet."""
        return self._writes.taken

    def _dispatch(
        self, request: Request, route: Route | ActionRoute | None, caller: Caller
    ) -> AnyResponse | Awaitable[AnyResponse]:
        if isinstance(route, Route):
            answer = self._answer(request, route, caller)
            deprecation = find_deprecation(route.kind)
            return answer if deprecation is None else _warn(answer, deprecation)
        if request.path.startswith(ACTION_PREFIX):
            return self._act(request, route, caller)
        self._authorizer.require(caller.user, Attributes(verb=request.method.lower(), path=request.path))
        return self._publisher.answer(request) or _unknown_path_response(request)

    def _act(self, request: Request, route: ActionRoute | None, caller: Caller) -> AnyResponse | Awaitable[AnyResponse]:
        """Handle an action on a VM or VMI, or return a document of the subresource API."""
        if route is None:
            self._authorizer.require(caller.user, Attributes(verb=request.method.lower(), path=request.path))
            known = find_info_response(request) or self._publisher.answer(request)
            return known or build_error_response(unknown_path_error(), request.headers.get("accept", ""))
        if route.verb is None:
            raise _not_supported(route.audited)
        self._authorizer.require(caller.user, _attributes(request, route.audited))
        if route.action in STREAMS:
            return self._open(request, route, caller)
        if route.verb == "get" or not route.action:
            return self._query(request, route, caller)
        return self._write(request, route.audited, caller, lambda: self._actions.write(request, route))

    async def _open(self, request: Request, route: ActionRoute, caller: Caller) -> AnyResponse:
        """Open a stream and record it in the audit log."""
        began = time.time()
        answer: Response | Upgrade
        try:
            answer = await self._actions.open(request, route)
        except StatusError as error:
            answer = build_error_response(error, request.headers.get("accept", ""))
        audited = answer if isinstance(answer, Response) else answer.status
        self._audit.record(build_audit_entry(request, route.audited, caller, audited, began))
        return answer

    async def _query(self, request: Request, route: ActionRoute, caller: Caller) -> AnyResponse:
        async def authorize(wanted: Attributes) -> Decision:
            return self._authorizer.authorize(caller.user, wanted)

        try:
            return await self._actions.answer(request, route, authorize)
        except StatusError as error:
            return build_error_response(error, request.headers.get("accept", ""))
        except StoreError as error:
            return _store_failure_response(request, error)

    def _answer(self, request: Request, route: Route, caller: Caller) -> AnyResponse | Awaitable[AnyResponse]:
        if route.verb is None:
            raise _not_allowed(route)
        if route.verb in _WRITERS and not is_create_only(route.kind):
            return self._write(request, route, caller, lambda: self._change(request, route, caller.user))
        self._authorizer.require(caller.user, _attributes(request, route))
        return self._read(request, route, caller.user)

    def _identify(self, request: Request) -> Caller:
        headers = request.headers
        shown = headers.get("authorization") or _find_offered_token(request)
        credential = None if shown or self._console is None else self._console.find_credential(request)
        if credential is None:
            credential = Credential(shown, read_certificate(request.certificate))
            if credential.certificate is not None and request.is_cross_origin:
                # A browser also sends its certificate with requests that pages of other sites make.
                raise StatusError(403, "Forbidden", "forbidden: requests from other sites are not allowed")
        user = self._auth.authenticator.authenticate(*credential)
        impersonation = {
            name: text.split(LINE) for name, text in headers.items() if name.startswith(IMPERSONATION_PREFIX)
        }
        if not impersonation:
            return Caller(user)
        return Caller(impersonate(user, impersonation, self._authorizer), user.name)

    def _read(self, request: Request, route: Route, user: User) -> AnyResponse | Awaitable[AnyResponse]:
        _require_served(request, route)
        if is_create_only(route.kind):
            return self._review(request, route, user)
        source = self._definitions if route.kind.kind == "CustomResourceDefinition" else self._context.store
        match route.verb:
            case "get":
                return get_object(source, request, route)
            case "list":
                listed = list_objects(source, request, route)
                return listed if isinstance(listed, Response) else self._list(request, listed)
            case _:
                return watch_objects(source, request, route)

    async def _list(self, request: Request, build: Callable[[], Response]) -> Response:
        """Build the response with a large list in a thread, so that other requests do not wait for it."""
        try:
            with self._reads:
                return await asyncio.get_running_loop().run_in_executor(self._list_threads, build)
        except StatusError as error:
            return build_error_response(error, request.headers.get("accept", ""))
        except StoreError as error:
            return _store_failure_response(request, error)

    async def _write(self, request: Request, route: Route, caller: Caller, make: Make) -> Response:
        began = time.time()
        try:
            answer = await self._answer_write(request, route, make)
        except BaseException as error:
            code = CLIENT_LEFT if isinstance(error, asyncio.CancelledError) else 500
            self._audit.record(build_audit_entry(request, route, caller, code, began))
            raise
        self._audit.record(build_audit_entry(request, route, caller, answer, began))
        return answer

    async def _answer_write(self, request: Request, route: Route, make: Make) -> Response:
        try:
            with nullcontext() if route.kind.group == _LEASES else self._writes:
                async with asyncio.timeout(read_timeout(request.parameter("timeout"))):
                    return await make()
        except TimeoutError:
            return build_error_response(timeout_error())
        except StoreError as error:
            return _store_failure_response(request, error)
        except StatusError as error:
            return build_error_response(error, request.headers.get("accept", ""))

    async def _change(self, request: Request, route: Route, user: User) -> Response:
        self._authorizer.require(user, _attributes(request, route))
        _require_served(request, route)
        _accept_protobuf(request, route)
        validate_nesting(request.body)
        if route.subresource == "token":
            return self._answer_token_request(request, route)
        return await _WRITERS[str(route.verb)](self._context, request, route, user)

    def _answer_token_request(self, request: Request, route: Route) -> Response:
        response_format = choose_format(request.headers.get("accept", ""))
        wanted, warnings = read_review(request.body, TokenRequest, _AUTHENTICATION)
        answered = self._issue_token(wanted, route.namespace, route.name)
        return build_response(request, response_format, encode(answered), 201, warnings)

    def _review(self, request: Request, route: Route, user: User) -> Response:
        response_format = choose_format(request.headers.get("accept", ""))
        _accept_protobuf(request, route)
        validate_nesting(request.body)
        review, warnings = read_review(request.body, route.kind.struct, route.kind.api_version)
        if isinstance(review, UploadTokenRequest):
            granted = self._uploads.answer_token_request(review, route.namespace, user)
            return build_response(request, response_format, encode(granted), 201, warnings)
        answered = answer_review(review, user, self._auth, route.namespace)  # type: ignore[arg-type]  # a review
        return build_response(request, response_format, encode(answered), 201, warnings)


def _store_failure_response(request: Request, error: StoreError) -> Response:
    """Log that the store failed, and return a response with the cause."""
    _log.error("%s %s failed: %s", request.method, request.path, error)
    message = f"Internal error occurred: {error} (request {request.audit_id})"
    return build_error_response(StatusError(500, "InternalError", message))


def _warn(answer: AnyResponse | Awaitable[AnyResponse], warning: str) -> AnyResponse | Awaitable[AnyResponse]:
    if isinstance(answer, Awaitable):
        return _warn_when_done(answer, warning)
    add_warning(answer, warning)
    return answer


async def _warn_when_done(answer: Awaitable[AnyResponse], warning: str) -> AnyResponse:
    awaited = await answer
    add_warning(awaited, warning)
    return awaited


def _find_offered_token(request: Request) -> str | None:
    """
    Return the bearer token in the WebSocket subprotocols as the value of an Authorization header, or None.

    Browsers cannot set other headers of a WebSocket request.
    """
    offers = request.headers.get("sec-websocket-protocol")
    token = find_bearer(split_list(offers)) if offers and request.wants_websocket else None
    return f"Bearer {token}" if token else None


def _accept_protobuf(request: Request, route: Route) -> None:
    """Convert a protobuf body to JSON, except for custom resources, which accept protobuf only in delete options."""
    if request.headers.get("content-type") == PROTOBUF and (
        route.verb in ("delete", "deletecollection") or not is_custom_resource(route.kind)
    ):
        request.headers = {**request.headers, "content-type": JSON}
        request.body = translate(request.body)


def _unknown_path_response(request: Request) -> Response:
    if not is_builtin_path(request.path):
        return build_not_found_response()
    return build_error_response(unknown_path_error(), request.headers.get("accept", ""))


def _require_served(request: Request, route: Route) -> None:
    resource = resource_of(route.kind)
    if not resource.custom:
        require_produced(request.headers.get("accept", ""))
    if not route.subresource:
        if route.verb not in list_verbs(route.kind):
            raise _not_allowed(route)
    elif route.subresource not in resource.subresources:
        raise not_found(resource, route.name) if resource.custom else unknown_path_error()
    elif route.verb not in resource.subresources[route.subresource]:
        raise _not_allowed(route)


def _find_needs(request: Request) -> Attributes | None:
    """Return the permission that a request needs, or None if its path is not that of a resource."""
    if request.path.startswith(ACTION_PREFIX):
        action = find_action(request)
        route = action.audited if action is not None else None
    else:
        route = find_route(request)
    return _attributes(request, route) if route is not None else None


def _attributes(request: Request, route: Route) -> Attributes:
    name, namespace = route.name, route.namespace
    if route.verb in ("list", "watch"):
        name = _find_selected_name(request, route)
    elif route.kind.kind == "Namespace":
        namespace = name  # a Role in a namespace can grant access to the namespace itself
    return Attributes(
        verb=str(route.verb),
        group=route.kind.group,
        resource=route.kind.plural,
        subresource=route.subresource,
        namespace=namespace,
        name=name,
    )


def _find_selected_name(request: Request, route: Route) -> str:
    """Return the name in the field selector of a list or watch, or an empty string if it selects no single name."""
    text = request.parameter("fieldSelector")
    if NAME not in text:
        return ""
    try:
        terms = parse_field_selector(text, route.kind)
    except StatusError:  # an invalid selector is reported after authorization
        return ""
    return next((term.value for term in terms if term.field == NAME and term.equal), "")


def _not_allowed(route: Route) -> StatusError:
    return _not_supported(route) if is_custom_resource(route.kind) else unsupported_method_error()


def _not_supported(route: Route) -> StatusError:
    message = f'{route.verb or ""} is not supported on resources of kind "{route.resource}"'
    return StatusError(405, "MethodNotAllowed", message).about(route.kind.group, route.kind.plural)
