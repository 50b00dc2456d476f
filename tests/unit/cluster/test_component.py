"""Lifecycle of a component: serving, and shutting down without losing requests."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from virtshape.apiserver.message import PLAIN_TEXT, Request, Response
from virtshape.client.informer import Informers
from virtshape.cluster.component import Ports, Ready, Server, Settings, serve
from virtshape.cluster.tls.sources import CertificateOptions
from virtshape.supervise.supervisor import Supervisor

HOST = "127.0.0.1"
TIMEOUT = 240.0


class NoCertificates:
    """Certificates of a component that serves plain HTTP."""

    async def wait(self) -> None:
        return None

    async def run(self) -> None:
        await asyncio.Event().wait()


class Component(NamedTuple):
    """A running component."""

    task: "asyncio.Task[None]"
    ready: Ready


@asynccontextmanager
async def running(delay: float) -> AsyncIterator[Component]:
    certificates: Any = NoCertificates()
    client: Any = None
    server = Server(_respond, Informers(client), certificates, lambda: (), Supervisor())
    settings = Settings(
        tls=CertificateOptions(namespace="n"),
        port=0,
        ports=Ports(host=HOST, health=0, metrics=0),
        shutdown_delay=delay,
    )
    started: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(server, settings, started.set_result))
    try:
        yield Component(task, await asyncio.wait_for(started, TIMEOUT))
    finally:
        task.cancel()
        await asyncio.wait({task})


def _respond(request: Request) -> Response:
    del request
    return Response(200, b"served", PLAIN_TEXT)


async def request(port: int, path: str = "/") -> str:
    """Return the status line, headers and body of a response in lower case; raise OSError if the connection fails."""
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT)
    body = await asyncio.wait_for(reader.read(100), TIMEOUT)
    writer.close()
    return (head + body).decode().lower()


async def test_stopping_component_is_not_ready_but_serves_requests_until_the_delay_has_passed() -> None:
    async with running(delay=10 * TIMEOUT) as component:
        assert "connection: close" not in await request(component.ready.port)
        assert " 200 " in await request(component.ready.health_port, "/readyz")
        component.task.cancel()
        await asyncio.sleep(0)
        answer = await request(component.ready.health_port, "/readyz/shutdown")
        assert "the process is shutting down" in answer
        answer = await request(component.ready.port)
        assert "served" in answer
        assert "connection: close" in answer
        assert not component.task.done()
    async with running(delay=0.5) as component:  # too short for requests on a busy machine
        began = time.monotonic()
        component.task.cancel()
        await asyncio.wait({component.task}, timeout=TIMEOUT)
        assert component.task.cancelled()
        assert time.monotonic() - began >= 0.5


async def test_second_signal_skips_the_shutdown_delay() -> None:
    async with running(delay=10 * TIMEOUT) as component:
        component.task.cancel()
        await request(component.ready.port)
        component.task.cancel()
        await asyncio.wait({component.task}, timeout=TIMEOUT)
        assert component.task.cancelled()
