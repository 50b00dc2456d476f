"""
KubeVirt's functional specs of instance types and preferences against `virtshape up` with simulated guests.

tools/kubevirt/build.sh builds the specs from KubeVirt's own code; tests/kubevirt/specs runs them.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.kubevirt import find_program
from tests.support.upprocess import System

KUBEVIRT: Final = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
CONFIGURATION: Final = {
    "developerConfiguration": {"memoryOvercommit": 100},  # the suite's own set-up fills this section
    "instancetype": {"missingReference": "Defer", "revisionName": "Status"},
}
TIMEOUT: Final = 900.0

INFERENCE: Final = (
    "with inferFromVolume / should reject VM creation when inference was successful but memory and "
    "RejectInferFromVolumeFailure were set"
)
KNOWN_FAILURES: Final = {
    f"{INFERENCE} / with explicitly setting RejectInferFromVolumeFailure": "expects the name of KubeVirt's webhook",
    f"{INFERENCE} / with implicitly setting RejectInferFromVolumeFailure (default)": "expects the name of the webhook",
}
"""Specs that fail, and why. A spec that no longer fails must be removed here."""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with System(tmp_path_factory.mktemp("specs") / "data", "--launcher", "simulate") as running:
        code, answer = running.request(
            "PATCH",
            KUBEVIRT,
            {"spec": {"configuration": CONFIGURATION}},
            **{"Content-Type": "application/merge-patch+json"},
        )
        assert code == 200, answer
        yield running
    log = running.log.read_text()
    assert "Traceback" not in log, log


def test_specs_pass_except_for_the_known_ones(system: System, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = subprocess.run(
        [find_program("specs"), "-kubeconfig", system.kubeconfig, "-ginkgo.json-report", report, "-ginkgo.no-color"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=TIMEOUT,
    )
    assert report.exists(), result.stdout + result.stderr
    specs = [spec for suite in json.loads(report.read_text()) for spec in suite["SpecReports"]]
    states = {name_spec(spec): spec["State"] for spec in specs if spec["LeafNodeType"] == "It"}
    assert len(states) > 50, result.stdout
    failed = {name for name, state in states.items() if state != "passed"}
    assert failed - KNOWN_FAILURES.keys() == set(), result.stdout
    assert KNOWN_FAILURES.keys() - failed == set(), "these specs pass: remove them from KNOWN_FAILURES"


def name_spec(spec: dict[str, Any]) -> str:
    """Return the name of a spec without that of its file."""
    return " / ".join([*spec["ContainerHierarchyTexts"][1:], spec["LeafNodeText"]])
