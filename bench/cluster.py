"""
Overhead on a cluster: time to create VMs and their instances, and memory for 10,000 VMs.

The benchmark runs etcd and kube-apiserver with durable writes, and our components as processes. It prints tables and
writes them to docs/performance.md.
"""

import contextlib
import json
import math
import os
import pathlib
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.cluster.components.installation import LEADER, ComponentProcess, Installation
from tests.cluster.install import retry
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import Binaries, find_binaries
from tests.support.kubectl import Kubectl, find_kubectls

from bench.control import ApiConnection
from bench.peer import issue_token, require_success
from bench.running import aim_load, cpu_seconds, write_page
from virtshape.cluster.manifests.webhooks import IGNORE_LABEL

STARTED = 1_000
VMS = 10_000
IDLE_SECONDS = 3.0
NAMESPACES = ("bench-1", "bench-2")
FOLLOWED = f"/apis/kubevirt.io/v1/namespaces/{NAMESPACES[1]}"
HISTOGRAM = "controller_runtime_webhook_latency_seconds_bucket"
AT_WORK = ("--log-level=info", "--lease-seconds=15", "--renew-seconds=10", "--retry-seconds=2")
COLUMNS = ("work", "kube-apiserver alone", "with our webhooks", "they add", "KubeVirt's webhooks add (recorded)")
RECORDED = {
    "create1": ("create a VM, one client", "11 / 30 ms (15 / 52 for 3.9 / 22)"),
    "create16": ("create a VM, 16 clients", "138 / 339 ms (184 / 567 for 46 / 228)"),
}


class MeasuredCluster(NamedTuple):
    """The cluster to measure, and its load generator."""

    site: Installation
    token: str
    load: pathlib.Path
    scratch: pathlib.Path

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return self.site.plane.url

    def run(self, phases: str, *arguments: str, load: pathlib.Path | None = None) -> dict[str, Any]:
        """Run phases of the load and return the result of each; raise RuntimeError if one of them fails."""
        out, plane = self.scratch / "results.json", self.site.plane
        pids = ",".join(f"{child.name}={child.pid}" for child in (plane.etcd, plane.apiserver))
        aim_load(load or self.load, self.url, self.token, pids, "--phases", phases, "--out", str(out), *arguments)
        results: dict[str, Any] = json.loads(out.read_text())["results"]
        for phase, result in results.items():
            if "errors" in result:
                raise RuntimeError(f"{phase}: {result['first_error']}")
        return results

    def change_load(self, *changes: tuple[str, str]) -> pathlib.Path:
        """Write a copy of the load generator with these replacements; return its path."""
        text = self.load.read_text()
        for old, new in changes:
            assert old in text, f"load.py has no {old}"
            text = text.replace(old, new)
        path = self.scratch / "load.py"
        path.write_text(text)
        return path

    def set_admission(self, *, asked: bool) -> None:
        """Enable or disable our webhooks for the benchmark's namespaces."""
        self.site.kubectl("label", "namespace", *NAMESPACES, f"{IGNORE_LABEL}{'-' if asked else '=ignore'}")
        time.sleep(1)  # time for the API server to notice the label


class InstanceWatcher:
    """Watches VMs and their instances, and records when each was first seen."""

    def __init__(self, cluster: MeasuredCluster) -> None:
        self.seen: dict[str, dict[str, float]] = {"virtualmachines": {}, "virtualmachineinstances": {}}
        for plural in self.seen:
            threading.Thread(target=self._follow, args=(ApiConnection(cluster), plural), daemon=True).start()

    def _follow(self, connection: ApiConnection, plural: str) -> None:
        with contextlib.suppress(OSError):  # the watch breaks when the API server stops, before this thread ends
            for line in connection.watch(f"{FOLLOWED}/{plural}"):
                name = re.search(rb'"name":"(vm-\d+)"', line)
                if name is not None:
                    self.seen[plural].setdefault(name[1].decode(), time.perf_counter())

    def wait_for(self, count: int) -> list[float]:
        """Wait until this many instances exist; return the sorted seconds between each VM and its instance."""
        vms, instances = self.seen.values()
        while len(instances) < count:
            time.sleep(0.05)
        return sorted(instances[name] - vms[name] for name in instances)

    @property
    def seconds(self) -> float:
        """The seconds from the creation of the first VM to the creation of the last instance."""
        vms, instances = self.seen.values()
        return max(instances.values()) - min(vms.values())


def main() -> None:
    """Run all measurements; print the results and write them to docs/performance.md."""
    binaries, folder, kubectls = find_binaries(), os.environ.get("VIRTSHAPE_BENCH"), find_kubectls()
    if not isinstance(binaries, Binaries) or not folder or not kubectls:
        reason = binaries if isinstance(binaries, str) else "set VIRTSHAPE_BENCH, and put a kubectl on PATH"
        print(f"  not measured: {reason}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch)
        with ControlPlane(binaries, path / "plane", with_controllers=False, durable=True) as plane:
            kubectl = Kubectl(list(kubectls.values())[-1], plane.kubeconfig, path, namespace="")
            installation = Installation(plane, kubectl, path)
            lines = list(
                measure(MeasuredCluster(installation, issue_token(plane), pathlib.Path(folder, "load.py"), path))
            )
    print("\n".join(lines))
    write_page("cluster", lines)


def measure(cluster: MeasuredCluster) -> Iterator[str]:
    """Run all measurements and yield the results as lines of Markdown tables."""
    cluster.site.install()
    with cluster.site.running("webhook", "--log-level=info") as webhook:
        cluster.site.wait_until_trusted()
        create_namespaces(cluster)
        yield f"| {' | '.join(COLUMNS)} |"
        yield "| --- " * len(COLUMNS) + "|"
        yield from measure_admission(cluster, webhook)
        yield ""
        with cluster.site.running("controller", *AT_WORK) as controller:
            retry(lambda: _insist(controller.read_metric(LEADER) == 1))
            yield "| work | goal | virtshape |"
            yield "| --- | --- | --- |"
            yield from measure_starts(cluster, webhook, controller)
            yield from measure_memory(cluster, controller)


def create_namespaces(cluster: MeasuredCluster) -> None:
    """Create the namespaces and their default service accounts, which a controller manager would create."""
    ask = cluster.site.plane.request
    for name in NAMESPACES:
        require_success(ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}}))
        require_success(ask("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}}))


def measure_admission(cluster: MeasuredCluster, webhook: ComponentProcess) -> Iterator[str]:
    """Measure VM creation without and with our webhooks, and the latency of the webhooks."""
    cluster.set_admission(asked=False)
    cluster.run("setup,create1,delcoll", "--n", "200")  # warm up before both measurements
    alone = cluster.run("create1,create16,delete16,delcoll")
    cluster.set_admission(asked=True)
    before = read_histogram(webhook)
    asked: dict[str, Any] = {}
    cpu: dict[str, float] = {}
    for phase in RECORDED:
        used = read_cpu(webhook)
        asked |= cluster.run(phase)
        cpu[phase] = (read_cpu(webhook) - used) * 1000 / asked[phase]["n"]
    counts = {bound: count - before[bound] for bound, count in read_histogram(webhook).items()}
    cluster.run("delete16,delcoll")
    for phase, (label, recorded) in RECORDED.items():
        added = " / ".join(f"{asked[phase][key] - alone[phase][key]:.1f}" for key in ("p50_ms", "p99_ms"))
        both = f"{describe(alone[phase])} | {describe(asked[phase])}"
        yield f"| {label}, p50 / p99 | {both} | **{added} ms** | {recorded} |"
    each = ", ".join(f"{cpu[phase]:.1f} ms with {clients}" for phase, clients in zip(cpu, ("one", "16"), strict=True))
    yield f"| CPU of the webhook per VM created | | {each} | | |"
    middle, late = (find_quantile(counts, share) * 1000 for share in (0.5, 0.99))
    took = f"{middle:.1f} / **{late:.1f} ms** (goal: 5 ms)"
    yield f"| response time of the webhook by its own clock, p50 / p99 | | {took} | | |"
    calls = max(counts.values()) / sum(result["n"] for result in asked.values())
    yield f"| webhook calls per VM created | | {calls:.1f} | | |"


def describe(result: dict[str, Any]) -> str:
    """Return latencies, throughput, and the CPU time of the API server and etcd, as text for the table."""
    cpu = sum(result["srv_cpu_ms_per_op"].values())
    return f"{result['p50_ms']:.1f} / {result['p99_ms']:.1f} ms, {result['ops_s']:.0f}/s, {cpu:.1f} ms of CPU"


def measure_starts(cluster: MeasuredCluster, webhook: ComponentProcess, controller: ComponentProcess) -> Iterator[str]:
    """Create VMs as fast as the API accepts them; measure the time until their instances are created."""
    plane = cluster.site.plane
    watcher = InstanceWatcher(cluster)
    before = read_cpu(webhook), read_cpu(controller), sum(map(cpu_seconds, (plane.etcd.pid, plane.apiserver.pid)))
    calls_before = max(read_histogram(webhook).values())
    cluster.run("create16", "--n", str(STARTED), load=cluster.change_load(('"Halted"', '"Always"')))
    waits = watcher.wait_for(STARTED)
    wait_until_idle(controller)
    after = read_cpu(webhook), read_cpu(controller), sum(map(cpu_seconds, (plane.etcd.pid, plane.apiserver.pid)))
    asked, ours, theirs = ((now - then) * 1000 / STARTED for now, then in zip(after, before, strict=True))
    took = f"{waits[STARTED // 2]:.2f} / {waits[STARTED * 99 // 100]:.2f} s"
    yield f"| VM create to instance create, {STARTED:,} VMs from 16 clients, p50 / p99 | - | {took} |"
    yield f"| until all {STARTED:,} instances exist | - | **{watcher.seconds:.1f} s** |"
    yield f"| CPU for a VM until its pod waits for a node: our controller | - | **{ours:.1f} ms** |"
    yield f"| the same: our webhook | - | {asked:.1f} ms |"
    yield f"| the same: kube-apiserver and etcd | - | {theirs:.0f} ms |"
    calls = (max(read_histogram(webhook).values()) - calls_before) / STARTED
    yield f"| webhook calls per VM | - | {calls:.1f} |"


def measure_memory(cluster: MeasuredCluster, controller: ComponentProcess) -> Iterator[str]:
    """Measure the controller's memory with many VMs, after it has reconciled all of them."""
    yield f"| controller's memory, {STARTED:,} VMs with instances and pods | - | {read_memory(controller)} |"
    cluster.set_admission(asked=False)
    shifted = cluster.change_load(('n = f"vm-{i:05d}"', f'n = f"vm-{{i + {STARTED}:05d}}"'))
    cluster.run("create16", "--n", str(VMS - STARTED), load=shifted)
    wait_until_idle(controller)
    yield f"| controller's memory, {VMS:,} VMs, {STARTED:,} of which run | - | **{read_memory(controller)}** |"


def wait_until_idle(controller: ComponentProcess) -> None:
    """Wait until the controller has used less than 2 % of a core for IDLE_SECONDS."""
    before = read_cpu(controller)
    while True:
        time.sleep(IDLE_SECONDS)
        now = read_cpu(controller)
        if now - before < IDLE_SECONDS / 50:
            return
        before = now


def read_cpu(worker: ComponentProcess) -> float:
    """Return the CPU seconds that a component has used."""
    return worker.read_metric("process_cpu_seconds_total")


def read_memory(worker: ComponentProcess) -> str:
    """Return the resident memory of a component, as text for the table."""
    return f"{worker.read_metric('process_resident_memory_bytes') / (1 << 20):.0f} MB"


def read_histogram(worker: ComponentProcess) -> dict[float, int]:
    """Return the cumulative number of webhook responses by upper bound in seconds."""
    counts: dict[float, int] = {}
    for line in worker.request("/metrics")[1].splitlines():
        found = re.fullmatch(rf'{HISTOGRAM}\{{le="(.*)",webhook="/admit/.*"\}} (\d+)\.0', line)
        if found is not None:
            bound = float(found[1])
            counts[bound] = counts.get(bound, 0) + int(found[2])
    return counts


def find_quantile(counts: dict[float, int], share: float) -> float:
    """Return the quantile of a histogram, interpolated linearly within a bucket."""
    wanted = share * counts[math.inf]
    low, below = 0.0, 0
    for bound, count in sorted(counts.items()):
        if count >= wanted:
            return low if math.isinf(bound) else low + (bound - low) * (wanted - below) / (count - below)
        low, below = bound, count
    return low


def _insist(fact: bool) -> None:
    assert fact
