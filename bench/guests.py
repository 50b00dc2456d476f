"""
Overhead of guests compared with plain QEMU: start time, memory of the launcher process, 20 starts at once, and clones.

The benchmark runs real guests in a separate data directory. It prints a table and writes it to docs/performance.md.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.control import NAMESPACE, ApiConnection, InstanceWatcher, TimeLimit
from bench.running import COMMANDS, RunningServer, resident_megabytes, started, write_page
from virtshape.launcher.images.demo.build import ensure_demo_guest

ROUNDS = 15
AT_ONCE = 20
PATIENCE_SECONDS = 600.0
GIB = 1 << 30
MIB = 1 << 20
ACTIONS = "/apis/subresources.kubevirt.io/v1/namespaces/default"
CDI = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "virtshape" / "bench"


def main() -> None:
    """Run all measurements; print the results and write them to docs/performance.md."""
    with tempfile.TemporaryDirectory() as scratch:
        data = pathlib.Path(scratch, "data")
        copy_demo_guest(data)
        lines = ["| work | goal | virtshape |", "| --- | --- | --- |"]
        with started(data, "--launcher", "qemu") as server:
            connection = ApiConnection(server)
            try:
                wait_for(lambda: connection.ask("GET", "/api/v1/nodes")["items"], "a node")
                lines += measure_start(connection, server, data, pathlib.Path(scratch))
                lines += measure_many(connection, data)
                lines += measure_clones(connection, pathlib.Path(scratch), data)
            finally:  # guests would continue to run after the server stops
                remove_all(connection)
    print("\n".join(lines))
    write_page("guests", lines)


def copy_demo_guest(data: pathlib.Path) -> None:
    """Copy the demo guest to the data directory, so that its build is not measured."""
    images = data / "images" / "demo"
    images.mkdir(mode=0o700, parents=True)
    for path in ensure_demo_guest(CACHE):
        shutil.copy(path, images)


def build_vm(name: str, run_strategy: str = "Halted") -> dict[str, Any]:
    """Return a small VM that boots the demo guest."""
    template = {
        "terminationGracePeriodSeconds": 0,
        "domain": {"memory": {"guest": "128Mi"}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
        "volumes": [{"name": "root", "containerDisk": {"image": "virtshape.local/demo"}}],
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runStrategy": run_strategy, "template": {"spec": template}},
    }


def measure_start(
    connection: ApiConnection, server: RunningServer, data: pathlib.Path, scratch: pathlib.Path
) -> Iterator[str]:
    """Measure the time from start request to running instance, compared with plain QEMU, and the launcher's memory."""
    connection.post(f"{NAMESPACE}/virtualmachines", build_vm("timed"))
    ours, bare, own, shared = [], [], [], []
    for number in range(ROUNDS + 1):
        seconds, report = start_once(connection, server, data)
        alone = time_bare(report["qemu_pid"], scratch / f"bare-{number}")
        if number:  # the first start fills caches
            ours.append(seconds)
            bare.append(alone)
            own.append(private_megabytes(report["launcher_pid"]))
            shared.append(resident_megabytes(report["launcher_pid"]))
        stop(connection, "timed")
    beyond = statistics.median(mine - alone for mine, alone in zip(ours, bare, strict=True))
    middle, alone = statistics.median(ours), statistics.median(bare)
    details = f"{middle * 1000:.0f} ms, {alone * 1000:.0f} ms of which are QEMU alone"
    yield f"| VM start to its guest running, beyond QEMU alone | 300 ms | **{beyond * 1000:.0f} ms** ({details}) |"
    details = f"{statistics.median(shared):.0f} MB with what all launcher processes share"
    yield f"| resident memory of a guest beyond QEMU | 45 MB | **{statistics.median(own):.0f} MB** ({details}) |"
    connection.ask("DELETE", f"{NAMESPACE}/virtualmachines/timed")


def start_once(connection: ApiConnection, server: RunningServer, data: pathlib.Path) -> tuple[float, dict[str, Any]]:
    """Start the VM; return the seconds until its instance runs, and the report of its launcher process."""
    watcher = InstanceWatcher(server)
    time.sleep(0.3)  # time for the watch to be established
    begin = time.perf_counter()
    connection.ask("PUT", f"{ACTIONS}/virtualmachines/timed/start")
    watcher.wait_for(1, TimeLimit())
    seconds = watcher.running["timed"] - begin
    return seconds, read_report(connection, data, "timed")


def read_report(connection: ApiConnection, data: pathlib.Path, name: str) -> dict[str, Any]:
    """Return the launcher process's report on its guest."""
    uid = connection.ask("GET", f"{NAMESPACE}/virtualmachineinstances/{name}")["metadata"]["uid"]
    report: dict[str, Any] = json.loads((data / "guests" / uid / "report.json").read_text())
    return report


def time_bare(pid: int, directory: pathlib.Path) -> float:
    """Run the QEMU command of a guest again, with its own sockets and no launcher; return the seconds until it runs."""
    directory.mkdir()
    arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    command = make_bare(arguments, directory)
    monitor = directory / "charmonitor"
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not is_running(monitor):
            if process.poll() is not None or time.perf_counter() > begin + PATIENCE_SECONDS:
                raise RuntimeError(f"QEMU does not start: {' '.join(command)}")
            time.sleep(0.002)
        return time.perf_counter() - begin
    finally:
        process.kill()
        process.wait()


def make_bare(arguments: list[str], directory: pathlib.Path) -> list[str]:
    """Return QEMU's command line for a start without libvirt: with sockets in a directory, and without disk locks."""
    command: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "-S":
            continue
        if word in ("-add-fd", "-object", "-vnc", "-sandbox"):
            value = next(rest)
            if word == "-object" and '"secret"' not in value:
                command += [word, value]
            elif word == "-vnc":
                command += [word, f"vnc=unix:{directory}/vnc"]
            elif word == "-sandbox":
                command += [word, value]
            continue
        word = re.sub(r"^socket,id=(\w+),fd=\d+(.*?)(,logfile=.*)?$", rf"socket,id=\1,path={directory}/\1\2", word)
        word = re.sub(r",audiodev=\w+", "", word)
        if '"driver":"file"' in word:
            word = word.replace('"driver":"file"', '"driver":"file","locking":"off"')
        command.append(word)
    return command


def is_running(monitor: pathlib.Path) -> bool:
    """Return True if QEMU's monitor reports a running guest."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(monitor))
        except OSError:
            return False
        answers = connection.makefile("rw")
        answers.readline()
        for command in ("qmp_capabilities", "query-status"):
            answers.write(json.dumps({"execute": command}) + "\n")
            answers.flush()
            answer = answers.readline()
        return '"running": true' in answer


def private_megabytes(pid: int) -> float:
    """Return the memory of a process in MB, including its proportional share of shared pages."""
    found = re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def measure_many(connection: ApiConnection, data: pathlib.Path) -> Iterator[str]:
    """Start many guests at once; measure the time until all of them run, and until all have booted."""
    names = [f"guest-{number:02d}" for number in range(AT_ONCE)]
    begin = time.perf_counter()
    for name in names:
        connection.post(f"{NAMESPACE}/virtualmachines", build_vm(name, "Always"))
    wait_for(lambda: count_running(connection) >= AT_ONCE, "all guests to run")
    running = time.perf_counter() - begin
    logs = [data / "guests" / uid / "serial0.log" for uid in list_uids(connection)]
    wait_for(lambda: all('{"sockets"' in log.read_text(errors="replace") for log in logs), "all guests to boot")
    booted = time.perf_counter() - begin
    failures = AT_ONCE - count_running(connection)
    memory = [private_megabytes(read_report(connection, data, name)["launcher_pid"]) for name in names]
    cores = os.cpu_count()
    outcome = f"{failures} failures; all run after {running:.1f} s, all have booted after {booted:.0f} s"
    yield f"| {AT_ONCE} guests of 128 MiB at once, on {cores} cores | no failure | **{outcome}** |"
    yield f"| memory of their launcher processes, each | 45 MB | **{statistics.median(memory):.0f} MB** |"
    remove_all(connection)


def count_running(connection: ApiConnection) -> int:
    """Return the number of running instances; raise RuntimeError if a guest has failed."""
    items = connection.ask("GET", f"{NAMESPACE}/virtualmachineinstances")["items"]
    failed = [
        one for one in connection.ask("GET", "/api/v1/namespaces/default/events")["items"] if one["reason"] == "Failed"
    ]
    if failed:
        raise RuntimeError(f"a guest failed: {failed[0]['message']}")
    return sum(one.get("status", {}).get("phase") == "Running" for one in items)


def list_uids(connection: ApiConnection) -> list[str]:
    """Return the UIDs of all instances."""
    items = connection.ask("GET", f"{NAMESPACE}/virtualmachineinstances")["items"]
    return [one["metadata"]["uid"] for one in items]


def measure_clones(connection: ApiConnection, scratch: pathlib.Path, data: pathlib.Path) -> Iterator[str]:
    """Measure the time to clone a claim of 1 GiB, with a tenth of it and with all of it filled."""
    for name, filled, share in (("tenth", GIB // 10, "a tenth of it data"), ("whole", GIB, "all of it data")):
        image = scratch / f"{name}.img"
        write_image(image, filled)
        subprocess.run(
            [COMMANDS / "virtshape", "image", "add", name, image, "--data-dir", data], check=True, capture_output=True
        )
        os.sync()  # flush the image first, so that its pending writes do not slow down the clone
        seconds = min(clone_once(connection, name, number) for number in range(3))
        yield f"| clone of a claim of 1 GiB, {share} | 1 s | **{seconds:.2f} s** |"


def write_image(image: pathlib.Path, filled: int) -> None:
    """Write a 1 GiB image that starts with incompressible data."""
    with image.open("wb") as file:
        for _ in range(0, filled, 4 * MIB):
            file.write(os.urandom(4 * MIB))
        file.truncate(GIB)


def clone_once(connection: ApiConnection, source: str, number: int) -> float:
    """Clone a claim; return the seconds until it is ready."""
    name = f"{source}-{number}"
    body = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"source": {"pvc": {"name": source, "namespace": "default"}}, "storage": {}},
    }
    begin = time.perf_counter()
    connection.post(f"{CDI}/datavolumes", body)
    wait_for(
        lambda: connection.ask("GET", f"{CDI}/datavolumes/{name}").get("status", {}).get("phase") == "Succeeded",
        name,
        0.01,
    )
    seconds = time.perf_counter() - begin
    connection.ask("DELETE", f"{CDI}/datavolumes/{name}")
    return seconds


def stop(connection: ApiConnection, name: str) -> None:
    """Stop a VM and wait until its instance is gone."""
    connection.ask("PUT", f"{ACTIONS}/virtualmachines/{name}/stop")
    wait_for(lambda: not list_uids(connection), "the guest to stop")


def remove_all(connection: ApiConnection) -> None:
    """Delete all VMs and wait until their instances are gone."""
    for vm in connection.ask("GET", f"{NAMESPACE}/virtualmachines")["items"]:
        connection.ask("DELETE", f"{NAMESPACE}/virtualmachines/{vm['metadata']['name']}")
    wait_for(lambda: not list_uids(connection), "the deletion of all guests")


def wait_for(holds: Callable[[], Any], what: str, pause: float = 0.05) -> None:
    """Wait until a condition holds; raise RuntimeError after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited too long for {what}")
        time.sleep(pause)
