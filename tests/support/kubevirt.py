"""Find and run the programs that tools/kubevirt/build.sh builds from KubeVirt's own code."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.support.virtctl import Virtctl

from virtshape.api.model import JsonObject

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"
SPEC_CONFIGURATION: Final[JsonObject] = {
    "developerConfiguration": {"memoryOvercommit": 100},  # the specs expect that this section exists
    "instancetype": {"missingReference": "Defer", "revisionName": "Status"},
}
"""The configuration that KubeVirt's specs expect."""
SPECS_TIMEOUT: Final = 3600.0


def find_built(name: str) -> Path | None:
    """Return the newest program of this name, or None if it was not built."""
    built = sorted(CACHE.glob(f"kubevirt-*/{name}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else None


def find_program(name: str) -> Path:
    """Return the path of `virtctl`, `oracle`, `specs` or `virt-api`; skip the test if it was not built."""
    found = find_built(name)
    if found is not None:
        return found
    pytest.skip(f"KubeVirt's {name} is missing: tools/kubevirt/build.sh builds it with Go")


class SpecResults(NamedTuple):
    """The names of all specs and of failed specs, and the output."""

    names: frozenset[str]
    failed: frozenset[str]
    output: str


def run_specs(kubeconfig: Path, directory: Path) -> SpecResults:
    """Run KubeVirt's functional specs of instance types and preferences against a server."""
    report = directory / "report.json"
    result = subprocess.run(
        [find_program("specs"), "-kubeconfig", kubeconfig, "-ginkgo.json-report", report, "-ginkgo.no-color"],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        timeout=SPECS_TIMEOUT,
    )
    assert report.exists(), result.stdout + result.stderr
    specs = [spec for suite in json.loads(report.read_text()) for spec in suite["SpecReports"]]
    states = {_name_spec(spec): spec["State"] for spec in specs if spec["LeafNodeType"] == "It"}
    failed = frozenset(name for name, state in states.items() if state != "passed")
    return SpecResults(frozenset(states), failed, result.stdout)


def _name_spec(spec: dict[str, Any]) -> str:
    """Return the name of a spec without the name of its file."""
    return " / ".join([*spec["ContainerHierarchyTexts"][1:], spec["LeafNodeText"]])


def open_virtctl(kubeconfig: Path) -> Virtctl:
    """Return KubeVirt's virtctl with a kubeconfig."""
    return Virtctl(kubeconfig, kubeconfig.parent, program=find_program("virtctl"))
