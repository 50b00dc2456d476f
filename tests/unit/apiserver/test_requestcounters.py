"""Counters of API requests."""

import asyncio
import time
from collections.abc import Awaitable

import pytest

from virtshape.apiserver.message import AnyResponse, Request, Response
from virtshape.apiserver.requestcounters import RequestCounters, RequestLabels, label_request
from virtshape.apiserver.route import find_route
from virtshape.apiserver.subresources.route import find_action

VMS = "/apis/kubevirt.io/v1/namespaces/a/virtualmachines"
APPLY = {"content-type": "application/apply-patch+yaml"}
VM = ("kubevirt.io", "v1", "virtualmachines")

LABELS = {
    "get": ("GET", f"{VMS}/b", {}, RequestLabels("GET", *VM, "", "resource")),
    "list": ("GET", VMS, {}, RequestLabels("LIST", *VM, "", "namespace")),
    "list everywhere": (
        "GET",
        "/apis/kubevirt.io/v1/virtualmachines",
        {},
        RequestLabels("LIST", *VM, "", "cluster"),
    ),
    "watch": ("GET", f"{VMS}?watch=1", {}, RequestLabels("WATCH", *VM, "", "namespace")),
    "create": ("POST", VMS, {}, RequestLabels("POST", *VM, "", "resource")),
    "update of status": ("PUT", f"{VMS}/b/status", {}, RequestLabels("PUT", *VM, "status", "resource")),
    "patch": ("PATCH", f"{VMS}/b", {}, RequestLabels("PATCH", *VM, "", "resource")),
    "apply": ("PATCH", f"{VMS}/b", APPLY, RequestLabels("APPLY", *VM, "", "resource")),
    "delete of all": ("DELETE", VMS, {}, RequestLabels("DELETECOLLECTION", *VM, "", "namespace")),
    "unsupported method": ("OPTIONS", VMS, {}, RequestLabels("other", *VM, "", "namespace")),
    "unknown subresource": ("GET", f"{VMS}/b/made-up", {}, RequestLabels("GET", *VM, "other", "resource")),
    "other path": ("GET", "/made-up", {}, RequestLabels("GET")),
    "unknown method": ("BREW", "/made-up", {}, RequestLabels("other")),
}


@pytest.mark.parametrize(("method", "target", "headers", "expected"), LABELS.values(), ids=LABELS.keys())
def test_request_counter_has_the_labels_of_kube_apiserver(
    method: str, target: str, headers: dict[str, str], expected: RequestLabels
) -> None:
    request = Request(method, target, headers)
    assert label_request(request, find_route(request)) == expected


def test_stream_to_a_guest_is_a_connect_request() -> None:
    request = Request("GET", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/console", {})
    action = find_action(request)
    assert action is not None
    labels = label_request(request, action.audited, is_stream=True)
    assert labels == RequestLabels(
        "CONNECT", "subresources.kubevirt.io", "v1", "virtualmachineinstances", "console", "resource"
    )


async def test_asynchronous_responses_are_counted_by_code_when_they_are_complete() -> None:
    counters = RequestCounters()
    request = Request("GET", f"{VMS}/b", {})
    route = find_route(request)

    async def answer_later() -> AnyResponse:
        return Response(404, b"")

    async def fail() -> AnyResponse:
        raise RuntimeError

    async def leave() -> AnyResponse:
        raise asyncio.CancelledError

    counters.observe(request, route, Response(200, b""), time.perf_counter() - 0.3)
    for answer, error in ((answer_later(), None), (fail(), RuntimeError), (leave(), asyncio.CancelledError)):
        pending = counters.observe(request, route, answer, time.perf_counter())
        assert isinstance(pending, Awaitable)
        if error is None:
            assert (await pending).status == 404
        else:
            with pytest.raises(error):
                await pending
    (counter,) = counters.counters.values()
    assert counter.codes == {200: 1, 404: 1, 500: 1, 499: 1}
    assert sum(counter.durations.counts) == 4
    assert counter.durations.total == pytest.approx(0.3, abs=0.2)


def test_duration_of_a_watch_is_not_recorded() -> None:
    counters = RequestCounters()
    request = Request("GET", f"{VMS}?watch=1", {})
    counters.observe(request, find_route(request), Response(200, b""), time.perf_counter())
    (counter,) = counters.counters.values()
    assert counter.codes == {200: 1}
    assert sum(counter.durations.counts) == 0
