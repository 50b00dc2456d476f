"""
The web console in headless Chromium: time until a list is drawn, transferred bytes, and the frame rate of scrolling.

The server has 1,000 instance types and 5,000 VMs, and runs without controllers. The benchmark prints a table and writes
it to docs/performance.md.
"""

import pathlib
import statistics
import tempfile
from typing import NamedTuple, Self

from playwright.sync_api import Browser, ViewportSize, sync_playwright
from tests.support.webpages import FLAGS, find_chromium, sign_in

from bench.control import NAMESPACE, ApiConnection
from bench.running import RunningServer, started, write_page

INSTANCETYPES = 1_000
VMS = 5_000
LOADS = 5
SCROLL_SECONDS = 4
CATALOG = "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterinstancetypes"
VIEWPORT: ViewportSize = {"width": 1280, "height": 800}

# Records when the page's heading and the first row of a list were drawn: two animation frames after they are added.
RECORD_PAINT = """
    const note = (name, selector) => new MutationObserver((_, observer) => {
        if (!document.querySelector(selector)) return;
        observer.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => { window[name] ??= performance.now(); }));
    }).observe(document, {childList: true, subtree: true});
    note("paintedFrame", "h1");
    note("paintedRow", "tbody tr[aria-rowindex]");
"""
WAIT = """() => new Promise(resolve => {
    const look = () => window.paintedRow && window.paintedFrame ? resolve() : setTimeout(look, 10);
    look();
})"""
# Compressed bytes of the scripts and style sheets that the page has loaded.
TRANSFERRED = """performance.getEntriesByType("resource").filter(one => one.name.includes("/console/assets/"))
    .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
# Scrolls by 90 pixels in each frame and returns the times between frames, in milliseconds.
SCROLL = """seconds => new Promise(resolve => {
    const region = document.querySelector(".table-region");
    const times = [];
    const step = now => {
        times.push(now);
        region.scrollTop += 90;
        if (now - times[0] < seconds * 1000) requestAnimationFrame(step);
        else resolve(times.slice(1).map((time, index) => time - times[index]));
    };
    requestAnimationFrame(step);
})"""


class Load(NamedTuple):
    """One load of a page without a cache: times in milliseconds, and transferred kilobytes."""

    frame: float
    row: float
    cpu: float
    kilobytes: float


def main() -> None:
    """Run all measurements; print the results and write them to docs/performance.md."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("chromium is missing: tools/browser/install.sh installs it")
    lines = ["| work | goal | virtshape |", "| --- | --- | --- |"]
    with (
        tempfile.TemporaryDirectory() as scratch,
        started(pathlib.Path(scratch, "data"), "--no-controllers") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        few = measure_loads(browser, server, "instancetypes")
        lines.append(f"| transferred for the first page, compressed | 300 KB | **{few.kilobytes:.0f} KB** |")
        lines.append(f"| first useful paint, built-in catalog | 1 s | **{describe(few)}** |")
        fill(ApiConnection(server))
        for path, what in (("instancetypes", f"{INSTANCETYPES:,} instance types"), ("vms", f"{VMS:,} VMs")):
            lines.append(f"| first useful paint, {what} | | **{describe(measure_loads(browser, server, path))}** |")
            lines.append(f"| scrolling through {what} | 60 frames/s | **{measure_scrolling(browser, server, path)}** |")
        browser.close()
    print("\n".join(lines))
    write_page("web", lines)


def fill(connection: ApiConnection) -> None:
    """Create instance types of ten series, and VMs that use an instance type of the catalog."""
    for number in range(INSTANCETYPES):
        spec = {"cpu": {"guest": 1 + number % 64}, "memory": {"guest": f"{1 + number % 200}Gi"}}
        connection.post(CATALOG, describe_object("VirtualMachineClusterInstancetype", f"b{number % 10}.{number}", spec))
    for number in range(VMS):
        volume = {"name": "root", "containerDisk": {"image": "registry.example/os"}}
        spec = {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"devices": {}}, "volumes": [volume]}},
        }
        tree = describe_object("VirtualMachine", f"vm-{number}", spec) | {"apiVersion": "kubevirt.io/v1"}
        connection.post(f"{NAMESPACE}/virtualmachines", tree)


def describe_object(kind: str, name: str, spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": "instancetype.kubevirt.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


class OpenPage:
    """A page of the console in a new browser context, after its list was drawn; closed by its `with` block."""

    def __init__(self, browser: Browser, server: RunningServer, path: str) -> None:
        context = browser.new_context(base_url=server.url, ignore_https_errors=True, viewport=VIEWPORT)
        context.add_init_script(RECORD_PAINT)
        sign_in(context, server.url, server.token)
        self.page = context.new_page()
        self._metrics = context.new_cdp_session(self.page)
        self._metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(f"/console/{path}")
        self.page.locator("tbody tr[aria-rowindex]").first.wait_for(timeout=60_000)
        self.page.evaluate(WAIT)

    def measure_cpu(self) -> float:
        """Return the CPU time that the page's main thread has used, in milliseconds."""
        metrics = self._metrics.send("Performance.getMetrics")["metrics"]
        return next(1000.0 * float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.context.close()


def measure_loads(browser: Browser, server: RunningServer, path: str) -> Load:
    """Load a page several times; return the median of each measurement."""
    loads = []
    for _ in range(LOADS):
        with OpenPage(browser, server, path) as opened:
            cpu, evaluate = opened.measure_cpu(), opened.page.evaluate
            loads.append(Load(evaluate("paintedFrame"), evaluate("paintedRow"), cpu, evaluate(TRANSFERRED) / 1000))
    return Load(*(statistics.median(values) for values in zip(*loads, strict=True)))


def describe(load: Load) -> str:
    return f"{load.row / 1000:.2f} s, {load.cpu:.0f} ms of CPU (title after {load.frame / 1000:.2f} s)"


def measure_scrolling(browser: Browser, server: RunningServer, path: str) -> str:
    """Scroll a list; return the frames per second, the p99 of frame times, and the CPU time per frame, as text."""
    with OpenPage(browser, server, path) as opened:
        before = opened.measure_cpu()
        times = sorted(opened.page.evaluate(SCROLL, SCROLL_SECONDS))
        cpu = (opened.measure_cpu() - before) / len(times)
    rate = 1000 * len(times) / sum(times)
    return f"{rate:.0f} frames/s, p99 {times[int(len(times) * 0.99)]:.0f} ms, {cpu:.1f} ms of CPU each"
