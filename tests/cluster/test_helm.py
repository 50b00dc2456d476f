"""The Helm chart on a real API server: installation, upgrade, rollback, and removal, which does not delete the CRDs."""

import json
import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.install import wait_for_kinds
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl
from tests.support.releases import find_install_line
from tests.support.rendering import CHART, KUBERNETES, find_helm, find_kubectl
from tools.release.chart import package_chart

SYSTEM = "virtshape-system"
PREVIOUS = next((Path(__file__).parent / "previous").glob("virtshape-*.tgz"))
VMS = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "vms", "labels": {"virtshape.io/admission": "ignore"}},  # no pod serves the webhooks
}
INSTANCETYPE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta2",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "small", "namespace": "vms"},
    "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
}
VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "kept", "namespace": "vms"},
    "spec": {
        "runStrategy": "Halted",
        "instancetype": {"name": "small", "kind": "VirtualMachineInstancetype"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
SECRET = {"tls.crt": "Y2VydGlmaWNhdGU=", "tls.key": "a2V5"}


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ControlPlane]:
    """A new control plane."""
    with ControlPlane(require_binaries(), tmp_path / "plane", with_controllers=False) as running:
        yield running


class Helm:
    """Helm and kubectl as the admin of a control plane."""

    def __init__(self, plane: ControlPlane, home: Path) -> None:
        self.kubectl = Kubectl(find_kubectl(), plane.kubeconfig, home, SYSTEM)
        self.home = home
        (home / "bin").mkdir()
        (home / "bin/helm").symlink_to(find_helm())
        path = f"{home / 'bin'}:{os.environ['PATH']}"
        self._environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(home), "PATH": path}

    def __call__(self, *arguments: str) -> str:
        return self.run_line("helm", *arguments, "--namespace", SYSTEM)

    def run_line(self, *line: str) -> str:
        """Run a command in the home directory; warnings are failures."""
        ran = subprocess.run(line, capture_output=True, text=True, check=False, env=self._environment, cwd=self.home)
        assert ran.returncode == 0, ran.stderr
        assert "warning" not in ran.stderr.lower(), ran.stderr
        return ran.stdout

    def read_authority(self) -> str:
        """Return a certificate authority in base64: that of the control plane."""
        config = json.loads(self.kubectl("config", "view", "--raw", "--output=json"))
        return str(config["clusters"][0]["cluster"]["certificate-authority-data"])

    def list_deployments(self) -> set[str]:
        return {tree["metadata"]["name"] for tree in self.kubectl.get("deployments")["items"]}


@pytest.fixture
def helm(fresh: ControlPlane, tmp_path: Path) -> Helm:
    return Helm(fresh, tmp_path)


def test_uninstall_of_an_upgraded_helm_release_does_not_delete_the_crds(helm: Helm) -> None:
    kubectl = helm.kubectl
    package_chart(version("virtshape"), helm.home, epoch=1_700_000_000)
    assert "is being installed" in helm.run_line("bash", "-ec", find_install_line("helm "))
    assert kubectl.get("deployment", "virtshape-webhook")["spec"]["replicas"] == 2
    kubectl("patch", "secret", "virtshape-webhook-tls", "--type=merge", "-p", '{"data": {"tls.crt": "YQ=="}}')
    helm("upgrade", "virtshape", str(CHART), "--set=replicas=3", "--set=cdi=true")
    assert kubectl.get("deployment", "virtshape-webhook")["spec"]["replicas"] == 3
    assert kubectl.get("secret", "virtshape-webhook-tls")["data"] == {"tls.crt": "YQ=="}
    kinds = kubectl("get", "crds", "-o=name")
    helm("uninstall", "virtshape")
    assert kubectl("get", "crds", "-o=name") == kinds
    assert kubectl.get("deployments")["items"] == []
    assert kubectl("get", "namespace", "kubevirt", "-o=name") == "namespace/kubevirt\n"


def write_certificates(kubectl: Kubectl, authority: str) -> None:
    """Store a certificate and CA bundles in the objects in which the components store theirs."""
    kubectl("patch", "secret", "virtshape-webhook-tls", "--type=merge", "-p", json.dumps({"data": SECRET}))
    conversion = {"webhook": {"clientConfig": {"caBundle": authority}}}
    for name in ("virtualmachineinstancetypes", "virtualmachinepreferences"):
        crd = f"{name}.instancetype.kubevirt.io"
        kubectl("patch", "crd", crd, "--type=merge", "-p", json.dumps({"spec": {"conversion": conversion}}))


def read_kept(kubectl: Kubectl) -> dict[str, Any]:
    """Return the VM, the instance type and the certificates, which an upgrade must not change."""
    vms = kubectl.in_namespace("vms")
    crd = kubectl.get("crd", "virtualmachineinstancetypes.instancetype.kubevirt.io")
    return {
        "vm": vms.get("vm", "kept"),
        "instancetype": vms.get("virtualmachineinstancetypes.v1beta2.instancetype.kubevirt.io", "small"),
        "secret": kubectl.get("secret", "virtshape-webhook-tls")["data"],
        "authority": crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
    }


def apply_crds(helm: Helm, kubectl: Kubectl) -> None:
    """Apply the chart's CRDs with server-side apply as a dry run, which fails if another manager set other values."""
    crds = helm.home / "crds.yaml"
    rendered = helm(
        "template", "virtshape", str(CHART), "--show-only=templates/crds.yaml", f"--kube-version={KUBERNETES}"
    )
    crds.write_text(rendered)
    kubectl("apply", "--server-side", "--dry-run=server", "--field-manager=test", "-f", str(crds))


def test_upgrade_from_the_previous_chart_and_rollback_preserve_vms_and_certificates(helm: Helm) -> None:
    kubectl = helm.kubectl
    helm("install", "virtshape", str(PREVIOUS), "--create-namespace")
    wait_for_kinds(kubectl)
    before = helm.list_deployments()
    write_certificates(kubectl, helm.read_authority())
    kubectl.in_namespace("").apply(VMS, INSTANCETYPE, VM)
    kept = read_kept(kubectl)
    helm("upgrade", "virtshape", str(CHART), "--set=replicas=3")
    assert read_kept(kubectl) == kept
    assert helm.list_deployments() - before == {"virtshape-console"}
    apply_crds(helm, kubectl)
    helm("rollback", "virtshape", "1")
    assert read_kept(kubectl) == kept
    assert helm.list_deployments() == before
