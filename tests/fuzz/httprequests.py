"""Fuzz target: the bytes of an HTTP connection, and the query parameters of list requests."""

from contextlib import suppress

from tests.fuzz.target import Target

from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.negotiation import choose_format, media_type
from virtshape.apiserver.limits import read_timeout
from virtshape.apiserver.listoptions import parse_continuation, read_options
from virtshape.apiserver.message import Request
from virtshape.apiserver.parsing import Client, RequestReader
from virtshape.apiserver.route import find_route


def run(data: bytes) -> None:
    """Parse requests; the result is the same if the bytes arrive in two parts."""
    taken = read_requests(data)
    assert read_requests(data[: len(data) // 2], data[len(data) // 2 :]) == taken
    for method, target, accept in taken:
        read_parameters(Request(method, target, {"accept": accept}))


def read_requests(*parts: bytes) -> list[tuple[str, str, str]]:
    """Return method, target and Accept header of the requests in the bytes of a connection."""
    taken: list[Request] = []
    reader = RequestReader(Client(), lambda request, _: taken.append(request), lambda _: None, lambda: None)
    for part in parts:
        reader.feed(part)
    return [(each.method, f"{each.path}?{each.query_text}", each.headers.get("accept", "")) for each in taken]


def read_parameters(request: Request) -> None:
    """Read what a list or write reads from the query and the headers."""
    find_route(request)
    accept = request.headers["accept"]
    media_type(accept)
    for read in (
        lambda: choose_format(accept),
        lambda: read_options(request, watch=False),
        lambda: read_options(request, watch=True),
        lambda: read_timeout(request.parameter("timeout")),
        lambda: parse_continuation(request.parameter("continue"), "pods", "default"),
    ):
        with suppress(StatusError):
            read()


TARGET = Target(
    "http",
    run,
    (
        b"GET /api/v1/namespaces/default/pods?limit=5&labelSelector=a%3Db&timeout=1m30s HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /apis/kubevirt.io/v1/namespaces/a/virtualmachines HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"PATCH /api/v1/nodes/a/status HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"GET /api/v1/pods?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=9 HTTP/1.1\r\n\r\n",
        b"GET /a HTTP/1.1\r\nAccept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json;q=0.5\r\n\r\n",
        b"GET /api/v1/pods?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0 HTTP/1.1\r\n\r\n",
    ),
    (
        b"\r\n",
        b"%00",
        b"%ff",
        b"?",
        b"&",
        b"=",
        b"limit=",
        b"continue=",
        b"HTTP/1.0",
        b"Expect: 100-continue\r\n",
        b";",
    ),
)
