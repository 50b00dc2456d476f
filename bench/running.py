"""Helpers to start, load and observe servers, and to write results to the documentation."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
COMMANDS = pathlib.Path(sys.executable).parent


class RunningServer(NamedTuple):
    """A started server, and how long its start took."""

    process: subprocess.Popen[str]
    url: str
    token: str
    seconds: float


def run_load(load: pathlib.Path, server: RunningServer, *arguments: str) -> str:
    """Run the load generator against a server; return its output."""
    return aim_load(load, server.url, server.token, f"server={server.process.pid}", *arguments)


def aim_load(load: pathlib.Path, url: str, token: str, pids: str, *arguments: str) -> str:
    """Run the load generator against a URL and return its output; `pids` names the processes to measure."""
    command = [sys.executable, str(load), "--url", url, "--token", token, "--pids", pids, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextmanager
def started(directory: pathlib.Path, *arguments: str) -> Iterator[RunningServer]:
    """Run a server with this data directory and these options during the `with` block."""
    begin = time.perf_counter()
    command = [str(COMMANDS / "virtshape"), "up", "--data-dir", str(directory), "--listen", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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
        yield RunningServer(process, url[1].strip('"'), token[1].strip('"'), seconds)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def resident_megabytes(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_page(name: str, lines: list[str]) -> None:
    """Replace the tables between this name's markers in docs/performance.md."""
    page = ROOT / "docs" / "performance.md"
    before, mark, rest = page.read_text().partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    page.write_text(f"{before}{mark}" + "\n".join(lines) + f"\n{end}{after}")
