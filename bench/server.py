"""
How fast `virtshape up` is: the load of $VIRTSHAPE_BENCH's load.py, start-up, memory, and what the 50,000th VM costs.

Prints tables beside the figures of etcd and kube-apiserver on the same work, and puts them into docs/performance.md.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
COMMANDS = pathlib.Path(sys.executable).parent
PHASES = "setup,create1,create16,get1,get16,list,patch1,patch16,apply16,status16,fanlag,fanout,delete16,delcoll"
CURVE = (1_000, 10_000, 50_000)
BATCH = 5_000


class Yardstick(NamedTuple):
    """What a phase is called, what the peers reach, and what we should."""

    phase: str
    words: str
    apiserver: str
    kubevirt: str
    goal: str


YARDSTICKS = (
    Yardstick("create1", "create, one client", "198/s", "56/s", "448/s"),
    Yardstick("create16", "create, 16 clients", "264/s", "73/s", "1,825/s"),
    Yardstick("get1", "get, one client", "556/s", "613/s", "2,224/s"),
    Yardstick("get16", "get, 16 clients", "932/s", "688/s", "3,728/s"),
    Yardstick("list", "list 1,000 VMs", "65 ms", "73 ms", "10 ms"),
    Yardstick("list_table", "list 1,000 VMs as Table", "33 ms", "35 ms", "15 ms"),
    Yardstick("patch1", "merge patch, one client", "141/s", "54/s", "432/s"),
    Yardstick("patch16", "merge patch, 16 clients", "214/s", "63/s", "1,260/s"),
    Yardstick("apply16", "server-side apply, 16 clients", "201/s", "63/s", "630/s"),
    Yardstick("status16", "status patch, 16 clients", "267/s", "118/s", "590/s"),
    Yardstick("delete16", "delete, 16 clients", "368/s", "197/s", "985/s"),
    Yardstick("fanlag", "one update until 100 watchers have it", "7.2 ms", "21 ms", "7 ms"),
    Yardstick("fanout", "100 watchers, 500 updates, all received", "2.3-3.9 s", "6.1-12.2 s", "1 s"),
    Yardstick("delcoll", "deletecollection of 1,000", "3.6-4.5 s", "4.2-5.2 s", "0.5 s"),
)


class Running(NamedTuple):
    """A server that was started, and how long that took."""

    process: subprocess.Popen[str]
    url: str
    token: str
    seconds: float


def main() -> None:
    """Measure everything and print it."""
    folder = os.environ.get("VIRTSHAPE_BENCH")
    if not folder:
        print("  not measured: set VIRTSHAPE_BENCH to the folder with load.py")
        return
    load = pathlib.Path(folder, "load.py")
    with tempfile.TemporaryDirectory() as scratch:
        lines = [*measure_load(load, pathlib.Path(scratch)), "", *measure_growth(load, pathlib.Path(scratch, "grown"))]
    print("\n".join(lines))
    write_page(lines)


def measure_load(load: pathlib.Path, scratch: pathlib.Path) -> Iterator[str]:
    """One run of the load, as a table."""
    results = scratch / "results.json"
    with started(scratch / "data") as server:
        idle = resident_megabytes(server.process.pid)
        run_load(load, server, "--phases", PHASES, "--out", str(results))
        loaded = resident_megabytes(server.process.pid)
    found = json.loads(results.read_text())["results"]
    yield "| work | etcd + kube-apiserver | with KubeVirt's admission | goal | virtshape | p50 / p99 ms | CPU ms/op |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for yardstick in YARDSTICKS:
        result = found[yardstick.phase]
        if "errors" in result:
            raise RuntimeError(f"{yardstick.phase}: {result['first_error']}")
        cpu = result["srv_cpu_ms_per_op"]["server"]
        yield (
            f"| {yardstick.words} | {yardstick.apiserver} | {yardstick.kubevirt} | {yardstick.goal} | "
            f"**{describe(yardstick, result)}** | {result['p50_ms']} / {result['p99_ms']} | {cpu:.2f} |"
        )
    yield f"| start to ready | 2.3-3.4 s | 3-5 s more | 1.5 s | **{server.seconds:.2f} s** | | |"
    yield f"| resident memory idle | 460 MB | 650 MB | 60 MB | **{idle:.0f} MB** | | |"
    yield f"| resident memory after this run | 1.3 GB | 1.5 GB | 150 MB | **{loaded:.0f} MB** | | |"


def describe(yardstick: Yardstick, result: dict[str, Any]) -> str:
    """A result in the unit of its goal."""
    if yardstick.phase == "fanout":
        return f"{result['all_received_s']:.2f} s"
    if yardstick.goal.endswith("/s"):
        return f"{result['ops_s']:,.0f}/s"
    return f"{result['p50_ms'] / 1000:.2f} s" if yardstick.goal.endswith(" s") else f"{result['p50_ms']:.1f} ms"


def measure_growth(load: pathlib.Path, directory: pathlib.Path) -> Iterator[str]:
    """What creating costs as the number of VMs grows, and how long starting then takes."""
    yield "| VMs there already | create, 16 clients | start to ready |"
    yield "| --- | --- | --- |"
    there = 0
    for wanted in CURVE:
        with started(directory) as server:
            rate = ""
            while there < wanted:
                count = min(BATCH, wanted - there)
                rate = create_more(load, server, there, count)
                there += count
        with started(directory) as server:
            yield f"| {there:,} | {rate} | {server.seconds:.2f} s |"


def create_more(load: pathlib.Path, server: Running, start: int, count: int) -> str:
    """Create so many VMs with names not used yet; how fast that went."""
    program = load.read_text().replace('n = f"vm-{i:05d}"', f'n = f"vm-{{i + {start}:06d}}"')
    shifted = pathlib.Path(tempfile.gettempdir(), f"load-{os.getpid()}.py")
    shifted.write_text(program)
    try:
        output = run_load(shifted, server, "--phases", "setup,create16", "--n", str(count))
    finally:
        shifted.unlink()
    rate = re.search(r"create16 .*?([\d.]+)/s", output)
    return f"{float(rate[1]):,.0f}/s" if rate else "failed"


def run_load(load: pathlib.Path, server: Running, *words: str) -> str:
    """Run the load generator against a server."""
    command = [sys.executable, str(load), "--url", server.url, "--token", server.token]
    ran = subprocess.run(
        [*command, "--pids", f"server={server.process.pid}", *words], capture_output=True, text=True, check=True
    )
    return ran.stdout


@contextmanager
def started(directory: pathlib.Path) -> Iterator[Running]:
    """A server on a data directory, for as long as the block runs."""
    begin = time.perf_counter()
    command = [str(COMMANDS / "virtshape"), "up", "--data-dir", str(directory), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--launcher", "none", "--no-controllers"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "KUBECONFIG" in line:
                break
        seconds = time.perf_counter() - begin
        kubeconfig = (directory / "kubeconfig").read_text()
        url, token = re.search(r"server: (\S+)", kubeconfig), re.search(r"token: (\S+)", kubeconfig)
        assert url is not None
        assert token is not None
        yield Running(process, url[1].strip('"'), token[1].strip('"'), seconds)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def resident_megabytes(pid: int) -> float:
    """How much memory a process holds."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def write_page(lines: list[str]) -> None:
    """Put the tables between the marks of the page."""
    page = ROOT / "docs" / "performance.md"
    before, mark, rest = page.read_text().partition("<!-- figures -->\n")
    _, end, after = rest.partition("<!-- end of figures -->")
    page.write_text(f"{before}{mark}" + "\n".join(lines) + f"\n{end}{after}")
