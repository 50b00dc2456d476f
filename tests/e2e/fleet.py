"""
Many VMs on a server that is killed and restarted while they are created, started, stopped and deleted.

Every acknowledged request must survive a kill of the server.
"""

import contextlib
import http.client
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.smallmanifests import build_instancetype, build_vm
from tests.support.upprocess import System

from virtshape.api.model import JsonObject

TIMEOUT = 900.0
NAMESPACE = "fleet"
VIRTUAL_MACHINES = f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines"
VIRTUAL_MACHINE_INSTANCES = f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances"
REVISIONS = f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions"
SIZES = f"/apis/instancetype.kubevirt.io/v1beta2/namespaces/{NAMESPACE}/virtualmachineinstancetypes"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
ACTIONS = f"/apis/subresources.kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines"


class Fleet:
    """The VMs and their server."""

    def __init__(self, directory: Path, size: int) -> None:
        self.names = [f"vm-{number:04}" for number in range(size)]
        self.kills = 0
        self.directory = directory
        self._system = self._start()
        self._connection: http.client.HTTPSConnection | None = None

    def _start(self) -> System:
        return System(self.directory, "--launcher", "simulate")

    def kill(self) -> None:
        """Kill the server and restart it."""
        self._disconnect()
        self._system.stop(signal.SIGKILL)
        self._system = self._start()
        self.kills += 1

    def close(self) -> str:
        """Stop the server and return its log."""
        self._disconnect()
        self._system.stop()
        return self._system.log.read_text()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def request(self, method: str, path: str, tree: object = None) -> tuple[int, Any]:
        """Send a request; return the status code and the decoded body."""
        if self._connection is None:
            self._connection = self._system.connect()
            self._headers = {"Authorization": f"Bearer {self._system.config['token']}"}
        body = None if tree is None else json.dumps(tree)
        headers = {**self._headers, "Content-Type": "application/json", "Accept": "*/*"}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        data = answer.read()
        return answer.status, json.loads(data) if data else None

    def list(self, path: str) -> list[JsonObject]:
        """Return all objects at a path."""
        code, tree = self.request("GET", path)
        assert code == 200, tree
        items: list[JsonObject] = tree["items"]
        return items

    def create(self) -> Iterator[int]:
        """Create the namespace, the instance type and the VMs; yield the number of VMs so far."""
        self.request("POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.request("POST", SIZES, build_instancetype())
        matcher = {"name": "small", "kind": "VirtualMachineInstancetype"}
        for number, name in enumerate(self.names):
            code, answer = self.request("POST", VIRTUAL_MACHINES, build_vm(name, instancetype=matcher))
            assert code == 201, answer
            yield number + 1

    def act(self, action: str) -> Iterator[int]:
        """Start or stop all VMs; yield the number of requests so far."""
        for number, name in enumerate(self.names):
            code, answer = self.request("PUT", f"{ACTIONS}/{name}/{action}")
            assert code == 202, answer
            yield number + 1

    def count_states(self) -> Counter[str]:
        """Return the number of VMs by state."""
        return Counter((vm.get("status") or {}).get("printableStatus", "") for vm in self.list(VIRTUAL_MACHINES))

    def wait(self, holds: Callable[[], object], what: str) -> None:
        """Wait until a condition is true."""
        deadline = time.monotonic() + TIMEOUT
        while not holds():
            assert time.monotonic() < deadline, f"{what}: {self.count_states()}"
            time.sleep(0.5)


@contextlib.contextmanager
def run_fleet(directory: Path, size: int) -> Iterator[Fleet]:
    """Run a fleet; at the end, stop its server and check that the log has no traceback."""
    fleet = Fleet(directory / "data", size)
    try:
        yield fleet
    finally:
        log = fleet.close()
    assert "Traceback" not in log, log
