"""
Throughput and memory of lint for increasing numbers of VMs.

Each measurement runs in a separate process, on files in a temporary folder. Time should grow with the number of VMs,
and memory should not. The baseline is the smallest run in the same format.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from bench.samples import build_vm
from virtshape.api.yaml import write_yaml
from virtshape.offline.lint import Run
from virtshape.offline.lint.run import count_cpus

COUNTS = (1_000, 10_000, 100_000)
PER_FILE = 100


class Measured(NamedTuple):
    """Time and peak memory of one run."""

    seconds: float
    megabytes: float


def main() -> None:
    """Print VMs per second and peak memory for each format and number of VMs."""
    for form in ("yaml", "json"):
        first: Measured | None = None
        for count in COUNTS:
            with tempfile.TemporaryDirectory() as folder:
                write_files(pathlib.Path(folder), form, count)
                measured = measure(folder, count)
            first = first or measured
            growth = measured.seconds / first.seconds / (count / COUNTS[0])
            print(
                f"  {count:>7,} VMs as {form}: {count / measured.seconds:>7,.0f} a second, "
                f"{measured.megabytes:.0f} MB; {growth:.2f} times the time per VM and "
                f"{measured.megabytes / first.megabytes:.2f} times the memory of {COUNTS[0]:,}"
            )


def write_files(folder: pathlib.Path, form: str, count: int) -> None:
    """Write valid VMs, PER_FILE in each file."""
    texts = [
        write_yaml(build_vm(number)) if form == "yaml" else json.dumps(build_vm(number)) for number in range(1_000)
    ]
    separator = "---\n" if form == "yaml" else "\n"
    for begin in range(0, count, PER_FILE):
        numbers = range(begin, min(begin + PER_FILE, count))
        documents = [texts[number % 1_000].replace(f"vm-{number % 1_000}", f"vm-{number}") for number in numbers]
        folder.joinpath(f"vms-{begin:07}.{form}").write_text(separator.join(documents), encoding="utf-8")


def measure(folder: str, count: int) -> Measured:
    """Lint the folder in a new process; return its time and peak memory."""
    line = [sys.executable, "-m", "bench.lint", folder, str(count)]
    done = subprocess.run(line, capture_output=True, check=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return Measured(float(seconds), float(kilobytes) / 1024)


def lint_folder(folder: str, count: int) -> None:
    """Lint the folder, check the result, and print the seconds and the peak memory in kilobytes."""
    start = time.perf_counter()
    run = Run([folder], processes=count_cpus())
    findings = list(run.find())
    seconds = time.perf_counter() - start
    assert not findings, findings[:3]
    assert run.checked == count
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    lint_folder(sys.argv[1], int(sys.argv[2]))
