"""
One request to one answer: who asks, what for, whether they may, and who answers.

Reads are answered at once; writes and everything else that waits are answered when they are done.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from virtshape.api.codec import decode, encode
from virtshape.api.status import StatusError
from virtshape.apiserver.answers import answer_bytes, answer_error, answer_not_found
from virtshape.apiserver.authentication import Authenticator, User, read_certificate
from virtshape.apiserver.authorization import Attributes, Authorizer
from virtshape.apiserver.capability import is_question, list_verbs
from virtshape.apiserver.deleting import delete_collection, delete_object
from virtshape.apiserver.http import Answer
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.negotiation import choose_form
from virtshape.apiserver.publishing import Publisher
from virtshape.apiserver.reading import get_object, list_objects, not_found
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.reviews import Judge, answer_review
from virtshape.apiserver.route import Route, find_route
from virtshape.apiserver.watching import watch_objects
from virtshape.apiserver.writing import Desk, create_object, patch_object, update_object

Writer = Callable[[Desk, Request, Route, User], Awaitable[Response]]

_WRITERS: Final[dict[str, Writer]] = {
    "create": create_object,
    "update": update_object,
    "patch": patch_object,
    "delete": delete_object,
    "deletecollection": delete_collection,
}
_OPEN_TO_ALL: Final = frozenset({"healthz", "livez", "readyz", "version"})


class Server:
    """Answers requests."""

    def __init__(self, desk: Desk, authenticator: Authenticator, authorizer: Authorizer, publisher: Publisher) -> None:
        self._desk = desk
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._publisher = publisher
        self._judge = Judge(authenticator, authorizer)

    def handle(self, request: Request) -> Answer | Awaitable[Answer]:
        """The answer to a request, or the promise of one."""
        try:
            answer = self._dispatch(request)
        except StatusError as error:
            return answer_error(error)
        return self._finish(answer) if isinstance(answer, Awaitable) else answer

    async def _finish(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except StatusError as error:
            return answer_error(error)

    def _dispatch(self, request: Request) -> Answer | Awaitable[Answer]:
        if request.path.split("/")[1] in _OPEN_TO_ALL:
            return self._publisher.answer(request) or answer_not_found()
        user = self._authenticator.authenticate(
            request.headers.get("authorization"), read_certificate(request.certificate)
        )
        route = find_route(request)
        if route is None:
            self._authorizer.require(user, Attributes(verb=request.method.lower(), path=request.path))
            return self._publisher.answer(request) or answer_not_found()
        if route.verb is None:
            raise _not_allowed(route)
        self._authorizer.require(user, _attributes(route))
        return self._answer(request, route, user)

    def _answer(self, request: Request, route: Route, user: User) -> Answer | Awaitable[Answer]:
        if is_question(route.kind):
            return self._review(request, route, user)
        if route.verb not in list_verbs(route.kind) and not route.subresource:
            raise _not_allowed(route)
        resource = resource_of(route.kind)
        if route.subresource and route.subresource not in resource.subresources:
            raise not_found(resource, route.name)
        match route.verb:
            case "get":
                return get_object(self._desk.store, request, route)
            case "list":
                return list_objects(self._desk.store, request, route)
            case "watch":
                return watch_objects(self._desk.store, request, route)
            case _:
                return _WRITERS[str(route.verb)](self._desk, request, route, user)

    def _review(self, request: Request, route: Route, user: User) -> Response:
        form = choose_form(request.headers.get("accept", ""))
        review = decode(request.body, route.kind.struct)
        answered = answer_review(review, user, self._judge, route.namespace)  # type: ignore[arg-type]  # a review
        return answer_bytes(request, form, encode(answered), 201)


def _attributes(route: Route) -> Attributes:
    return Attributes(
        verb=str(route.verb),
        group=route.kind.group,
        resource=route.kind.plural,
        subresource=route.subresource,
        namespace=route.namespace,
        name=route.name,
    )


def _not_allowed(route: Route) -> StatusError:
    words = f'{route.verb or ""} is not supported on resources of kind "{route.resource}"'
    return StatusError(405, "MethodNotAllowed", words).about(route.kind.group, route.kind.plural)
