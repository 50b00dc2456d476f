"""
Speed of `virtshape up`: the load of $VIRTSHAPE_BENCH's load.py, start-up, memory, and the cost of the 50,000th VM.

Prints tables with the results of etcd and kube-apiserver under the same load, and writes them to docs/performance.md.
"""

import json
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.peer import measure_peer
from bench.running import Running, resident_megabytes, run_load, started, write_page

PHASES = (
    "setup,create1,create16,get1,get16,list,patch1,patch16,apply16,status16,expand16,fanlag,fanout,delete16,delcoll"
)
PEER_PHASES = "setup,create1,create16,get1,get16,list,patch1,patch16,apply16,status16"
COLUMNS = (
    "etcd + kube-apiserver, as recorded",
    "with KubeVirt's admission, as recorded",
    "etcd + kube-apiserver in this run, with CPU",
    "goal",
    "virtshape",
    "p50 / p99 ms",
    "CPU ms/op",
)
ALONE = ("--launcher", "none", "--no-controllers")
CURVE = (1_000, 10_000, 50_000)
BATCH = 5_000


class Target(NamedTuple):
    """A phase, its label, the results of the peers, and our goal."""

    phase: str
    label: str
    apiserver: str
    kubevirt: str
    goal: str


TARGETS = (
    Target("create1", "create, one client", "198/s", "56/s", "448/s"),
    Target("create16", "create, 16 clients", "264/s", "73/s", "1,825/s"),
    Target("get1", "get, one client", "556/s", "613/s", "2,224/s"),
    Target("get16", "get, 16 clients", "932/s", "688/s", "3,728/s"),
    Target("list", "list 1,000 VMs", "65 ms", "73 ms", "10 ms"),
    Target("list_table", "list 1,000 VMs as Table", "33 ms", "35 ms", "15 ms"),
    Target("patch1", "merge patch, one client", "141/s", "54/s", "432/s"),
    Target("patch16", "merge patch, 16 clients", "214/s", "63/s", "1,260/s"),
    Target("apply16", "server-side apply, 16 clients", "201/s", "63/s", "630/s"),
    Target("status16", "status patch, 16 clients", "267/s", "118/s", "590/s"),
    Target("expand16", "expand-spec, 16 clients", "-", "199/s", "1,990/s"),
    Target("delete16", "delete, 16 clients", "368/s", "197/s", "985/s"),
    Target("fanlag", "one update until 100 watchers have it", "7.2 ms", "21 ms", "7 ms"),
    Target("fanout", "100 watchers, 500 updates, all received", "2.3-3.9 s", "6.1-12.2 s", "1 s"),
    Target("delcoll", "deletecollection of 1,000", "3.6-4.5 s", "4.2-5.2 s", "0.5 s"),
)


def main() -> None:
    """Run all measurements and print them."""
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
    """Run the load once and return its results as a table."""
    results = scratch / "results.json"
    baseline = measure_peer(load, scratch, PEER_PHASES)
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
        yield (
            f"| {target.label} | {target.apiserver} | {target.kubevirt} | "
            f"{describe_peer(target, baseline.get(target.phase))} | {target.goal} | "
            f"**{describe(target, result)}** | {result['p50_ms']} / {result['p99_ms']} | {cpu:.2f} |"
        )
    yield f"| start to ready | 2.3-3.4 s | 3-5 s more | | 1.5 s | **{server.seconds:.2f} s** | | |"
    yield f"| resident memory idle | 460 MB | 650 MB | | 60 MB | **{idle:.0f} MB** | | |"
    yield f"| resident memory after this run | 1.3 GB | 1.5 GB | | 150 MB | **{loaded:.0f} MB** | | |"


def describe_peer(target: Target, result: dict[str, Any] | None) -> str:
    """Return the result of kube-apiserver in this run, and its CPU time with etcd."""
    if result is None or "errors" in result:
        return "-"
    return f"{describe(target, result)}, {sum(result['srv_cpu_ms_per_op'].values()):.1f} ms"


def describe(target: Target, result: dict[str, Any]) -> str:
    """Return a result in the unit of its goal."""
    if target.phase == "fanout":
        return f"{result['all_received_s']:.2f} s"
    if target.goal.endswith("/s"):
        return f"{result['ops_s']:,.0f}/s"
    return f"{result['p50_ms'] / 1000:.2f} s" if target.goal.endswith(" s") else f"{result['p50_ms']:.1f} ms"


def measure_growth(load: pathlib.Path, directory: pathlib.Path) -> Iterator[str]:
    """Measure the cost of creation as the number of VMs grows, and the start-up time after that."""
    yield "| existing VMs | create, 16 clients | start to ready |"
    yield "| --- | --- | --- |"
    there = 0
    for wanted in CURVE:
        with started(directory, *ALONE) as server:
            rate = ""
            while there < wanted:
                count = min(BATCH, wanted - there)
                rate = create_more(load, server, there, count)
                there += count
        with started(directory, *ALONE) as server:
            yield f"| {there:,} | {rate} | {server.seconds:.2f} s |"


def create_more(load: pathlib.Path, server: Running, start: int, count: int) -> str:
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
