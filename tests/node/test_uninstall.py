"""
Removal of the installation with its guests, and installation with Helm and kustomize.

These tests run last.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.node.guests import GuestNode
from tests.node.installation import SYSTEM, wait_for_components
from tests.support.kubectl import Kubectl
from tests.support.rendering import BASE, CHART, find_helm

COMMAND = Path(sys.executable).parent / "virtshape"
KINDS = (
    "crds,clusterroles,clusterrolebindings,apiservices,namespaces,priorityclasses,flowschemas,"
    "mutatingwebhookconfigurations,validatingwebhookconfigurations,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings"
)


def list_leftovers(cluster: Kubectl) -> list[str]:
    """Return the names of virtshape's cluster-scoped objects."""
    return cluster("get", KINDS, "--selector=app.kubernetes.io/part-of=virtshape", "-o=name").split()


def uninstall(cluster: Kubectl) -> None:
    """Remove virtshape with its CRDs, and check that nothing is left."""
    line: list[str | Path] = [COMMAND, "uninstall", "--crds", "--yes", "--kubeconfig", cluster.kubeconfig]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert list_leftovers(cluster) == []


def helm(cluster: Kubectl, home: Path, *arguments: str) -> str:
    """Run Helm for the namespace of the components."""
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "HOME": str(home)}
    line = [str(find_helm()), *arguments, "--namespace", SYSTEM]
    ran = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_uninstall_stops_guests_and_does_not_delete_claims(steady: GuestNode, installed: Kubectl) -> None:
    steady.wait_until_running("steady")
    uninstall(installed)
    assert steady.kubectl.get("pods")["items"] == []
    assert "steady" in [claim["metadata"]["name"] for claim in steady.kubectl.get("pvc")["items"]]
    assert steady.node.find_processes("qemu-system-x86_64") == []


@pytest.mark.usefixtures("installed")
def test_helm_installs_virtshape(cluster: Kubectl, home: Path) -> None:
    helm(cluster, home, "install", "virtshape", str(CHART), "--create-namespace", "--set=catalog=true")
    wait_for_components(cluster)
    uninstall(cluster)


@pytest.mark.usefixtures("installed")
def test_kustomize_installs_virtshape(cluster: Kubectl) -> None:
    cluster("apply", "-k", BASE)
    wait_for_components(cluster)
