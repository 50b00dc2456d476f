"""HTTP transport: requests, retries and broken responses."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from virtshape.api.status import StatusError
from virtshape.client.access import Access, Credentials, Impersonation, StaticCredentials
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.http import HttpTransport
from virtshape.client.requestlog import Exchange
from virtshape.client.transport import Call, Reply

GET, POST = Call("GET", "/x"), Call("POST", "/x", {"content-type": "text/plain"}, b"hello")
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """A server that sends its replies in order; an empty reply closes the connection."""

    def __init__(self, *replies: bytes) -> None:
        self._replies = list(replies)
        self.requests: list[bytes] = []
        self.connections = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self._replies:
                head = await reader.readuntil(b"\r\n\r\n")
                size = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length")), 0)
                self.requests.append(head + await reader.readexactly(size))
                reply = self._replies.pop(0)
                writer.write(reply)
                if not reply or b"connection: close" in reply:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def ok(body: bytes = b"fine", *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(*chunks: bytes) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + body


@asynccontextmanager
async def transport_to(talk: Talk, **options: object) -> AsyncIterator[HttpTransport]:
    listener = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    access = Access(server=f"http://127.0.0.1:{port}", **options)  # type: ignore[arg-type]  # options of the test
    transport = HttpTransport(access, call_seconds=240)
    try:
        yield transport
    finally:
        await transport.close()
        listener.close()
        await asyncio.sleep(0.01)  # wait until the client sees that the connection is closed


async def exchange(server: Server, *calls: Call, **options: object) -> list[Reply]:
    async with transport_to(server.talk, **options) as transport:
        return [await transport.call(call) for call in calls]


async def test_client_request_has_credentials_impersonation_and_body() -> None:
    server = Server(ok())
    secrets, acting_as = StaticCredentials(Credentials("abc")), Impersonation("eve", groups=["a", "b"])
    (reply,) = await exchange(server, POST, credentials=secrets, acting_as=acting_as)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    first, host, *headers = head.decode().split("\r\n")
    assert (first, host.partition(":")[0], body) == ("POST /x HTTP/1.1", "host", b"hello")
    assert headers == [
        "content-type: text/plain",
        "accept-encoding: gzip",
        "authorization: Bearer abc",
        "impersonate-user: eve",
        "impersonate-group: a",
        "impersonate-group: b",
        "content-length: 5",
    ]
    assert (reply.status, reply.body) == (200, b"fine")


async def test_user_name_and_password_are_sent_as_basic_authentication() -> None:
    server = Server(ok())
    await exchange(server, GET, credentials=StaticCredentials(Credentials(basic=("u", "p"))))
    assert b"\r\nauthorization: Basic dTpw\r\n" in server.requests[0]


async def test_informational_response_is_skipped() -> None:
    server = Server(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + ok(b"1"), ok(b"2"))
    replies = await exchange(server, GET, GET)
    assert [(reply.status, reply.body, "link" in reply.headers) for reply in replies] == [
        (200, b"1", False),
        (200, b"2", False),
    ]
    assert server.connections == 1


async def test_http_connection_is_reused() -> None:
    server = Server(ok(b"1"), ok(b"2"), ok(b"3"))
    assert [reply.body for reply in await exchange(server, GET, POST, GET)] == [b"1", b"2", b"3"]
    assert server.connections == 1


async def test_connection_closed_by_the_server_is_not_reused() -> None:
    server = Server(ok(b"1", "connection: close"), ok(b"2"))
    assert [reply.body for reply in await exchange(server, GET, GET)] == [b"1", b"2"]
    assert server.connections == 2


async def test_read_on_a_closed_connection_is_retried() -> None:
    server = Server(ok(b"1"), b"", ok(b"2"))
    assert [reply.body for reply in await exchange(server, GET, GET)] == [b"1", b"2"]


async def test_write_on_a_closed_connection_is_never_retried() -> None:
    server = Server(ok(b"1"), b"", ok(b"2"))
    with pytest.raises(UnreachableError):
        await exchange(server, GET, POST)
    assert len(server.requests) == 2


LOG_BODIES: dict[str, tuple[bytes, bytes]] = {
    "with a length": (ok(b"body"), b"body"),
    "in chunks": (chunked(b"bo", b"dy", b""), b"body"),
    "until the end": (b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nbody", b"body"),
    "compressed": (ok(gzip.compress(b"body"), "content-encoding: gzip"), b"body"),
    "none": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
}


@pytest.mark.parametrize(("reply", "body"), LOG_BODIES.values(), ids=LOG_BODIES.keys())
async def test_http_response_body_is_read_with_any_framing_or_compression(reply: bytes, body: bytes) -> None:
    assert (await exchange(Server(reply), GET))[0].body == body


async def test_repeated_headers_are_joined() -> None:
    (reply,) = await exchange(Server(ok(b"", "Warning: 1", "warning: 2")), GET)
    assert reply.headers["warning"] == "1\n2"


BROKEN: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "closed the connection"),
    "truncated header": (b"HTTP/1.1 200 OK\r\nconte", "closed the connection"),
    "truncated body": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nhalf",
        "closed the connection",
    ),
    "not HTTP": (b"SSH-2.0-OpenSSH\r\n", "not valid HTTP"),
    "broken compression": (ok(b"xx", "content-encoding: gzip"), "cannot be decompressed"),
}


@pytest.mark.parametrize(("reply", "message"), BROKEN.values(), ids=BROKEN.keys())
async def test_broken_http_response_raises_an_unreachable_error(reply: bytes, message: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()

    async with transport_to(talk) as transport:
        with pytest.raises(UnreachableError, match=message):
            await transport.call(GET)


async def test_http_request_times_out() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with transport_to(talk) as transport:
        transport._call_seconds = 0.05  # noqa: SLF001 - keeps the test short
        with pytest.raises(UnreachableError, match=r"did not respond within 0\.05 seconds"):
            await transport.call(GET)


async def test_closed_port_raises_an_unreachable_error() -> None:
    with pytest.raises(UnreachableError, match="cannot connect to http"):
        await HttpTransport(Access(server="http://127.0.0.1:1")).call(GET)


@pytest.mark.parametrize("server", ["", "127.0.0.1:6443", "ftp://x", "https://"])
def test_invalid_server_address_is_rejected(server: str) -> None:
    with pytest.raises(ConfigError, match="invalid server URL"):
        HttpTransport(Access(server=server))


async def test_path_in_the_server_address_is_a_prefix_of_request_paths() -> None:
    server = Server(ok())
    async with transport_to(server.talk) as transport:
        transport._prefix = HttpTransport(Access(server="http://x/clusters/one/"))._prefix  # noqa: SLF001 - private
        await transport.call(GET)
    assert server.requests[0].startswith(b"GET /clusters/one/x HTTP/1.1\r\n")


class RotatingCredentials:
    """Credentials whose token changes each time they are invalidated."""

    def __init__(self) -> None:
        self.number = 1

    async def fetch(self) -> Credentials:
        return Credentials(f"t{self.number}")

    def invalidate(self) -> bool:
        self.number += 1
        return True


async def test_rejected_credentials_are_renewed_once() -> None:
    refused = ok(b"", status="401 Unauthorized")
    server = Server(refused, ok(b"in"))
    assert (await exchange(server, GET, credentials=RotatingCredentials()))[0].body == b"in"
    assert [b"Bearer t1" in server.requests[0], b"Bearer t2" in server.requests[1]] == [True, True]
    assert (await exchange(Server(refused, refused, ok()), GET, credentials=RotatingCredentials()))[0].status == 401


async def stream(server: Server, *, idle_timeout: float | None = None, **options: object) -> list[bytes]:
    async with (
        transport_to(server.talk, **options) as transport,
        transport.stream(GET, idle_timeout=idle_timeout) as lines,
    ):
        return [line async for line in lines]


STREAMS: dict[str, tuple[tuple[bytes, ...], list[bytes]]] = {
    "one line per chunk": ((b"one\n", b"two\n"), [b"one", b"two"]),
    "lines in one chunk": ((b"one\ntwo\n",), [b"one", b"two"]),
    "a line in many chunks": ((b"o", b"n", b"e\ntw", b"o\n"), [b"one", b"two"]),
    "an unfinished line": ((b"one\ntwo",), [b"one", b"two"]),
    "nothing": ((), []),
}


@pytest.mark.parametrize(("chunks", "lines"), STREAMS.values(), ids=STREAMS.keys())
async def test_stream_yields_the_lines_of_the_response(chunks: tuple[bytes, ...], lines: list[bytes]) -> None:
    assert await stream(Server(chunked(*chunks, b""))) == lines


async def test_rejected_stream_raises_a_status_error() -> None:
    with pytest.raises(StatusError) as caught:
        await stream(Server(ok(b"no such thing", status="404 Not Found")))
    assert (caught.value.code, caught.value.message) == (404, "no such thing")


async def test_stream_renews_rejected_credentials() -> None:
    server = Server(ok(b"", status="401 Unauthorized"), chunked(b"in\n", b""))
    assert await stream(server, credentials=RotatingCredentials()) == [b"in"]


async def test_interrupted_stream_raises_an_error() -> None:
    server = Server(chunked(b"one\n"))  # the final chunk is missing
    with pytest.raises(UnreachableError):
        await stream(server)


async def test_silent_stream_times_out() -> None:
    with pytest.raises(UnreachableError, match="did not respond within"):
        await stream(Server(chunked(b"one\n"), ok()), idle_timeout=0.05)


async def test_large_stream_is_read_completely() -> None:
    line = b"x" * 100_000 + b"\n"
    assert await stream(Server(chunked(*[line] * 100, b""))) == [line.rstrip()] * 100


async def test_every_request_is_logged_without_credentials() -> None:
    exchanges: list[Exchange] = []
    refused = ok(b"no", status="401 Unauthorized")
    server = Server(refused, ok(b"in", "connection: close"), chunked(b"line\n", b""), b"")

    async with transport_to(server.talk, credentials=RotatingCredentials()) as transport:
        transport._log_request = exchanges.append  # noqa: SLF001 - in place of the constructor argument
        await transport.call(POST)
        async with transport.stream(GET) as lines:
            assert [line async for line in lines] == [b"line"]
        with pytest.raises(UnreachableError):
            await transport.call(GET)
    assert [(one.method, one.url.partition("/x")[1], one.status, one.sent, one.received) for one in exchanges] == [
        ("POST", "/x", 401, b"hello", b"no"),
        ("POST", "/x", 200, b"hello", b"in"),
        ("GET", "/x", 200, b"", b""),
        ("GET", "/x", 0, b"", b""),
    ]
    assert "t1" not in str(exchanges)


async def test_invalid_ca_certificate_is_rejected(tmp_path: Path) -> None:
    del tmp_path
    with pytest.raises(ConfigError, match="invalid certificate or key"):
        await HttpTransport(Access(server="https://127.0.0.1:1", authority=b"nonsense")).call(GET)
