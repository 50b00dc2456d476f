"""Proxies: selection from the environment, and requests through a CONNECT tunnel."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from virtshape.client.access import Access
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.http import HttpTransport
from virtshape.client.transport import Call
from virtshape.client.tunnel import find_proxy

GIVEN = {
    "HTTPS_PROXY": "http://secure",
    "http_proxy": "plain:3128",
    "NO_PROXY": "corp.example, .inner.example,10.0.0.0/8",
}
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine"


@pytest.mark.parametrize(
    ("server", "proxy"),
    [
        ("https://api.example:6443", "http://secure"),
        ("http://api.example", "plain:3128"),
        ("https://corp.example", ""),
        ("https://api.corp.example", ""),
        ("https://notcorp.example", "http://secure"),
        ("https://api.inner.example", ""),
        ("https://192.0.2.1", "http://secure"),
        ("https://10.0.0.1:6443", ""),
        ("https://127.0.0.1:6443", ""),
        ("https://localhost", ""),
        ("https://[::1]:6443", ""),
    ],
)
def test_proxy_and_its_exceptions_are_read_from_the_environment(server: str, proxy: str) -> None:
    assert find_proxy(server, GIVEN) == proxy


def test_no_proxy_is_used_if_none_is_set_or_if_no_proxy_is_a_wildcard() -> None:
    assert find_proxy("https://api.example", {"PATH": "/bin"}) == ""
    for server in ("https://api.example", "https://192.0.2.1"):
        assert find_proxy(server, {**GIVEN, "NO_PROXY": "*"}) == ""


class Proxy:
    """A proxy that sends the given response to CONNECT, and a server's response to the next request."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.heads: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(self._answer)
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(ANSWER)
            await reader.read()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listening(proxy: Proxy) -> AsyncIterator[int]:
    server = await asyncio.start_server(proxy.talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def ask(proxy: Proxy, user: str = "") -> bytes:
    async with listening(proxy) as port:
        transport = HttpTransport(Access("http://api.example:8080", proxy=f"http://{user}127.0.0.1:{port}"))
        try:
            return (await transport.call(Call("GET", "/x"))).body
        finally:
            await transport.close()


async def test_request_is_sent_through_a_connect_tunnel() -> None:
    proxy = Proxy(b"HTTP/1.1 200 Connection established\r\nvia: us\r\n\r\n")
    assert await ask(proxy, "jdoe:p%40ss@") == b"fine"
    connect, request = proxy.heads
    assert connect.startswith("CONNECT api.example:8080 HTTP/1.1\r\n")
    assert "proxy-authorization: Basic amRvZTpwQHNz\r\n" in connect
    assert request.startswith("GET /x HTTP/1.1\r\nhost: api.example:8080\r\n")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "refused to connect to api.example:8080: HTTP/1.1 407 Who are you"),
        (b"nonsense\r\n\r\n", "refused to connect to api.example:8080: nonsense"),
    ],
    ids=["rejected", "not HTTP"],
)
async def test_proxy_error_names_the_proxy_without_its_password(answer: bytes, message: str) -> None:
    with pytest.raises(UnreachableError, match=message) as refused:
        await ask(Proxy(answer), "jdoe:secret@")
    assert "secret" not in str(refused.value)


async def test_unsupported_proxy_scheme_is_rejected() -> None:
    transport = HttpTransport(Access("https://api.example", proxy="socks5://jdoe:secret@127.0.0.1"))
    with pytest.raises(ConfigError, match=r"^proxy socks5://127\.0\.0\.1 is not supported"):
        await transport.call(Call("GET", "/x"))


async def test_unreachable_proxy_is_reported() -> None:
    with pytest.raises(UnreachableError, match=r"cannot connect to https://api\.example"):
        await HttpTransport(Access("https://api.example", proxy="http://127.0.0.1:1")).call(Call("GET", "/x"))
