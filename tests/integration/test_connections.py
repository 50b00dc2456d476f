"""HTTP connections: keep-alive, pipelining, limits, and closing after invalid requests."""

import json
import socket
import time
from collections.abc import Iterator

import pytest
from tests.integration.objects import NamespacePaths, build_config, create
from tests.support.loopback import HOST, TIMEOUT, Client, LoopbackServer

from virtshape.apiserver.memorybudget import MAX_RECEIVED_BYTES
from virtshape.apiserver.parsing import LARGE_BODY
from virtshape.store.errors import StoreError

MAX_BODY_BYTES = 3 * 1024 * 1024


class RawConnection:
    """A raw connection, for requests that no client library would send."""

    def __init__(self, server: LoopbackServer) -> None:
        self._socket = socket.create_connection((HOST, server.port), timeout=TIMEOUT)
        self._file = self._socket.makefile("rb")
        self._token = server.token.encode()

    def format(self, method: bytes, path: bytes, body: bytes = b"", *headers: bytes) -> bytes:
        lines = [b"%b %b HTTP/1.1" % (method, path), b"host: x", b"authorization: Bearer " + self._token, *headers]
        if body:
            lines.append(b"content-length: %d" % len(body))
        return b"\r\n".join([*lines, b"", body])

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self) -> tuple[int, dict[str, str], bytes]:
        """Return the next response."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        return status, headers, self._file.read(int(headers.get("content-length", "0")))

    def is_ended(self) -> bool:
        """Wait for the next byte; return True if the server closed the connection instead."""
        return self._file.read(1) == b""

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture(autouse=True)
def _short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server close rejected connections soon, but not before it has read the request."""
    monkeypatch.setattr("virtshape.apiserver.http.LINGER_SECONDS", 0.5)


@pytest.fixture
def wire(server: LoopbackServer) -> Iterator[RawConnection]:
    opened = RawConnection(server)
    yield opened
    opened.close()


def test_connection_serves_several_requests_in_sequence(wire: RawConnection) -> None:
    for path in (b"/version", b"/api/v1/namespaces/default", b"/nope", b"/version"):
        wire.send(wire.format(b"GET", path))
        assert wire.read()[0] == (404 if path == b"/nope" else 200)


def test_pipelined_requests_are_answered_in_order(wire: RawConnection, paths: NamespacePaths) -> None:
    path = paths.core("configmaps").encode()
    bodies = [json.dumps(build_config(f"c-{number}")).encode() for number in range(20)]
    requests = []
    for number, body in enumerate(bodies):
        requests.append(wire.format(b"POST", path, body))
        requests.append(wire.format(b"GET", b"%b/c-%d" % (path, number)))
    wire.send(b"".join(requests))
    answers = [wire.read() for _ in requests]
    assert [status for status, _, _ in answers] == [201, 200] * 20
    names = [json.loads(body)["metadata"]["name"] for _, _, body in answers]
    assert names == [f"c-{number}" for number in range(20) for _ in range(2)]


def test_requests_beyond_the_pipeline_limit_are_all_answered(wire: RawConnection) -> None:
    wire.send(wire.format(b"GET", b"/version") * 500)
    assert {wire.read()[0] for _ in range(500)} == {200}


def test_http_request_may_arrive_in_several_packets(wire: RawConnection, paths: NamespacePaths) -> None:
    body = json.dumps(build_config()).encode()
    request = wire.format(b"POST", paths.core("configmaps").encode(), body)
    for start in range(0, len(request), 40):
        wire.send(request[start : start + 40])
        time.sleep(0.001)
    assert wire.read()[0] == 201


def test_chunked_body_is_accepted(wire: RawConnection, paths: NamespacePaths) -> None:
    body = json.dumps(build_config()).encode()
    head = wire.format(b"POST", paths.core("configmaps").encode(), b"", b"transfer-encoding: chunked")
    wire.send(head + b"%x\r\n%b\r\n5\r\n     \r\n0\r\n\r\n" % (len(body), body))
    assert wire.read()[0] == 201


def test_trailers_are_not_treated_as_headers(
    wire: RawConnection, server: LoopbackServer, paths: NamespacePaths
) -> None:
    body = json.dumps(build_config()).encode()
    for trailer in (f"authorization: Bearer {server.token}", "impersonate-user: nobody", "content-type: text/plain"):
        head = b"POST %b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n" % paths.core("configmaps").encode()
        if not trailer.startswith("authorization"):
            head += b"authorization: Bearer %b\r\n" % server.token.encode()
        wire.send(head + b"\r\n%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(body), body, trailer.encode()))
    assert [wire.read()[0] for _ in range(3)] == [401, 201, 409]


@pytest.mark.parametrize("declared", [b"content-length: 70000", b"transfer-encoding: chunked"])
def test_large_body_of_an_unauthenticated_client_is_not_read(
    wire: RawConnection, paths: NamespacePaths, declared: bytes
) -> None:
    wire.send(b"POST %b HTTP/1.1\r\nhost: x\r\n%b\r\n\r\n" % (paths.core("configmaps").encode(), declared))
    if b"chunked" in declared:
        wire.send(b"%x\r\n%b" % (LARGE_BODY + 1, b"x" * (LARGE_BODY + 1)))
    status, headers, _ = wire.read()
    assert (status, headers["connection"]) == (401, "close")
    assert wire.is_ended()


def test_connection_stays_open_after_an_unauthenticated_body_of_64_kib(
    wire: RawConnection, paths: NamespacePaths
) -> None:
    body = b"x" * LARGE_BODY
    head = b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (
        paths.core("configmaps").encode(),
        len(body),
    )
    wire.send(head + body + wire.format(b"GET", b"/version"))
    assert [wire.read()[0] for _ in range(2)] == [401, 200]


def test_large_bodies_beyond_the_memory_limit_return_429(
    wire: RawConnection, server: LoopbackServer, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.listener.memory, "received", MAX_RECEIVED_BYTES)
    wire.send(wire.format(b"POST", paths.core("configmaps").encode(), b"", b"content-length: 100000"))
    status, headers, _ = wire.read()
    assert (status, headers["retry-after"]) == (429, "1")


def test_connection_limit_closes_the_longest_idle_connection(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle, used = RawConnection(server), RawConnection(server)
    for wire in (idle, used):
        wire.send(wire.format(b"GET", b"/version"))
        assert wire.read()[0] == 200
        time.sleep(0.01)
    others = len(server.listener.connections) - 2
    monkeypatch.setattr(server.listener, "_max_connections", others + 2)
    newcomers = []
    while not any(_is_ended_now(wire) for wire in (idle, used)):
        newcomers.append(RawConnection(server))
        newcomers[-1].send(newcomers[-1].format(b"GET", b"/version"))
        assert newcomers[-1].read()[0] == 200
        assert len(newcomers) <= others + 1
    assert _is_ended_now(idle)
    assert not _is_ended_now(used)
    for wire in (idle, used, *newcomers):
        wire.close()


def _is_ended_now(wire: RawConnection) -> bool:
    wire._socket.settimeout(0.2)  # noqa: SLF001
    try:
        return wire._socket.recv(1, socket.MSG_PEEK) == b""  # noqa: SLF001
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_expect_100_continue_is_answered(wire: RawConnection, paths: NamespacePaths) -> None:
    body = json.dumps(build_config()).encode()
    request = wire.format(b"POST", paths.core("configmaps").encode(), body, b"expect: 100-continue")
    wire.send(request[: -len(body)])
    assert wire.read()[0] == 100
    wire.send(body)
    assert wire.read()[0] == 201


def test_connection_close_header_is_honored(wire: RawConnection) -> None:
    wire.send(wire.format(b"GET", b"/version", b"", b"connection: close"))
    status, headers, _ = wire.read()
    assert (status, headers["connection"]) == (200, "close")
    assert wire.is_ended()


def test_response_to_head_has_no_body(wire: RawConnection) -> None:
    wire.send(wire.format(b"HEAD", b"/version") + wire.format(b"GET", b"/nope"))
    assert b"200 OK" in wire._file.readline()  # noqa: SLF001 - `read` would expect a body
    while wire._file.readline().strip():  # noqa: SLF001
        pass
    assert wire.read()[0] == 404


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param(b"content-length: %d" % (MAX_BODY_BYTES + 1), id="declared length"),
        pytest.param(b"transfer-encoding: chunked", id="exceeded while reading"),
    ],
)
def test_too_large_body_returns_413_with_the_limit(
    wire: RawConnection, paths: NamespacePaths, declared: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.apiserver.http.LINGER_SECONDS", 3.0)  # the client may be slow on a busy machine
    wire.send(wire.format(b"POST", paths.core("configmaps").encode(), b"", declared))
    if b"chunked" in declared:
        wire.send(b"%x\r\n%b\r\n" % (MAX_BODY_BYTES + 1, b"x" * (MAX_BODY_BYTES + 1)))
    status, headers, body = wire.read()
    assert (status, headers["connection"], headers["content-type"]) == (413, "close", "application/json")
    tree = json.loads(body)
    assert (tree["reason"], tree["message"]) == (
        "RequestEntityTooLarge",
        f"Request entity too large: limit is {MAX_BODY_BYTES}",
    )
    wire.send(b"x" * 1000)
    assert wire.is_ended()


def test_earlier_pipelined_requests_are_answered_before_an_error(wire: RawConnection, paths: NamespacePaths) -> None:
    path = paths.core("configmaps").encode()
    made = wire.format(b"POST", path, json.dumps(build_config()).encode())
    wire.send(made + wire.format(b"POST", path, b"", b"content-length: 99999999"))
    assert [wire.read()[0] for _ in range(2)] == [201, 413]


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        pytest.param(b"nonsense\r\n\r\n", 400, id="not HTTP"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", 400, id="invalid HTTP version"),
        pytest.param(b"GET /version HTTP/1.1\r\nno colon\r\n\r\n", 400, id="invalid header"),
        pytest.param(b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400, id="invalid length"),
        pytest.param(
            b"POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", 400, id="two lengths"
        ),
        pytest.param(b"GET /%b HTTP/1.1\r\n\r\n" % (b"a" * 70_000), 431, id="long path"),
        pytest.param(b"GET / HTTP/1.1\r\na: %b\r\n\r\n" % (b"a" * 70_000), 431, id="long header"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="HTTP/2"),
    ],
)
def test_invalid_request_is_rejected_and_the_connection_closed(
    wire: RawConnection, request_text: bytes, status: int
) -> None:
    wire.send(request_text)
    found, headers, body = wire.read()
    assert (found, headers["connection"], json.loads(body)["code"]) == (status, "close", status)
    assert wire.is_ended()


@pytest.mark.parametrize("target", [b"*", b"http://x/version", b"/%00", b"/%ff%fe", b"/api/v1/namespaces/%2e%2e"])
def test_unusual_request_targets_are_rejected(wire: RawConnection, target: bytes) -> None:
    for method in (b"GET", b"OPTIONS", b"DELETE"):
        wire.send(wire.format(method, target))
        assert wire.read()[0] in (404, 405)


def test_aborted_watch_connection_ends_cleanly(wire: RawConnection, client: Client, paths: NamespacePaths) -> None:
    wire.send(wire.format(b"GET", paths.core("configmaps").encode() + b"?watch=true"))
    assert b"200" in wire._file.readline()  # noqa: SLF001 - a watch has no content length
    wire.close()
    create(client, paths.core("configmaps"), build_config())
    assert client.get(paths.core("configmaps", "settings")).status == 200


def test_request_after_a_stream_is_answered_when_the_stream_ends(wire: RawConnection, paths: NamespacePaths) -> None:
    watch = wire.format(b"GET", paths.core("configmaps").encode() + b"?watch=true&timeoutSeconds=1")
    wire.send(watch + wire.format(b"GET", b"/version"))
    assert wire.read()[1]["transfer-encoding"] == "chunked"
    assert wire._file.readline() == b"0\r\n"  # noqa: SLF001 - the end of an empty stream
    wire._file.readline()  # noqa: SLF001
    assert wire.read()[0] == 200


def test_writes_beyond_the_concurrency_limit_return_429(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.system.server._writes, "_most", 0)  # noqa: SLF001 - as if all were busy
    reply = client.post(paths.core("configmaps"), build_config())
    assert (reply.reason, reply.headers["retry-after"]) == ((429, "TooManyRequests"), "1")
    assert client.get(paths.core("configmaps")).status == 200


def test_failed_store_write_returns_an_error(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise StoreError("writing to the database failed: disk full")

    monkeypatch.setattr(server.system.store, "write", fail)
    reply = client.post(paths.core("configmaps"), build_config())
    assert reply.reason == (500, "InternalError")
    assert "disk full" in reply.tree["message"]


@pytest.mark.parametrize("opening", ["{", "["])
def test_too_deeply_nested_bodies_are_rejected(client: Client, paths: NamespacePaths, opening: str) -> None:
    unit = '{"a":' if opening == "{" else "["
    closing = "}" if opening == "{" else "]"
    body = (unit * 5000 + "1" + closing * 5000).encode()
    for method, path in (("POST", paths.core("configmaps")), ("PUT", paths.core("configmaps", "x"))):
        assert client.send(method, path, body).reason == (400, "BadRequest")
    assert client.patch(paths.core("configmaps", "x"), body).reason == (400, "BadRequest")
    assert client.apply(paths.core("configmaps", "x"), body).reason == (400, "BadRequest")
    assert client.delete(paths.core("configmaps", "x"), body).reason == (400, "BadRequest")


def test_timeout_parameter_limits_a_request(client: Client, paths: NamespacePaths) -> None:
    assert client.post(paths.core("configmaps"), build_config(), timeout="1m30s").status == 201
    assert client.delete(paths.core("configmaps", "settings"), timeout="soon").reason == (400, "BadRequest")
    late = client.delete(paths.core("configmaps", "settings"), timeout="1ns")
    assert late.reason == (504, "Timeout")
