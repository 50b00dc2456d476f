"""Large lists are read and rendered in threads: they do not block other requests, and their number is limited."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml
from tests.integration.objects import NamespacePaths, build_config
from tests.support.loopback import Client, LoopbackServer

from virtshape.apiserver import reading
from virtshape.store import store

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SECONDS = 240.0


@pytest.fixture(autouse=True)
def large_list(client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ConfigMaps, which count as a large list."""
    monkeypatch.setattr(reading, "MAX_RENDERED_BYTES", 100)
    for number in range(3):
        assert client.post(paths.core("configmaps"), build_config(f"settings-{number}")).status == 201


class PausedRenderer:
    """Stops every large list until `release` is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = threading.Semaphore(0)
        self._released = threading.Event()
        render = reading.render_list

        def wait(*arguments: Any) -> bytes:
            self.entered.release()
            assert self._released.wait(SECONDS)
            return render(*arguments)

        monkeypatch.setattr(reading, "render_list", wait)

    def release(self) -> None:
        self._released.set()


def test_large_list_has_the_same_content_in_all_formats(client: Client, paths: NamespacePaths) -> None:
    listed = client.get(paths.core("configmaps")).tree
    assert len(listed["items"]) >= 3
    assert yaml.safe_load(client.get(paths.core("configmaps"), accept="application/yaml").body) == listed
    rows = client.get(paths.core("configmaps"), accept=TABLE).tree["rows"]
    assert [row["cells"][0] for row in rows] == [item["metadata"]["name"] for item in listed["items"]]


def test_error_while_a_large_list_is_rendered_is_a_status(client: Client, paths: NamespacePaths) -> None:
    single = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    assert client.get(paths.core("configmaps"), accept=single).reason == (406, "NotAcceptable")


def test_large_list_returns_an_error_while_the_database_cannot_be_read(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_OBJECTS_ON_LOOP", 2)
    with monkeypatch.context() as patched:
        patched.setattr(store, "open_for_reading", fail_to_open)
        reply = client.get(paths.core("configmaps"))
        assert (reply.status, reply.tree["kind"]) == (500, "Status")
        assert "reading from the database failed: unable to open database file" in reply.tree["message"]
    assert len(client.get(paths.core("configmaps")).tree["items"]) >= 3
    assert client.get("/readyz").status == 500
    server.probe_store()
    assert client.get("/readyz").status == 200


def fail_to_open(path: object) -> sqlite3.Connection:
    _ = path
    raise sqlite3.OperationalError("unable to open database file")


def test_other_requests_do_not_wait_for_a_large_list(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer = PausedRenderer(monkeypatch)
    others = [server.connect() for _ in range(4)]
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(other.get, paths.core("configmaps")) for other in others]
        try:
            assert renderer.entered.acquire(timeout=SECONDS)
            assert client.get("/livez").status == 200
            assert client.get(paths.core("configmaps", "settings-1")).status == 200
            assert client.post(paths.core("configmaps"), build_config("more")).status == 201
        finally:
            renderer.release()
        assert [reply.result(SECONDS).status for reply in waiting] == [200] * 4
    for other in others:
        other.close()


def test_large_lists_beyond_the_concurrency_limit_return_429(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.system.server._reads, "_most", 0)  # noqa: SLF001 - as if all were busy
    reply = client.get(paths.core("configmaps"))
    assert (reply.reason, reply.headers["retry-after"]) == ((429, "TooManyRequests"), "1")
    assert client.get(paths.core("configmaps", "settings-1")).status == 200


def test_writes_of_leases_have_no_concurrency_limit(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.system.server._writes, "_most", 0)  # noqa: SLF001 - as if all were busy
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}}
    path = paths.core("configmaps").replace("/api/v1", "/apis/coordination.k8s.io/v1").replace("configmaps", "leases")
    assert client.post(path, lease).status == 201
    assert client.patch(f"{path}/leader", {"spec": {"holderIdentity": "a"}}).status == 200
    assert client.post(paths.core("configmaps"), build_config("more")).status == 429
