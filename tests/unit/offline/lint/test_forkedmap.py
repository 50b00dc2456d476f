"""Lint in several processes; each test runs in a new process, because a fork is safe only without other threads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.linting import documents, vm

LINT = """
import json, sys
from virtshape.offline.lint import Run, forkedmap

forks, original = [], forkedmap.map_in_forks

def map_in_forks(function, items, processes):
    forks.append(processes)
    return original(function, items, processes)

forkedmap.map_in_forks = map_in_forks
run = Run(["manifests"], processes=int(sys.argv[1]))
files = [(file.file, bool(file.text), [str(each.place) for each in file.findings]) for file in run.check()]
print(json.dumps({"files": files, "checked": run.checked, "forks": forks}))
"""
MAP = """
import json, os
from virtshape.offline.lint.forkedmap import map_in_forks

def work(item):
    if item == 3:
        raise ValueError(item)
    if item == 6:
        os._exit(1)
    return item * 10

print(json.dumps([*map_in_forks(work, range(10), 2)]))
"""
STOP = """
import multiprocessing
from virtshape.offline.lint.forkedmap import map_in_forks

results = map_in_forks(lambda item: b"x" * 1_000_000, range(100), 2)
next(results)
results.close()
print(len(multiprocessing.active_children()))
"""


def run_script(script: str, *args: str, folder: Path | None = None) -> Any:
    line = [sys.executable, "-c", script, *args]
    return json.loads(subprocess.run(line, capture_output=True, check=True, cwd=folder, timeout=240).stdout)


def write_manifests(folder: Path, size: int) -> None:
    padding = "#" * size + "\n"
    texts = [vm().replace("web", f"vm-{number}") for number in range(8)]
    texts[2] = vm(run="running: true").replace("web", "deprecated")
    texts[4] = documents(texts[3], texts[4])  # the first VM is also defined in the file before
    texts[5] = documents(texts[5], texts[5])
    texts[6] = "kind: VirtualMachine\napiVersion: kubevirt.io/v1\na: [\n"
    (folder / "manifests").mkdir()
    for number, text in enumerate(texts):
        (folder / "manifests" / f"{number}.yaml").write_text(text + padding)


def test_lint_in_two_processes_finds_what_one_process_finds(tmp_path: Path) -> None:
    write_manifests(tmp_path, size=40_000)
    one, two = (run_script(LINT, processes, folder=tmp_path) for processes in ("1", "2"))
    assert (one["forks"], two["forks"]) == ([], [2])
    assert two["checked"] == one["checked"] == 9
    rules = [(name, findings) for name, _, findings in one["files"]]
    assert [name for name, findings in rules if findings] == [f"manifests/{number}.yaml" for number in (2, 4, 5, 6)]
    assert [(name, findings) for name, _, findings in two["files"]] == rules
    assert all(has_text for _, has_text, findings in two["files"] if findings)


def test_small_run_uses_one_process(tmp_path: Path) -> None:
    write_manifests(tmp_path, size=100)
    assert run_script(LINT, "2", folder=tmp_path)["forks"] == []


def test_failed_call_and_dead_process_have_no_results() -> None:
    assert run_script(MAP) == [0, 10, 20, None, 40, 50, None, 70, None, 90]


def test_processes_end_when_the_caller_stops_early() -> None:
    assert run_script(STOP) == 0
