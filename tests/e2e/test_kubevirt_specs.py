"""
KubeVirt's functional specs of instance types and preferences against `virtshape up` with simulated guests.

tools/kubevirt/build.sh builds the specs from KubeVirt's own code; tests/kubevirt/specs runs them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.kubevirt import SPEC_CONFIGURATION, run_specs
from tests.support.upprocess import System

KUBEVIRT: Final = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"

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
            {"spec": {"configuration": SPEC_CONFIGURATION}},
            **{"Content-Type": "application/merge-patch+json"},
        )
        assert code == 200, answer
        yield running
    log = running.log.read_text()
    assert "Traceback" not in log, log


def test_kubevirt_specs_pass_except_known_failures(system: System, tmp_path: Path) -> None:
    results = run_specs(system.kubeconfig, tmp_path)
    assert len(results.names) > 50, results.output
    assert results.failed - KNOWN_FAILURES.keys() == set(), results.output
    assert KNOWN_FAILURES.keys() - results.failed == set(), "these specs pass: remove them from KNOWN_FAILURES"
