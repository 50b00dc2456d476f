"""`virtshape uninstall` on a real control plane: guests stop, finalizers are removed, and claims are not deleted."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.components.installation import Installation
from tests.cluster.components.nodes import run_fake_nodes
from tests.cluster.install import COMMAND, retry
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl, list_kubectls

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject

CLAIM: JsonObject = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
DEVICES = {"tpm": {"persistent": True}}
TEMPLATE = {
    "domain": {"devices": DEVICES, "memory": {"guest": "128Mi"}},
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
}
VM: JsonObject = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web"},
    "spec": {"runStrategy": "Always", "template": {"spec": TEMPLATE}},
}
VMI: JsonObject = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstance",
    "metadata": {"name": "alone"},
    "spec": {"domain": TEMPLATE["domain"]},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate control plane, because other tests use their installation after this module."""
    with ControlPlane(require_binaries(), tmp_path_factory.mktemp("uninstall")) as running:
        yield running


@pytest.fixture(params=list_kubectls()[-1:])
def kubectl(request: pytest.FixtureRequest, plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Kubectl]:
    """kubectl in a namespace with a running VM and a running instance; virtshape's components have been stopped."""
    admin = Kubectl(request.param, plane.kubeconfig, tmp_path / "home", namespace="")
    installation = Installation(plane, admin, tmp_path / "workers", cdi=True)
    (tmp_path / "workers").mkdir()
    installation.install()
    user = admin.in_namespace(namespace)
    with run_fake_nodes(plane):
        with installation.running("webhook"), installation.running("controller"):
            installation.wait_until_trusted()
            installation.add(*(to_tree(item) for item in catalog.load()))
            user.apply(CLAIM, VM, VMI)
            for name in ("web", "alone"):
                retry(lambda name=name: _expect(user.get("vmi", name)["status"].get("phase"), "Running"))
        yield user


def run_uninstall(kubectl: Kubectl, *arguments: str) -> "subprocess.CompletedProcess[str]":
    line = [str(COMMAND), "uninstall", f"--kubeconfig={kubectl.kubeconfig}", "--timeout=600", *arguments]
    return subprocess.run(line, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def uninstall(kubectl: Kubectl, *arguments: str) -> str:
    ran = run_uninstall(kubectl, *arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def list_names(kubectl: Kubectl, *resource: str) -> list[str]:
    return sorted(item["metadata"]["name"] for item in kubectl.get(*resource)["items"])


def list_claims(kubectl: Kubectl) -> list[str]:
    """Return the names of the claims in the namespace; the hash is removed from names of claims for TPM state."""
    return [name.rpartition("-")[0] if name.startswith("persistent-") else name for name in list_names(kubectl, "pvc")]


CLAIMS = ["data", "persistent-state-for-alone", "persistent-state-for-web"]
OURS = ("-l", "app.kubernetes.io/part-of=virtshape")


def test_uninstall_stops_guests_and_does_not_delete_vms_or_claims(kubectl: Kubectl) -> None:
    planned = uninstall(kubectl, "--dry-run")
    assert f"end 2 guests: {kubectl.namespace}/alone, {kubectl.namespace}/web" in planned
    assert list_names(kubectl, "vmi") == ["alone", "web"]
    printed = uninstall(kubectl, "--yes")
    assert f"PersistentVolumeClaim data in namespace {kubectl.namespace}" in printed.partition("Left on")[2]
    assert list_names(kubectl, "vmi") == []
    assert list_names(kubectl, "pods") == []
    (vm,) = kubectl.get("vm")["items"]
    assert not vm["metadata"].get("finalizers")
    assert list_claims(kubectl) == CLAIMS
    for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations", "apiservices", "clusterroles"):
        assert list_names(kubectl, resource, *OURS) == [], resource
    assert kubectl.run("get", "namespace", "virtshape-system").status != 0
    assert "virtualmachines.kubevirt.io" in list_names(kubectl, "crds", *OURS)
    kubectl("delete", "vm", "web", "--timeout=240s")
    retry(
        lambda: _expect(list_claims(kubectl), CLAIMS[:2])
    )  # the claim for TPM state belongs to the VM and is deleted with it
    uninstall(kubectl, "--yes", "--crds")
    assert list_names(kubectl, "crds", *OURS) == []


def test_uninstall_fails_if_a_guest_does_not_stop_and_can_be_repeated(kubectl: Kubectl) -> None:
    assert run_uninstall(kubectl).returncode == 2, "no terminal to ask"
    (name,) = list_names(kubectl, "pods", "-l", "vm.kubevirt.io/name=web")
    hold_pod(kubectl, name, ["example.com/hold"])
    stopped = run_uninstall(kubectl, "--yes", "--timeout=5")
    assert stopped.returncode == 1, stopped.stdout
    assert "guests did not stop within 5 seconds" in stopped.stderr
    assert f"pod {kubectl.namespace}/{name}" in stopped.stderr
    assert list_names(kubectl, "validatingwebhookconfigurations", *OURS) != []
    hold_pod(kubectl, name, None)
    uninstall(kubectl, "--yes", "--crds")
    assert list_claims(kubectl) == CLAIMS


def hold_pod(kubectl: Kubectl, name: str, finalizers: list[str] | None) -> None:
    kubectl("patch", "pod", name, "--type=merge", "-p", json.dumps({"metadata": {"finalizers": finalizers}}))


def test_uninstall_completes_a_deletion_that_waits_for_finalizers(kubectl: Kubectl) -> None:
    kubectl("delete", "crds", *OURS, "--wait=false")
    retry(lambda: _expect(bool(kubectl.get("vm", "web")["metadata"].get("deletionTimestamp")), True))
    uninstall(kubectl, "--yes", "--crds")
    assert list_names(kubectl, "crds", *OURS) == []
    assert list_claims(kubectl) == CLAIMS
    assert "is not installed" in uninstall(kubectl, "--yes")


def _expect(found: object, wanted: object) -> None:
    assert found == wanted
