"""The Helm chart on a real API server: installation, upgrade, and removal without the CRDs."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl
from tests.support.rendering import CHART, find_helm, find_kubectl

SYSTEM = "virtshape-system"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ControlPlane]:
    """A new control plane."""
    with ControlPlane(require_binaries(), tmp_path / "plane", with_controllers=False) as running:
        yield running


def helm(plane: ControlPlane, home: Path, *arguments: str) -> str:
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(home)}
    line = [str(find_helm()), *arguments, "--namespace", SYSTEM]
    ran = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert "warning" not in ran.stderr.lower(), ran.stderr
    return ran.stdout


def test_removal_of_an_upgraded_helm_release_keeps_the_crds(fresh: ControlPlane, tmp_path: Path) -> None:
    kubectl = Kubectl(find_kubectl(), fresh.kubeconfig, tmp_path, SYSTEM)
    assert "is being installed" in helm(fresh, tmp_path, "install", "virtshape", str(CHART), "--create-namespace")
    assert kubectl.get("deployment", "virtshape-webhook")["spec"]["replicas"] == 2
    kubectl("patch", "secret", "virtshape-webhook-tls", "--type=merge", "-p", '{"data": {"tls.crt": "YQ=="}}')
    helm(fresh, tmp_path, "upgrade", "virtshape", str(CHART), "--set=replicas=3", "--set=cdi=true")
    assert kubectl.get("deployment", "virtshape-webhook")["spec"]["replicas"] == 3
    assert kubectl.get("secret", "virtshape-webhook-tls")["data"] == {"tls.crt": "YQ=="}
    kinds = kubectl("get", "crds", "-o=name")
    helm(fresh, tmp_path, "uninstall", "virtshape")
    assert kubectl("get", "crds", "-o=name") == kinds
    assert kubectl.get("deployments")["items"] == []
    assert kubectl("get", "namespace", "kubevirt", "-o=name") == "namespace/kubevirt\n"
