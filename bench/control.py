"""
Speed of the controllers: time from a VM's creation to its running instance, and the cost of 10,000 running VMs.

The benchmark runs a server with a simulated node. It prints a table and writes it to docs/performance.md.
"""

import http.client
import json
import os
import pathlib
import re
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol

from bench.running import Running, cpu_seconds, resident_megabytes, run_load, started, write_page

PLAYED = ("--launcher", "simulate")
RATE = 50
TIMED = 1_000
VMS = 10_000
IDLE_SECONDS = 20.0
CALM_CPU = 0.02
NAMESPACE = "/apis/kubevirt.io/v1/namespaces/default"
INSTANCETYPE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta2",
    "kind": "VirtualMachineClusterInstancetype",
    "metadata": {"name": "bench"},
    "spec": {"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}},
}
PREFERENCE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta2",
    "kind": "VirtualMachineClusterPreference",
    "metadata": {"name": "bench"},
    "spec": {"devices": {"preferredDiskBus": "virtio"}, "requirements": {"cpu": {"guest": 1}}},
}


def build_vm(name: str) -> dict[str, Any]:
    """Return a running VM with an instance type, a preference and two disks."""
    disks = [{"name": "root", "disk": {}}, {"name": "seed", "disk": {}}]
    volumes = [
        {"name": "root", "containerDisk": {"image": "registry.example/guest:1"}},
        {"name": "seed", "cloudInitNoCloud": {"userData": f"#cloud-config\nhostname: {name}\n"}},
    ]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "bench"}},
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": "bench"},
            "preference": {"name": "bench"},
            "template": {"spec": {"domain": {"devices": {"disks": disks}}, "volumes": volumes}},
        },
    }


class Reachable(Protocol):
    """A server with a URL and a token."""

    @property
    def url(self) -> str:
        """The URL of the server."""

    @property
    def token(self) -> str:
        """A token that the server accepts."""


class Caller:
    """One connection to a server."""

    def __init__(self, server: Reachable) -> None:
        self._headers = {"authorization": f"Bearer {server.token}", "content-type": "application/json"}
        context = ssl._create_unverified_context()  # noqa: S323, SLF001 - our own server on loopback
        self._connection = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=context)

    def post(self, path: str, body: dict[str, Any]) -> None:
        """Create an object."""
        self.ask("POST", path, body)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request and return the decoded response; raise RuntimeError if the request fails."""
        text = json.dumps(body) if body is not None else None
        self._connection.request(method, path, text, self._headers)
        reply = self._connection.getresponse()
        answer = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {answer[:300]!r}")
        return json.loads(answer) if answer else None

    def watch(self, path: str) -> Iterator[bytes]:
        """Watch a list and yield each line of the response."""
        self._connection.request("GET", f"{path}?watch=true", headers=self._headers)
        reply = self._connection.getresponse()
        while line := reply.readline():
            yield line


class Followed:
    """Records when each instance was seen running."""

    def __init__(self, server: Running) -> None:
        self.running: dict[str, float] = {}
        self._caller = Caller(server)
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        for line in self._caller.watch(f"{NAMESPACE}/virtualmachineinstances"):
            name = re.search(rb'"name":"([^"]+)"', line)
            if name is not None and b'"phase":"Running"' in line:
                self.running.setdefault(name[1].decode(), time.perf_counter())

    def wait_for(self, count: int) -> None:
        """Wait until this many instances have run."""
        while len(self.running) < count:
            time.sleep(0.05)


def main() -> None:
    """Run all measurements and print them."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = ["| work | goal | virtshape |", "| --- | --- | --- |"]
        lines += measure_share(pathlib.Path(scratch, "share"))
        lines += measure_many(pathlib.Path(scratch, "many"))
    print("\n".join(lines))
    write_page("controllers", lines)


def measure_share(directory: pathlib.Path) -> Iterator[str]:
    """Measure the CPU time for creating a halted VM while the controllers run."""
    folder = os.environ.get("VIRTSHAPE_BENCH")
    if not folder:
        return
    with started(directory, *PLAYED) as server:
        output = run_load(pathlib.Path(folder, "load.py"), server, "--phases", "setup,create16")
    cpu = re.search(r"create16 .*srvcpu/op \{'server': ([\d.]+)\}", output)
    yield f"| create a halted VM, 16 clients, with controllers: CPU | | {float(cpu[1]) if cpu else 0:.2f} ms |"


def measure_many(directory: pathlib.Path) -> Iterator[str]:
    """Measure VM starts at a steady rate, then the cost of many idle VMs, and a restart of the server with them."""
    with started(directory, *PLAYED) as server:
        caller, followed = Caller(server), Followed(server)
        for kind, body in (("instancetypes", INSTANCETYPE), ("preferences", PREFERENCE)):
            caller.post(f"/apis/instancetype.kubevirt.io/v1beta2/virtualmachinecluster{kind}", body)
        begun = create_steadily(caller, TIMED)
        followed.wait_for(TIMED)
        waits = sorted(followed.running[name] - since for name, since in begun.items())
        p50, p99 = waits[TIMED // 2] * 1000, waits[TIMED * 99 // 100] * 1000
        yield f"| VM create to instance Running at {RATE}/s, p50 / p99 | - / 100 ms | {p50:.0f} / **{p99:.0f} ms** |"
        for number in range(TIMED, VMS):
            caller.post(f"{NAMESPACE}/virtualmachines", build_vm(f"vm-{number:05d}"))
        followed.wait_for(VMS)
        wait_until_calm(server)
        before = cpu_seconds(server.process.pid)
        time.sleep(IDLE_SECONDS)
        idle = (cpu_seconds(server.process.pid) - before) / IDLE_SECONDS
        yield f"| {VMS:,} VMs Running: idle CPU | 2 % | **{idle:.1%}** |"
        yield f"| {VMS:,} VMs Running: resident memory | 250 MB | **{resident_megabytes(server.process.pid):.0f} MB** |"
    begin = time.perf_counter()
    with started(directory, *PLAYED) as server:
        wait_until_calm(server)
        reconciled = time.perf_counter() - begin
        yield f"| restart with them: to ready | 3 s | **{server.seconds:.1f} s** |"
        yield f"| restart with them: to reconciled | 10 s | **{reconciled:.1f} s** |"


def create_steadily(caller: Caller, count: int) -> dict[str, float]:
    """Create VMs at a steady rate; return when each was created."""
    begun: dict[str, float] = {}
    begin = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begin + number / RATE - time.perf_counter()))
        name = f"vm-{number:05d}"
        caller.post(f"{NAMESPACE}/virtualmachines", build_vm(name))
        begun[name] = time.perf_counter()
    return begun


def wait_until_calm(server: Running) -> None:
    """Wait until the server has been idle for half a second."""
    pid = server.process.pid
    before = cpu_seconds(pid)
    while True:
        time.sleep(0.5)
        now = cpu_seconds(pid)
        if now - before <= CALM_CPU:
            return
        before = now
