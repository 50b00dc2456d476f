"""
A server on loopback in a thread of the test process, and a plain HTTP client.

All requests use real connections. History is compacted on request.
"""

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

import uvloop

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject
from virtshape.api.times import now
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import ensure_admin
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.objectmetadata import initialize_object, make_write
from virtshape.apiserver.resource import resource_of
from virtshape.standalone.server import Settings, assemble

HOST = "127.0.0.1"
TIMEOUT = 240.0

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Response(NamedTuple):
    """A complete response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def tree(self) -> Any:
        return json.loads(self.body)

    @property
    def warnings(self) -> list[str]:
        return [text.removeprefix('299 - "').removesuffix('"') for text in self.headers.get_all("warning", [])]

    @property
    def reason(self) -> tuple[int, str]:
        """The status code and reason of an error."""
        return self.status, self.tree.get("reason", "")


class WatchStream:
    """An open watch; closed by its `with` block."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self.response = response

    def __iter__(self) -> Iterator[JsonObject]:
        """Yield events until the server closes the watch."""
        while line := self.response.readline():
            yield json.loads(line)

    def read(self, count: int) -> list[JsonObject]:
        """Return the next `count` events."""
        return [json.loads(self.response.readline()) for _ in range(count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self._connection.close()


class Client:
    """Sends requests one after another over one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self.headers = {"Authorization": f"Bearer {token}", "User-Agent": "tester/1.0"}
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(HOST, self._port, timeout=TIMEOUT)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request; a body that is not bytes is sent as JSON."""
        self._connection.request(method, _target(path, query), _encode(body), {**self.headers, **(headers or {})})
        response = self._connection.getresponse()
        return Response(response.status, response.headers, response.read())

    def get(self, path: str, *, accept: str = "application/json", **query: Any) -> Response:
        return self.send("GET", path, query=query, headers={"Accept": accept})

    def post(self, path: str, body: object, **query: Any) -> Response:
        return self.send("POST", path, body, query=query)

    def put(self, path: str, body: object, **query: Any) -> Response:
        return self.send("PUT", path, body, query=query)

    def patch(self, path: str, body: object, media: str = MERGE_PATCH, **query: Any) -> Response:
        return self.send("PATCH", path, body, query=query, headers={"Content-Type": media})

    def apply(self, path: str, body: object, manager: str = "applier", **query: Any) -> Response:
        return self.patch(path, body, APPLY_PATCH, fieldManager=manager, **query)

    def delete(self, path: str, body: object = None, **query: Any) -> Response:
        return self.send("DELETE", path, body, query=query)

    def watch(self, path: str, *, accept: str = "application/json", seconds: int = 300, **query: Any) -> WatchStream:
        """Open a watch on a separate connection; the server closes it after `seconds`."""
        connection = self._connect()
        target = _target(path, {"watch": "true", "timeoutSeconds": seconds, **query})
        connection.request("GET", target, headers={**self.headers, "Accept": accept})
        return WatchStream(connection, connection.getresponse())

    def close(self) -> None:
        self._connection.close()


def _target(path: str, query: Mapping[str, Any] | None) -> str:
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def _encode(body: object) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body).encode()


class LoopbackServer:
    """A server that runs until its `with` block ends."""

    def __init__(self, directory: Path, *, tls: bool = False, catalog: bool = False) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._settings = Settings(directory=directory, port=0, catalog=catalog)
        self._tls = tls
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()))

    async def _serve(self) -> None:
        async with assemble(self._settings) as self.system:
            self._loop = asyncio.get_running_loop()
            self._stopping = asyncio.Event()
            listener = self.listener = Listener(self.system.server.handle, authenticate=self.system.server.authenticate)
            context = self.system.directory.pki.build_server_context([HOST]) if self._tls else None
            self.port = await listener.start(HOST, 0, context)
            self.url = f"http{'s' if self._tls else ''}://{HOST}:{self.port}"
            kubeconfig = ensure_admin(self.system.directory, self.url)
            self.token = find_token(kubeconfig.read_text()) or ""
            self._ready.set()
            await self._stopping.wait()
            await listener.stop()

    def connect(self) -> Client:
        """Return a client with the admin's token."""
        return Client(self.port, self.token)

    def compact(self) -> None:
        """Compact all history."""
        store = self.system.store
        asyncio.run_coroutine_threadsafe(store.compact(store.revision), self._loop).result(TIMEOUT)

    def probe_store(self) -> None:
        """Repeat a failed read of the store, as the background task of a complete server does."""
        asyncio.run_coroutine_threadsafe(self.system.store.probe(TIMEOUT), self._loop).result(TIMEOUT)

    def store_directly(self, tree: JsonObject) -> None:
        """Store an object without admission."""
        kind = find_kind(tree["apiVersion"], tree["kind"])
        assert kind is not None, tree
        resource, metadata = resource_of(kind), tree["metadata"]
        begun = initialize_object(resource, tree, metadata.get("namespace", ""), metadata["name"], now())
        write = make_write(resource.key(metadata.get("namespace", ""), metadata["name"]), 0, begun)
        asyncio.run_coroutine_threadsafe(self.system.store.write(write), self._loop).result(TIMEOUT)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(TIMEOUT):
            raise RuntimeError("the server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(TIMEOUT)
