"""
Cost of a scrape of /metrics with 10,000 VMs and instances in the caches of the controllers.

A second task on the same event loop wakes up every millisecond; its delay is how long a scrape keeps other requests
waiting. The benchmark prints a table and writes it to docs/performance.md.
"""

import asyncio
import gzip
import resource
import statistics
import time
import uuid
from typing import Any

import uvloop
from msgspec.structs import replace

from bench.control import build_vm
from bench.running import write_page
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.apiserver.message import Request
from virtshape.client.cache import Cache
from virtshape.daemon.metrics.families import Family
from virtshape.daemon.metrics.scrape import Scraper
from virtshape.daemon.metrics.vms import VmMetrics
from virtshape.daemon.tuning import tune_process

VMS = 10_000
SCRAPES = 3
TICK_SECONDS = 0.001
STATUS = {
    "printableStatus": "Running",
    "created": True,
    "ready": True,
    "runStrategy": "Always",
    "effective": {"vcpus": 2, "memory": "4Gi", "topology": "2x1x1"},
    "instancetypeRef": {"name": "bench", "kind": "VirtualMachineClusterInstancetype"},
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"}],
}


def main() -> None:
    """Measure scrapes of a full and of an empty cache."""
    columns = (
        "VMs",
        "lines",
        "bytes (gzip)",
        "CPU time of the first scrape",
        "of later scrapes: no VM / all VMs changed",
        "of which on the event loop",
        "median delay of other tasks",
    )
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [uvloop.run(measure(count)) for count in (0, 1_000, VMS)]
    print("\n".join(lines))
    write_page("scrape", lines)


async def measure(count: int) -> str:
    """Return a row of the table: the medians of several scrapes."""
    vms, vmis = fill_caches(count)
    tune_process()
    on_loop: list[float] = []
    metrics = VmMetrics()

    def list_families() -> list[Family]:
        began = time.thread_time()
        families = metrics.list_snapshots(vms.take_snapshot(), vmis.take_snapshot())
        on_loop.append(time.thread_time() - began)
        return families

    scraper = Scraper(list_families)
    await scraper.answer(Request("GET", "/metrics?name[]=none", {}))  # the first scrape imports the Prometheus client
    first, _ = await measure_scrape(scraper)
    taken = [await measure_scrape(scraper) for _ in range(SCRAPES)]
    used, delay = (statistics.median(column) * 1000 for column in zip(*taken, strict=True))
    update_all(vms, vmis)
    changed, _ = await measure_scrape(scraper)
    body = (await scraper.answer(Request("GET", "/metrics", {}))).body
    size = f"{len(body) / 1e6:.2f} MB ({len(gzip.compress(body, 1)) / 1e6:.2f} MB)"
    lines, blocked = len(body.splitlines()), statistics.median(on_loop) * 1000
    return (
        f"| {count:,} | {lines:,} | {size} | {first * 1000:.0f} ms | "
        f"{used:.0f} / {changed * 1000:.0f} ms | {blocked:.2f} ms | {delay:.1f} ms |"
    )


async def measure_scrape(scraper: Scraper) -> tuple[float, float]:
    """Return the CPU time of a scrape, and the median delay of another task on the event loop, in seconds."""
    delays: list[float] = []
    ticker = asyncio.create_task(record_delays(delays))
    used = cpu()
    await scraper.answer(Request("GET", "/metrics", {"accept-encoding": "gzip"}))
    used = cpu() - used
    await asyncio.sleep(2 * TICK_SECONDS)
    ticker.cancel()
    return used, statistics.median(delays)


async def record_delays(delays: list[float]) -> None:
    """Record how much later than requested the event loop wakes this task up, until cancelled."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(TICK_SECONDS)
        delays.append(time.perf_counter() - began - TICK_SECONDS)


def fill_caches(count: int) -> tuple[Cache[VirtualMachine], Cache[VirtualMachineInstance]]:
    """Return caches with this many running VMs and their instances."""
    vms, vmis = Cache(VirtualMachine), Cache(VirtualMachineInstance)
    for number in range(count):
        tree = build_vm(f"vm-{number}")
        tree["metadata"]["uid"] = str(uuid.uuid4())
        vms.put(from_tree({**tree, "status": STATUS}, VirtualMachine))
        vmis.put(from_tree(build_instance(tree), VirtualMachineInstance))
    return vms, vmis


def update_all(vms: Cache[VirtualMachine], vmis: Cache[VirtualMachineInstance]) -> None:
    """Change the resource version of each object, as a status update does."""
    for vm in vms.list():
        vms.put(replace(vm, metadata=replace(vm.metadata, resource_version="2")))
    for vmi in vmis.list():
        vmis.put(replace(vmi, metadata=replace(vmi.metadata, resource_version="2")))


def build_instance(vm: dict[str, Any]) -> dict[str, Any]:
    """Return the running instance of a VM."""
    names = {"kubevirt.io/cluster-instancetype-name": "bench", "kubevirt.io/cluster-preference-name": "bench"}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {**vm["metadata"], "annotations": names},
        "spec": vm["spec"]["template"]["spec"],
        "status": {"phase": "Running", "nodeName": "node1"},
    }


def cpu() -> float:
    """Return the CPU time that this process has used, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
