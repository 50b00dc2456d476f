"""Request handler of the aggregated subresource API: authenticates, authorizes and dispatches requests."""

import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import Attributes, forbidden_object_error
from virtshape.apiserver.discovery.publishing import Publisher
from virtshape.apiserver.message import AnyResponse, Request, Response
from virtshape.apiserver.requestcounters import RequestCounters
from virtshape.apiserver.responses import build_error_response, build_not_found_response
from virtshape.apiserver.routeerrors import unknown_path_error
from virtshape.apiserver.subresources.dispatch import Actions
from virtshape.apiserver.subresources.guestconnections import STREAMS
from virtshape.apiserver.subresources.info import find_info_response
from virtshape.apiserver.subresources.route import ActionRoute, find_action
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.cluster.aggregated.identity import FrontProxy, identify
from virtshape.cluster.delegation import DelegatedAuthorizer

GROUPS: Final = {ACTION_GROUP: list(ACTION_VERSIONS)}
_OPEN_TO_ALL: Final = frozenset({"healthz", "livez", "readyz"})
_log = logging.getLogger(__name__)


class AggregatedServer:
    """Handles requests for the subresource API and for its discovery documents."""

    def __init__(
        self,
        actions: Actions,
        authorizer: DelegatedAuthorizer,
        find_proxy: Callable[[], FrontProxy],
        publisher: Publisher,
    ) -> None:
        self._actions = actions
        self._authorizer = authorizer
        self._find_proxy = find_proxy
        self._publisher = publisher
        self.requests = RequestCounters()

    def handle(self, request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        """Return the response to a request, or an awaitable that returns it."""
        if request.path[1:].partition("/")[0] in _OPEN_TO_ALL:
            return self._publisher.answer(request) or build_not_found_response()
        began = time.perf_counter()
        route = find_action(request)
        audited = route.audited if route is not None else None
        try:
            user = identify(request, self._find_proxy())
        except StatusError as error:
            return self.requests.observe(request, audited, build_error_response(error), began)
        is_stream = route is not None and route.action in STREAMS
        return self.requests.observe(request, audited, self._answer(request, route, user), began, is_stream=is_stream)

    def authenticate(self, request: Request) -> None:
        """Raise StatusError unless the request comes from the API server; called before a large body is read."""
        identify(request, self._find_proxy())

    async def _answer(self, request: Request, route: ActionRoute | None, user: User) -> AnyResponse:
        try:
            if route is None:  # discovery documents are public
                known = find_info_response(request) or self._publisher.answer(request)
                found = known or build_error_response(unknown_path_error())
                return found if isinstance(found, Response) else await found
            if route.verb is None:
                message = f'{request.method} is not supported on "{route.resource}/{route.action}"'
                raise StatusError(405, "MethodNotAllowed", message).about(ACTION_GROUP, route.resource)
            await self._require(user, _attributes(route))
            return await self._actions.answer(request, route, partial(self._authorizer.authorize, user))
        except StatusError as error:
            return build_error_response(error)
        except (UnreachableError, ConfigError) as error:
            _log.error("%s %s failed: %s; responding with 503", request.method, request.path, error)
            message = f"the cluster's API server is not available: {error}"
            return build_error_response(StatusError(503, "ServiceUnavailable", message).retry_after(1))

    async def _require(self, user: User, wanted: Attributes) -> None:
        decision = await self._authorizer.authorize(user, wanted)
        if not decision.allowed:
            raise _forbid(user, wanted, decision.reason)


def _attributes(route: ActionRoute) -> Attributes:
    return Attributes(
        verb=str(route.verb),
        group=ACTION_GROUP,
        resource=route.resource,
        subresource=route.action,
        namespace=route.namespace,
        name=route.name,
    )


def _forbid(user: User, wanted: Attributes, reason: str) -> StatusError:
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    place = f'API group "{wanted.group}" in the namespace "{wanted.namespace}"'
    message = f'User "{user.name}" cannot {wanted.verb} resource "{resource}" in {place}'
    return forbidden_object_error(
        wanted.group, wanted.resource, wanted.name, f"{message}: {reason}" if reason else message
    )
