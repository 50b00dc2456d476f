"""
Counters of API requests by verb and resource, with the labels of kube-apiserver.

All label values come from tables, so clients cannot create an unlimited number of them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable
from typing import Final, NamedTuple

from virtshape.api.wellknown import APPLY_PATCH
from virtshape.apiserver.audit import CLIENT_LEFT
from virtshape.apiserver.message import AnyResponse, Request
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.supportedverbs import ACTION_GROUP
from virtshape.telemetry.histogram import Histogram

OTHER: Final = "other"
CONNECT: Final = "CONNECT"
_VERBS: Final = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
}
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
LONG_RUNNING: Final = frozenset({"WATCH", CONNECT})
"""Verbs whose responses are streams; the durations of streams are not recorded."""


class RequestLabels(NamedTuple):
    """The labels of a request; all labels except the verb are empty if the path is not that of a resource."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""


class RequestCounter:
    """Response counts by status code, and response times, for requests with the same labels."""

    __slots__ = ("codes", "durations", "is_long_running")

    def __init__(self, *, is_long_running: bool) -> None:
        self.codes: Counter[int] = Counter()
        self.durations = Histogram()
        self.is_long_running = is_long_running

    def add(self, code: int, began: float) -> None:
        """Count a response; `began` is the value of `time.perf_counter()` when the request began."""
        self.codes[code] += 1
        if not self.is_long_running:
            self.durations.add(time.perf_counter() - began)


class RequestCounters:
    """Counts the requests of one server."""

    def __init__(self) -> None:
        self.counters: dict[RequestLabels, RequestCounter] = {}

    def observe(
        self,
        request: Request,
        route: Route | None,
        answer: AnyResponse | Awaitable[AnyResponse],
        began: float,
        *,
        is_stream: bool = False,
    ) -> AnyResponse | Awaitable[AnyResponse]:
        """Return `answer` and count it: immediately if it is a response, or when the awaitable returns the response."""
        labels = label_request(request, route, is_stream=is_stream)
        counter = self.counters.get(labels)
        if counter is None:
            counter = self.counters[labels] = RequestCounter(is_long_running=labels.verb in LONG_RUNNING)
        if isinstance(answer, AnyResponse):
            counter.add(answer.status, began)
            return answer
        return _observe_later(counter, answer, began)


async def _observe_later(counter: RequestCounter, answer: Awaitable[AnyResponse], began: float) -> AnyResponse:
    try:
        found = await answer
    except asyncio.CancelledError:
        counter.add(CLIENT_LEFT, began)
        raise
    except BaseException:
        counter.add(500, began)
        raise
    counter.add(found.status, began)
    return found


def label_request(request: Request, route: Route | None, *, is_stream: bool = False) -> RequestLabels:
    """Return the labels of a request; `route` is None if the path is not that of a resource."""
    if route is None:
        return RequestLabels(request.method if request.method in _METHODS else OTHER)
    kind = route.kind
    return RequestLabels(
        CONNECT if is_stream else _name_verb(request, route),
        kind.group,
        kind.version,
        kind.plural,
        _name_subresource(route) if route.subresource else "",
        _name_scope(route),
    )


def _name_verb(request: Request, route: Route) -> str:
    if route.verb is None:
        return OTHER
    if route.verb == "patch" and request.headers.get("content-type", "").startswith(APPLY_PATCH):
        return "APPLY"
    return _VERBS[route.verb]


def _name_subresource(route: Route) -> str:
    is_known = route.kind.group == ACTION_GROUP or route.subresource in resource_of(route.kind).subresources
    return route.subresource if is_known else OTHER


def _name_scope(route: Route) -> str:
    if route.name or route.verb == "create":
        return "resource"
    return "namespace" if route.namespace else "cluster"
