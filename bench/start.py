"""
CPU time from start to end of commands that do little work.

Each command runs in a new process, alternately with the interpreter alone, which is the baseline. The figures are
minima, because other programs on the machine can only add to them. Run it twice: the first run compiles the modules.
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

from bench.samples import build_vm
from virtshape.api.yaml import write_yaml

ROUNDS = 30


def main() -> None:
    """Print the CPU time of each command, and its ratio to the baseline."""
    with tempfile.TemporaryDirectory() as folder:
        vm = pathlib.Path(folder, "vm.yaml")
        vm.write_text(write_yaml(build_vm(1)), encoding="utf-8")
        programs = pathlib.Path(sys.executable).parent
        commands = {
            "interpreter alone": [sys.executable, "-c", "pass"],
            "virtctl --help": [str(programs / "virtctl"), "--help"],
            "virtshape lint of one VM": [str(programs / "virtshape"), "lint", str(vm)],
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], measure(command, folder))
    baseline = best["interpreter alone"]
    for name, seconds in best.items():
        print(f"  {name}: {seconds * 1e3:.0f} ms of CPU, {seconds / baseline:.1f} times the baseline")


def measure(command: list[str], folder: str) -> float:
    """Run the command and return its CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
