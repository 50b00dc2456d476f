"""Clients that put load on a server: writers, watchers, listers and probes. Each stops when its task is cancelled."""

import asyncio
import itertools
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.support.asyncclient import AsyncConnection, Reply
from tests.support.build import build_vm
from tests.support.documents import ROOT
from tests.support.loopback import MERGE_PATCH
from tests.support.upprocess import System

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject

YAML: Final = "application/yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
CREATORS: Final = 16
PROBES_SECONDS: Final = 300.0


def vms_path(namespace: str) -> str:
    """Return the path of the VMs of a namespace."""
    return f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"


def name_vm(number: int) -> str:
    return f"vm-{number:06}"


def build_load_vm(number: int) -> JsonObject:
    """Return a stopped VM with a label."""
    tree: JsonObject = to_tree(build_vm(instancetype="u1.small"))
    return {**tree, "metadata": {"name": name_vm(number), "labels": {"app": f"app-{number % 10}"}}}


class Load:
    """The statistics of all clients of one server."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._tls = system.make_tls_context()
        self.seconds: dict[str, list[float]] = {}
        """Response times by kind of request."""
        self.codes: Counter[int] = Counter()
        self.events = 0
        """Bytes that watchers have received."""
        self._connections: list[AsyncConnection] = []

    def connect(self) -> AsyncConnection:
        """Return a new connection, which `close` closes."""
        self._connections.append(AsyncConnection(self._system, self._tls))
        return self._connections[-1]

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(connection.wait_closed() for connection in self._connections))

    def check(self, kind: str, reply: Reply) -> bool:
        """Record a response; return False if the server is overloaded, and fail if it has any other error."""
        self.codes[reply.status] += 1
        if reply.status == 429:
            check_overload(reply)
            return False
        assert reply.status in (200, 201), (kind, reply.status, reply.body[:500])
        self.seconds.setdefault(kind, []).append(reply.seconds)
        return True

    async def create(self, namespaces: list[str], count: int) -> None:
        """Create namespaces, and VMs in them."""
        first = self.connect()
        for name in namespaces:
            tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            assert (await first.request("POST", "/api/v1/namespaces", tree)).status == 201
        numbers = iter(range(count))

        async def create_some(connection: AsyncConnection) -> None:
            for number in numbers:
                path = vms_path(namespaces[number % len(namespaces)])
                self.check("create", await connection.request("POST", path, build_load_vm(number)))

        await asyncio.gather(*(create_some(self.connect()) for _ in range(CREATORS)))

    async def write(self, path: str, pause: float, delay: float = 0.0) -> None:
        """Change a label of an object repeatedly; `delay` is the time before the first write."""
        connection = self.connect()
        await asyncio.sleep(delay)
        for number in itertools.count():
            patch = {"metadata": {"labels": {"round": str(number)}}}
            reply = await connection.request("PATCH", path, patch, MERGE_PATCH)
            await asyncio.sleep(pause if self.check("write", reply) else int(reply.headers["retry-after"]))

    async def watch(self, path: str) -> None:
        """Watch objects; fail if the server ends the watch."""
        connection = self.connect()
        reply = await connection.send(connection.format("GET", f"{path}?watch=true"), has_body=False)
        assert reply.status == 200
        while data := await connection.read_stream():
            self.events += len(data)
        raise AssertionError("the server closed a watch")

    async def list(self, path: str, accept: str, pause: float) -> None:
        """List objects repeatedly."""
        connection = self.connect()
        request = connection.format("GET", path).replace(b"host: x", b"host: x\r\naccept: " + accept.encode())
        while True:
            self.check(f"list {accept}", await connection.send(request))
            await asyncio.sleep(pause)

    async def probe(self, pause: float, kind: str = "probe") -> None:
        """Check the health, renew a lease and get an object repeatedly, in a separate process."""
        authority = self._system.directory / "pki" / "ca.crt"
        arguments = [self._system.url, str(authority), self._system.config["token"], kind, str(pause)]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.robustness.probes", *arguments), stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                request, status, seconds = line.split()
                self.codes[int(status)] += 1
                assert int(status) in (200, 201), line
                self.seconds.setdefault(f"{kind} {request.decode()}", []).append(float(seconds))
            raise AssertionError("the probes ended")
        finally:
            process.kill()
            await process.wait()

    async def wait_for_probes(self, kind: str = "probe", count: int = 3) -> None:
        """Wait until the probes have this many responses of each kind."""
        async with asyncio.timeout(PROBES_SECONDS):
            while len(self.seconds.get(f"{kind} get", ())) < count:
                await asyncio.sleep(0.05)

    async def wait_for_events(self) -> None:
        """Wait until a watcher has received an event."""
        async with asyncio.timeout(PROBES_SECONDS):
            while not self.events:
                await asyncio.sleep(0.05)

    def percentile(self, kind: str, share: float) -> float:
        """Return the response time that this share of the requests of a kind stays below."""
        found = sorted(self.seconds[kind])
        return found[min(len(found) - 1, int(len(found) * share))]

    def describe(self) -> str:
        """Return the statistics as text."""
        lines = [
            f"{kind}: {len(found)} requests, p50 {self.percentile(kind, 0.5) * 1000:.0f} ms, "
            f"p99 {self.percentile(kind, 0.99) * 1000:.0f} ms, max {max(found) * 1000:.0f} ms"
            for kind, found in self.seconds.items()
        ]
        return "\n".join([*lines, f"codes {dict(self.codes)}, {self.events} bytes of events"])


def check_overload(reply: Reply) -> None:
    """Check that a 429 response is a complete Status and says when to retry."""
    tree: Any = reply.tree
    assert (tree["kind"], tree["code"], tree["reason"]) == ("Status", 429, "TooManyRequests")
    assert int(reply.headers["retry-after"]) >= 1
    assert tree["details"]["retryAfterSeconds"] == int(reply.headers["retry-after"])


@asynccontextmanager
async def running(clients: Iterable[Awaitable[None]]) -> AsyncIterator[None]:
    """Run clients until the block ends; raise the error of a client that fails."""
    tasks = [asyncio.ensure_future(client) for client in clients]
    try:
        yield
        failed = [task for task in tasks if task.done()]
        for task in failed:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
