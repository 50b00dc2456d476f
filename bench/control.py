"""
Speed of the controllers: time from a VM's creation to its running instance, and the cost of 10,000 running VMs.

The benchmark runs a server with a simulated node, and then two servers to compare VMs with and without shared
revisions. It prints each figure when it is measured. The environment variable VMS sets another number of VMs; only the
tables of a run with 10,000 VMs are written to docs/performance.md.
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import sqlite3
import ssl
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from bench.running import RunningServer, cpu_seconds, resident_megabytes, run_load, started, write_page

PLAYED = ("--launcher", "simulate")
RATE = 50
FULL_VMS = 10_000
VMS = int(os.environ.get("VMS") or FULL_VMS)
TIMED = min(1_000, VMS)
LIMIT_SECONDS = 1_800.0
"""Maximum time of each part of the benchmark."""
IDLE_SECONDS = 20.0
CALM_CPU = 0.02
NAMESPACE = "/apis/kubevirt.io/v1/namespaces/default"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
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
    """Return a VM that always runs, with an instance type, a preference and two disks."""
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


class TimeLimit:
    """The deadline of one part of the benchmark."""

    def __init__(self, seconds: float = LIMIT_SECONDS) -> None:
        self._minutes = seconds / 60
        self._end = time.monotonic() + seconds

    def check(self, work: str) -> None:
        """Raise TimeoutError if the deadline has passed; `work` names what was not finished."""
        if time.monotonic() > self._end:
            advice = f"set fewer VMs, such as VMS={max(1, VMS // 10)}"
            raise TimeoutError(f"{work} took more than {self._minutes:.0f} minutes: {advice}")


class ServerAddress(Protocol):
    """A server with a URL and a token."""

    @property
    def url(self) -> str:
        """The URL of the server."""

    @property
    def token(self) -> str:
        """A token that the server accepts."""


class ApiConnection:
    """One connection to a server."""

    def __init__(self, server: ServerAddress) -> None:
        self._headers = {"authorization": f"Bearer {server.token}", "content-type": "application/json"}
        context = ssl._create_unverified_context()  # noqa: S323, SLF001 - our own server on loopback
        self._connection = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=context)

    def post(self, path: str, body: dict[str, Any]) -> None:
        """Create an object."""
        self.ask("POST", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> None:
        """Change an object with a merge patch."""
        self.ask("PATCH", path, body, {"content-type": "application/merge-patch+json"})

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None
    ) -> Any:
        """Send a request and return the decoded response; raise RuntimeError if the request fails."""
        text = json.dumps(body) if body is not None else None
        self._connection.request(method, path, text, {**self._headers, **(headers or {})})
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


class InstanceWatcher:
    """Watches instances and records when each was first seen running."""

    def __init__(self, server: RunningServer) -> None:
        self.running: dict[str, float] = {}
        self._caller = ApiConnection(server)
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        for line in self._caller.watch(f"{NAMESPACE}/virtualmachineinstances"):
            name = re.search(rb'"name":"([^"]+)"', line)
            if name is not None and b'"phase":"Running"' in line:
                self.running.setdefault(name[1].decode(), time.perf_counter())

    def wait_for(self, count: int, limit: TimeLimit) -> None:
        """Wait until this many instances have been seen running."""
        while len(self.running) < count:
            limit.check(f"starting {count:,} VMs, of which {len(self.running):,} run,")
            time.sleep(0.05)


def main() -> None:
    """Run all measurements; print the results and write them to docs/performance.md."""
    with tempfile.TemporaryDirectory() as scratch:
        report("controllers", measure_controllers(pathlib.Path(scratch)))
        report("shared revisions", compare_sharing(pathlib.Path(scratch)))


def report(name: str, lines: Iterable[str]) -> None:
    """Print each line of a table when it is measured; with 10,000 VMs, also write the table to docs/performance.md."""
    table = []
    for line in lines:
        print(line, flush=True)
        table.append(line)
    if VMS == FULL_VMS:
        write_page(name, table)


def measure_controllers(directory: pathlib.Path) -> Iterator[str]:
    """Measure one server with a simulated node."""
    yield from ("| work | goal | virtshape |", "| --- | --- | --- |")
    yield from measure_share(directory / "share")
    yield from measure_many(directory / "many")


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
    """Measure VM starts at a steady rate, then the cost of many idle VMs, then a restart of their server."""
    limit = TimeLimit()
    with started(directory, *PLAYED) as server:
        connection, watcher = ApiConnection(server), InstanceWatcher(server)
        create_types(connection)
        begun = create_steadily(connection, TIMED)
        watcher.wait_for(TIMED, limit)
        waits = sorted(watcher.running[name] - since for name, since in begun.items())
        p50, p99 = waits[TIMED // 2] * 1000, waits[TIMED * 99 // 100] * 1000
        yield f"| VM create to instance Running at {RATE}/s, p50 / p99 | - / 100 ms | {p50:.0f} / **{p99:.0f} ms** |"
        start_vms(connection, watcher, range(TIMED, VMS), limit)
        wait_until_idle(server, limit)
        before = cpu_seconds(server.process.pid)
        time.sleep(IDLE_SECONDS)
        idle = (cpu_seconds(server.process.pid) - before) / IDLE_SECONDS
        yield f"| {VMS:,} VMs Running: idle CPU | 2 % | **{idle:.1%}** |"
        yield f"| {VMS:,} VMs Running: resident memory | 250 MB | **{resident_megabytes(server.process.pid):.0f} MB** |"
    begin = time.perf_counter()
    with started(directory, *PLAYED) as server:
        wait_until_idle(server, limit)
        reconciled = time.perf_counter() - begin
        yield f"| restart with them: to ready | 3 s | **{server.seconds:.1f} s** |"
        yield f"| restart with them: to reconciled | 10 s | **{reconciled:.1f} s** |"


def compare_sharing(directory: pathlib.Path) -> Iterator[str]:
    """Compare VMs that share revisions with VMs that do not; two servers run at once, under the same load."""
    modes = ("PerVM", "Namespace")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        apart, shared = pool.map(measure_sharing, (directory / mode for mode in modes), modes)
    yield f"| {VMS:,} VMs with one instance type and one preference | `PerVM` | `Namespace` |"
    yield "| --- | --- | --- |"
    for work, one in apart.items():
        yield f"| {work} | {one} | **{shared[work]}** |"


def measure_sharing(directory: pathlib.Path, mode: str) -> dict[str, str]:
    """Start VMs with this value of `revisionSharing`, and return their cost in storage, memory and CPU time."""
    limit = TimeLimit()
    with started(directory, *PLAYED) as server:
        connection, watcher = ApiConnection(server), InstanceWatcher(server)
        configuration = {"instancetype": {"revisionSharing": mode}}
        connection.patch(KUBEVIRT, {"spec": {"configuration": configuration}})
        create_types(connection)
        wait_until_idle(server, limit)
        before = cpu_seconds(server.process.pid)
        start_vms(connection, watcher, range(VMS), limit)
        wait_until_idle(server, limit)
        cpu = (cpu_seconds(server.process.pid) - before) / VMS
        memory = resident_megabytes(server.process.pid)
        revisions = connection.ask("GET", f"{REVISIONS}?labelSelector=instancetype.kubevirt.io/object-name")["items"]
    sizes = [len(json.dumps(revision, separators=(",", ":"))) for revision in revisions]
    return {
        "ControllerRevisions of instance types and preferences": f"{len(revisions):,}",
        "the same, in total": f"{sum(sizes) / 1e6:.1f} MB",
        "largest of them": f"{max(sizes) / 1e3:.1f} KB",
        "all objects in the database, without history": f"{measure_objects(directory) / 1e6:.1f} MB",
        "resident memory of the server": f"{memory:.0f} MB",
        "CPU for a VM until its instance is Running": f"{cpu * 1000:.1f} ms",
    }


def measure_objects(directory: pathlib.Path) -> int:
    """Return the bytes of all current objects in the database of a server that was stopped."""
    with contextlib.closing(sqlite3.connect(directory / "virtshape.db")) as database:
        query = "SELECT sum(length(value)) FROM log JOIN current USING (revision)"
        (size,) = database.execute(query).fetchone()
    return int(size)


def create_types(connection: ApiConnection) -> None:
    """Create the instance type and the preference of the VMs."""
    for kind, body in (("instancetypes", INSTANCETYPE), ("preferences", PREFERENCE)):
        connection.post(f"/apis/instancetype.kubevirt.io/v1beta2/virtualmachinecluster{kind}", body)


def start_vms(connection: ApiConnection, watcher: InstanceWatcher, numbers: range, limit: TimeLimit) -> None:
    """Create VMs with these numbers, one after the other, and wait until these and all earlier VMs run."""
    for number in numbers:
        limit.check(f"creating {numbers.stop:,} VMs, of which {number:,} exist,")
        connection.post(f"{NAMESPACE}/virtualmachines", build_vm(f"vm-{number:05d}"))
    watcher.wait_for(numbers.stop, limit)


def create_steadily(connection: ApiConnection, count: int) -> dict[str, float]:
    """Create VMs at a steady rate; return the time at which each was created, by name."""
    begun: dict[str, float] = {}
    begin = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begin + number / RATE - time.perf_counter()))
        name = f"vm-{number:05d}"
        connection.post(f"{NAMESPACE}/virtualmachines", build_vm(name))
        begun[name] = time.perf_counter()
    return begun


def wait_until_idle(server: RunningServer, limit: TimeLimit) -> None:
    """Wait until the server has been idle for half a second."""
    pid = server.process.pid
    before = cpu_seconds(pid)
    while True:
        time.sleep(0.5)
        now = cpu_seconds(pid)
        if now - before <= CALM_CPU:
            return
        limit.check("waiting for an idle server")
        before = now
