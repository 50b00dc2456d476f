"""
Speed of `virtshape up`: throughput under $VIRTSHAPE_BENCH/load.py, start-up, memory, and growth to 100,000 VMs.

The benchmark prints tables and writes them to docs/performance.md. They include the results of etcd and kube-apiserver
under the same load, without and with KubeVirt's virt-api.
"""

import json
import os
import pathlib
import re
import ssl
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPSConnection
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from bench.peer import LoadResults, measure_peer
from bench.running import RunningServer, resident_megabytes, run_load, started, write_page

PHASES = (
    "setup,create1,create16,get1,get16,list,patch1,patch16,apply16,status16,expand16,fanlag,fanout,delete16,delcoll"
)
COLUMNS = ("etcd + kube-apiserver", "with KubeVirt's virt-api", "goal", "virtshape", "p50 / p99 ms", "CPU ms/op")
ALONE = ("--launcher", "none", "--no-controllers")
CURVE = (1_000, 10_000, 50_000, 100_000)
BATCH = 5_000
PAGE = 500


class Target(NamedTuple):
    """A phase of the load generator, its label in the table, and our goal."""

    phase: str
    label: str
    goal: str


TARGETS = (
    Target("create1", "create, one client", "448/s"),
    Target("create16", "create, 16 clients", "1,825/s"),
    Target("get1", "get, one client", "2,224/s"),
    Target("get16", "get, 16 clients", "3,728/s"),
    Target("list", "list 1,000 VMs", "10 ms"),
    Target("list_table", "list 1,000 VMs as Table", "15 ms"),
    Target("patch1", "merge patch, one client", "432/s"),
    Target("patch16", "merge patch, 16 clients", "1,260/s"),
    Target("apply16", "server-side apply, 16 clients", "630/s"),
    Target("status16", "status patch, 16 clients", "590/s"),
    Target("expand16", "expand-spec, 16 clients", "1,990/s"),
    Target("delete16", "delete, 16 clients", "985/s"),
    Target("fanlag", "one update until 100 watchers have it", "7 ms"),
    Target("fanout", "100 watchers, 500 updates, all received", "1 s"),
    Target("delcoll", "deletecollection of 1,000", "0.5 s"),
)
PROCESS_TARGETS = (
    ("start to ready", "1.5 s", "{0.seconds:.1f} s"),
    ("resident memory idle", "60 MB", "{0.idle:,.0f} MB"),
    ("resident memory after this run", "150 MB", "{0.loaded:,.0f} MB"),
)


def main() -> None:
    """Run all measurements; print the results and write them to docs/performance.md."""
    folder = os.environ.get("VIRTSHAPE_BENCH")
    if not folder:
        print("  not measured: set VIRTSHAPE_BENCH to the folder with load.py")
        return
    load = pathlib.Path(folder, "load.py")
    with tempfile.TemporaryDirectory() as scratch:
        lines = [*measure_load(load, pathlib.Path(scratch)), "", *measure_growth(load, pathlib.Path(scratch, "grown"))]
    print("\n".join(lines))
    write_page("figures", lines)


def measure_load(load: pathlib.Path, scratch: pathlib.Path) -> Iterator[str]:
    """Run the load on virtshape and its peers, and yield the lines of a table with the results."""
    results = scratch / "results.json"
    peers = [measure_peer(load, scratch / f"peer-{flag}", PHASES, kubevirt=flag) for flag in (False, True)]
    with started(scratch / "data", *ALONE) as server:
        idle = resident_megabytes(server.process.pid)
        run_load(load, server, "--phases", PHASES, "--out", str(results))
        loaded = resident_megabytes(server.process.pid)
    found = json.loads(results.read_text())["results"]
    yield f"| work | {' | '.join(COLUMNS)} |"
    yield "| --- " * (len(COLUMNS) + 1) + "|"
    for target in TARGETS:
        result = found[target.phase]
        if "errors" in result:
            raise RuntimeError(f"{target.phase}: {result['first_error']}")
        cpu = result["srv_cpu_ms_per_op"]["server"]
        theirs = " | ".join(describe_peer(target, peer) for peer in peers)
        yield (
            f"| {target.label} | {theirs} | {target.goal} | "
            f"**{describe(target, result)}** | {result['p50_ms']} / {result['p99_ms']} | {cpu:.2f} |"
        )
    ours = LoadResults(found, server.seconds, idle, loaded)
    for label, goal, form in PROCESS_TARGETS:
        theirs = " | ".join("-" if peer is None else form.format(peer) for peer in peers)
        yield f"| {label} | {theirs} | {goal} | **{form.format(ours)}** | | |"


def describe_peer(target: Target, peer: LoadResults | None) -> str:
    """Return a peer's result and the CPU time of all its processes per operation, or "-" if there is no result."""
    result = None if peer is None else peer.phases.get(target.phase)
    if result is None or "errors" in result:
        return "-"
    return f"{describe(target, result)}, {sum(result['srv_cpu_ms_per_op'].values()):.1f} ms of CPU"


def describe(target: Target, result: dict[str, Any]) -> str:
    """Return a result in the unit of its goal."""
    if target.phase == "fanout":
        return f"{result['all_received_s']:.2f} s"
    if target.goal.endswith("/s"):
        return f"{result['ops_s']:,.0f}/s"
    return f"{result['p50_ms'] / 1000:.2f} s" if target.goal.endswith(" s") else f"{result['p50_ms']:.1f} ms"


def measure_growth(load: pathlib.Path, directory: pathlib.Path) -> Iterator[str]:
    """Measure creation, start-up, lists by page and memory as the number of VMs grows."""
    yield "| existing VMs | create, 16 clients | start to ready | first / last page of 500 VMs | resident memory |"
    yield "| --- | --- | --- | --- | --- |"
    there = 0
    for wanted in CURVE:
        with started(directory, *ALONE) as server:
            rate = ""
            while there < wanted:
                count = min(BATCH, wanted - there)
                rate = create_more(load, server, there, count)
                there += count
        with started(directory, *ALONE) as server:
            pages = list_pages(server)
            shown = f"{median(pages[:10]):.1f} / {median(pages[-10:]):.1f} ms"
            memory = resident_megabytes(server.process.pid)
            yield f"| {there:,} | {rate} | {server.seconds:.2f} s | {shown} | {memory:,.0f} MB |"


def list_pages(server: RunningServer) -> list[float]:
    """List all VMs, page by page; return the time of each page in milliseconds."""
    address = urlsplit(server.url)
    tls = ssl._create_unverified_context()  # noqa: S323, SLF001 - a server on loopback that this benchmark started
    connection = HTTPSConnection(str(address.hostname), address.port, context=tls)
    times: list[float] = []
    token = ""
    while not times or token:
        query = urlencode({"limit": PAGE, "continue": token})
        began = time.perf_counter()
        path = f"/apis/kubevirt.io/v1/virtualmachines?{query}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
        body = connection.getresponse().read()
        times.append((time.perf_counter() - began) * 1000)
        token = json.loads(body)["metadata"].get("continue", "")
    return times


def create_more(load: pathlib.Path, server: RunningServer, start: int, count: int) -> str:
    """Create this many VMs with new names; return the throughput."""
    program = load.read_text().replace('n = f"vm-{i:05d}"', f'n = f"vm-{{i + {start}:06d}}"')
    shifted = pathlib.Path(tempfile.gettempdir(), f"load-{os.getpid()}.py")
    shifted.write_text(program)
    try:
        output = run_load(shifted, server, "--phases", "setup,create16", "--n", str(count))
    finally:
        shifted.unlink()
    rate = re.search(r"create16 .*?([\d.]+)/s", output)
    return f"{float(rate[1]):,.0f}/s" if rate else "failed"
