"""Rolling updates of the webhook: clients that write all the time see no failed request."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator

from tests.cluster.components.installation import HOST, ComponentProcess, Installation
from tests.support.demo import find_free_port

from virtshape.api.model import JsonObject

REQUESTS = 500
PROPAGATION_SECONDS = 2.0
"""Seconds until nodes know that a pod is being deleted; until then, they send new connections to the pod."""
SHUTDOWN_DELAY = "--shutdown-delay=10"
"""Much longer than the propagation, because a busy machine may delay connections that were sent to the pod."""
PIECE = 65536


class Service:
    """A Service as kube-proxy implements it: new connections use the endpoints in turn, open ones stay connected."""

    def __init__(self, *endpoints: int) -> None:
        self.port = find_free_port()
        self.endpoints = list(endpoints)
        self._turns = itertools.count()

    async def serve(self, ready: threading.Event, ending: threading.Event) -> None:
        async with await asyncio.start_server(self._relay, HOST, self.port):
            ready.set()
            await asyncio.to_thread(ending.wait)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endpoints = list(self.endpoints)  # another thread changes the list
        endpoint = endpoints[next(self._turns) % len(endpoints)]
        with contextlib.closing(writer):
            try:
                pod_reader, pod_writer = await asyncio.open_connection(HOST, endpoint)
            except OSError:
                return  # the pod no longer listens: the client sees a closed connection
            await asyncio.gather(_copy(reader, pod_writer), _copy(pod_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(PIECE):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.contextmanager
def serving(service: Service) -> Iterator[None]:
    """Run the Service until the block ends."""
    ready, ending = threading.Event(), threading.Event()
    worker = threading.Thread(target=lambda: asyncio.run(service.serve(ready, ending)), name="service")
    worker.start()
    ready.wait()
    try:
        yield
    finally:
        ending.set()
        worker.join()


class Writer(threading.Thread):
    """A client that changes a VM at least REQUESTS times, and until `ending` is set."""

    def __init__(self, installation: Installation, namespace: str) -> None:
        super().__init__(name="writer")
        self._plane = installation.plane
        self._path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"
        self.ending = threading.Event()
        self.answers: list[tuple[int, JsonObject]] = []

    def run(self) -> None:
        self.answers.append(self._plane.request("POST", self._path, VM))
        while len(self.answers) < REQUESTS or not self.ending.is_set():
            patch = {"spec": {"template": {"metadata": {"labels": {"turn": str(len(self.answers))}}}}}
            merge = {"Content-Type": "application/merge-patch+json"}
            self.answers.append(self._plane.request("PATCH", f"{self._path}/vm1", patch, **merge))

    def wait_for(self, count: int) -> None:
        """Wait until this many requests are answered."""
        while len(self.answers) < count and self.is_alive():
            time.sleep(0.05)


VM: JsonObject = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "vm1"},
    "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}}},
}


def test_no_request_fails_during_rolling_updates_of_the_webhook(
    installation: Installation, webhook: ComponentProcess, namespace: str
) -> None:
    del webhook  # the fixture provides the certificate; the Service does not route to its process
    routed, ports = installation.https["webhook"], [find_free_port() for _ in range(3)]
    service = Service(ports[0])
    with serving(service), contextlib.ExitStack() as pods:
        installation.https["webhook"] = service.port
        try:
            old = pods.enter_context(installation.running("webhook", f"--port={ports[0]}", SHUTDOWN_DELAY))
            installation.install()
            installation.wait_until_trusted()
            writer = Writer(installation, namespace)
            writer.start()
            for number, port in enumerate(ports[1:], 1):
                writer.wait_for(number * REQUESTS // 4)
                new = pods.enter_context(installation.running("webhook", f"--port={port}", SHUTDOWN_DELAY))
                service.endpoints.append(port)
                replaced = threading.Timer(PROPAGATION_SECONDS, service.endpoints.remove, [ports[number - 1]])
                replaced.start()
                assert old.end() == 0
                replaced.join()
                old = new
            writer.ending.set()
            writer.join()
        finally:
            installation.https["webhook"] = routed
            installation.install()
    installation.wait_until_trusted()  # the API server may still call the stopped Service
    assert len(writer.answers) >= REQUESTS
    assert [answer for answer in writer.answers if answer[0] not in (200, 201)] == []
