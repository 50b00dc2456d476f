"""The control plane that the cluster tests start: garbage collection, restarts, and reports of missing binaries."""

import signal
import time
from collections.abc import Callable

import pytest
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import NAMES, find_binaries

TIMEOUT = 240.0


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not is_so():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.1)


def test_missing_control_plane_binaries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.controlplanebinaries.find_binary", lambda _: None)
    missing = find_binaries()
    assert isinstance(missing, str)
    assert all(name in missing for name in NAMES)


def test_dependents_are_deleted_with_their_owner(plane: ControlPlane, namespace: str) -> None:
    url = f"/api/v1/namespaces/{namespace}/configmaps"
    code, owner = plane.request("POST", url, {"metadata": {"name": "owner"}})
    assert code == 201, owner
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    code, owned = plane.request("POST", url, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    assert code == 201, owned
    assert plane.request("DELETE", f"{url}/owner")[0] == 200
    until(lambda: plane.request("GET", f"{url}/owned")[0] == 404)


def test_killed_api_server_has_all_objects_after_a_restart(plane: ControlPlane, namespace: str) -> None:
    plane.apiserver.stop(signal.SIGKILL)
    with pytest.raises(OSError, match="refused"):
        plane.request("GET", "/readyz")
    plane.start_apiserver()
    assert plane.request("GET", f"/api/v1/namespaces/{namespace}")[0] == 200
