"""TLS contexts that change while the server listens."""

import asyncio
import os
import ssl
from pathlib import Path

import pytest

from virtshape.apiserver.auth.authentication import read_certificate
from virtshape.apiserver.auth.certificates import Authority, make_key
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.message import Request, Response
from virtshape.cluster.tls.context import ReloadableContext, build_context


@pytest.mark.parametrize("name", ["localhost", None], ids=["by name", "by address, without SNI"])
async def test_new_connections_use_the_current_tls_context(name: str | None) -> None:
    servers = [Authority.create(make_key(), f"ca{n}") for n in range(2)]
    clients = Authority.create(make_key(), "clients")
    contexts = [_build(server, clients.pem) for server in servers]
    shown = clients.issue_client("proxy")

    changing = ReloadableContext(contexts[0])
    listener = Listener(_respond_with_user)
    port = await listener.start("127.0.0.1", 0, changing.outer)
    assert await _ask(port, servers[0], name) == "nobody"
    assert await _ask(port, servers[0], name, shown.certificate + shown.key) == "proxy"
    changing.change(_build(servers[1], Authority.create(make_key(), "others").pem))
    assert await _ask(port, servers[1], name) == "nobody"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await _ask(port, servers[1], name, shown.certificate + shown.key)
    with pytest.raises(ssl.SSLError):
        await _ask(port, servers[0], name)
    await listener.stop()


def _build(authority: Authority, clients: bytes) -> ssl.SSLContext:
    credential = authority.issue_server(["localhost", "127.0.0.1"])
    return build_context(credential.certificate, credential.key, clients)


def _respond_with_user(request: Request) -> Response:
    shown = read_certificate(request.certificate)
    return Response(200, (shown.user.name if shown else "nobody").encode(), "text/plain")


async def _ask(port: int, authority: Authority, name: str | None, identity: bytes = b"") -> str:
    context = ssl.create_default_context(cadata=authority.pem.decode())
    if identity:
        path = Path(f"/proc/self/fd/{_write(identity)}")
        context.load_cert_chain(path)
    host = name or "127.0.0.1"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
    try:
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
    finally:
        writer.close()
    if not answer:
        raise ConnectionResetError
    return answer.rpartition(b"\r\n\r\n")[2].decode()


def _write(identity: bytes) -> int:
    handle = os.memfd_create("identity")
    os.write(handle, identity)
    return handle
