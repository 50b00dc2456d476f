"""
virtshape installed on a control plane, with its components as local processes.

Deployments and monitoring are omitted, and Services are routed to this machine; all other objects are applied as
`virtshape manifests` prints them. Each component is a child process and uses its own service account.
"""

import contextlib
import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster.install import MAX_WEBHOOK_SECONDS, retry, wait_for_definitions
from tests.support.controlplane import ControlPlane
from tests.support.demo import find_free_port
from tests.support.kubectl import Kubectl

from virtshape.apiserver.auth.kubeconfig import Server, render_kubeconfig
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.deployments import list_arguments
from virtshape.cluster.manifests.naming import SERVING, Component
from virtshape.cluster.manifests.options import Options

COMMAND = Path(sys.executable).parent / "virtshape"
SYSTEM = "virtshape-system"
HOST = "127.0.0.1"
TIMEOUT = 240.0
LEADER = 'leader_election_master_status{name="virtshape-controller"}'
LEFT_OUT = ("deployments", "monitoring")
QUICK = ("--lease-seconds=15", "--renew-seconds=12", "--retry-seconds=0.5")
"""Short leader election times, so that tests are fast; on a busy machine, a renewal may still take some seconds."""


class ComponentProcess:
    """A component process with a log file."""

    def __init__(self, line: list[str], log: Path, health_port: int, metrics_port: int) -> None:
        self.log = log
        self._health_port = health_port
        self._metrics_port = metrics_port
        with log.open("ab") as output:
            self._process = subprocess.Popen(line, stdout=output, stderr=output, stdin=subprocess.DEVNULL)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def request(self, path: str = "/readyz") -> tuple[int, str]:
        """Send a request to the health or metrics port; return status and body, or 0 and "" if there is no response."""
        port = self._metrics_port if path == "/metrics" else self._health_port
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT / 4)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        return 0, ""

    def wait(self) -> "ComponentProcess":
        """Wait until the process is ready."""
        deadline = time.monotonic() + TIMEOUT
        while self.request()[0] != 200:
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"{'ended' if ended else 'not ready'}: {self.log.read_text()[-4000:]}")
            time.sleep(0.1)
        return self

    def read_metric(self, name: str) -> float:
        """Return the value of a metric; 0 if it is missing."""
        found = [line for line in self.request("/metrics")[1].splitlines() if line.startswith(f"{name} ")]
        return float(found[0].rpartition(" ")[2]) if found else 0.0

    def send(self, number: int) -> None:
        """Send a signal to the process."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Stop the process and return its exit status."""
        self.send(number)
        try:
            return self._process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise


class Installation:
    """virtshape on one control plane."""

    def __init__(self, plane: ControlPlane, kubectl: Kubectl, directory: Path, *, cdi: bool = False) -> None:
        self.plane = plane
        self.kubectl = kubectl
        self._directory = directory
        self._options = Options(cdi=cdi, catalog=True)
        self._count = 0
        self.https: dict[Component, int] = {component: find_free_port() for component in SERVING}

    def install(self) -> None:
        """Apply all objects except Deployments and monitoring; wait until the CRDs are established."""
        parts = build_parts(self._options)
        wanted = [tree for name, trees in parts.items() if name not in LEFT_OUT for tree in trees]
        self.add(*(self._route(tree) for tree in wanted if tree["kind"] != "Deployment"))
        wait_for_definitions(self.kubectl, [tree["metadata"]["name"] for tree in parts["crds"]])

    def add(self, *trees: dict[str, Any]) -> None:
        """Apply objects to the control plane."""
        if trees:
            arguments = ("apply", "--server-side", "-f", "-")
            retry(lambda: self.kubectl(*arguments, stdin=_write(list(trees))))  # a busy server may time out

    @contextlib.contextmanager
    def running(self, component: Component, *arguments: str) -> Iterator[ComponentProcess]:
        """Run a component until the block ends; wait until it is ready."""
        worker = self.start(component, *arguments)
        try:
            yield worker.wait()
        finally:
            worker.end()

    def start(self, component: Component, *arguments: str) -> ComponentProcess:
        """Start a component that uses its own service account."""
        self._count += 1
        health, metrics = find_free_port(), find_free_port()
        kubeconfig, log = (self._directory / f"{component}-{self._count}.{end}" for end in ("kubeconfig", "log"))
        token = self.kubectl.in_namespace(SYSTEM)("create", "token", f"virtshape-{component}", "--duration=2h").strip()
        server = Server(self.plane.url, self.plane.authority.pem)
        kubeconfig.write_text(render_kubeconfig(server, component, token, cluster="test"))
        line = [
            str(COMMAND),
            list_arguments(component, self._options)[0],
            f"--kubeconfig={kubeconfig}",
            f"--bind={HOST}",
            "--log-level=debug",
        ]
        line += [f"--health-port={health}", f"--metrics-port={metrics}"]
        if component in self.https:
            line += [f"--port={self.https[component]}", "--shutdown-delay=0"]
        if component == "controller":
            line += ["--launcher-image=launcher:1", *QUICK]
        line += ["--aggregated"] if component == "apiserver" else []
        return ComponentProcess([*line, *arguments], log, health, metrics)

    def wait_until_trusted(self) -> None:
        """Wait until the API server calls the webhooks and trusts their certificates."""

        def check() -> None:
            ran = self.kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(PROBE))
            assert "no such preference" not in ran.err
            assert '"no-such-type" not found' in ran.err, ran.err

        retry(check)

    def wait_until_proxied(self) -> None:
        """Wait until all versions of the aggregated API are available and receive requests, which may take longer."""

        def check(version: str) -> None:
            code, response = self.plane.request("GET", f"/apis/{ACTION_GROUP}/{version}")
            assert code == 200, response

        for version in ACTION_VERSIONS:
            wanted = ("apiservice", f"{version}.{ACTION_GROUP}", "--for=condition=Available")
            self.kubectl("wait", *wanted, f"--timeout={TIMEOUT:g}s")
            retry(partial(check, version))

    def _route(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Return the object with references to Services replaced by addresses of this machine."""
        if tree["kind"] == "Service" and tree["metadata"]["name"] in ("virtshape-webhook", "virtshape-apiserver"):
            return {**tree, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        routed: dict[str, Any] = self._reroute(tree)
        for webhook in routed.get("webhooks", []):
            webhook["timeoutSeconds"] = MAX_WEBHOOK_SECONDS  # the machine may be busy
        return routed

    def _reroute(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self._reroute(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if tree.get("name") in ("virtshape-webhook", "virtshape-apiserver") and tree.get("port") == 443:
            component: Component = "webhook" if tree["name"].endswith("webhook") else "apiserver"
            return {**tree, "port": self.https[component]}
        return {key: self._reroute(value) for key, value in tree.items()}


PROBE = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "probe", "namespace": "default"},
    "spec": {
        "runStrategy": "Halted",
        "instancetype": {"name": "no-such-type"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}


def _write(trees: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": trees})
