"""
Our tools on a cluster with stock KubeVirt, as the service account of `virtshape manifests --with-kubevirt`.

The control plane has our CRDs reduced to KubeVirt's versions, and none of our components.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.install import TIMEOUT, print_manifests, retry, wait_for_definitions
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl
from tests.support.rendering import find_kubectl

from virtshape.apiserver.auth.kubeconfig import Server, render_kubeconfig
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.options import Options

COMMANDS = Path(sys.executable).parent
SYSTEM = "virtshape-system"
STOCK = "v1beta1"
VM: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "runStrategy": "Halted",
        "instancetype": {"name": "u1.medium"},
        "preference": {"name": "fedora"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
KEPT_VM = {
    **VM,
    "metadata": {"name": "kept", "namespace": "default"},
    "spec": {**VM["spec"], "instancetype": {"name": "u1.medium", "revisionName": "kept-u1.medium-1"}},
}
REVISION: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "ControllerRevision",
    "metadata": {
        "name": "kept-u1.medium-1",
        "namespace": "default",
        "labels": {"instancetype.kubevirt.io/object-name": "u1.medium"},
    },
    "data": {
        "apiVersion": f"instancetype.kubevirt.io/{STOCK}",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "u1.medium"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "3Gi"}},
    },
    "revision": 0,
}


def make_stock(tree: dict[str, Any]) -> dict[str, Any]:
    """Return one of our CRDs as in stock KubeVirt: without v1beta2 instance types and without conversion."""
    spec = {key: value for key, value in tree["spec"].items() if key != "conversion"}
    if spec["group"] == "instancetype.kubevirt.io":
        spec["versions"] = [{**one, "storage": True} for one in spec["versions"] if one["name"] == STOCK]
    return {**tree, "spec": spec}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """kubectl as the tools' service account, on a control plane with stock CRDs, the catalog and two VMs."""
    directory = tmp_path_factory.mktemp("stock")
    with ControlPlane(require_binaries(), directory / "plane", with_controllers=False) as plane:
        kubectl = Kubectl(find_kubectl(), plane.kubeconfig, directory, "")
        kinds = [tree for tree in build_parts(Options())["crds"] if "flavor" not in tree["spec"]["group"]]
        retry(lambda: kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(_list(map(make_stock, kinds)))))
        wait_for_definitions(kubectl, [tree["metadata"]["name"] for tree in kinds])
        retry(lambda: kubectl("apply", "-f", "-", stdin=print_manifests("--with-kubevirt", "--catalog")))
        kubectl.apply(VM)
        kubectl.apply(KEPT_VM)
        kubectl.apply(REVISION)
        (directory / "tools.kubeconfig").write_text(_log_in(plane, kubectl))
        tools = kubectl.using(directory / "tools.kubeconfig", "default")
        retry(lambda: tools("get", "vm"))  # RBAC changes take effect asynchronously
        yield tools


def _list(trees: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(trees)}


def _log_in(plane: ControlPlane, kubectl: Kubectl) -> str:
    token = kubectl.in_namespace(SYSTEM)("create", "token", "virtshape-tools").strip()
    return render_kubeconfig(Server(plane.url, plane.authority.pem), "tools", token)


def run(stock: Kubectl, program: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KUBECONFIG": str(stock.kubeconfig)}
    line = [str(COMMANDS / program), *arguments]
    return subprocess.run(
        line, input=stdin, capture_output=True, text=True, check=False, env=environment, timeout=TIMEOUT
    )


def test_virtctl_customizes_an_instancetype_of_the_cluster(stock: Kubectl) -> None:
    ran = run(stock, "virtctl", "customize", "u1.medium", "--name", "mine", "--vcpus", "4", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert made["apiVersion"] == f"instancetype.kubevirt.io/{STOCK}"
    assert made["spec"] == {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}


def test_virtctl_expand_explains_the_origin_of_vm_fields(stock: Kubectl) -> None:
    ran = run(stock, "virtctl", "expand", "--vm", "web", "--explain")
    assert ran.returncode == 0, ran.stderr
    assert "instance type u1.medium" in ran.stdout
    assert "preference fedora" in ran.stdout


def test_virtctl_recommends_the_smallest_instancetype_of_the_cluster(stock: Kubectl) -> None:
    ran = run(stock, "virtctl", "recommend", "--cpu-min", "2", "--preference", "fedora", "--no-dedicated", "-o", "name")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "virtualmachineclusterinstancetype.instancetype.kubevirt.io/u1.2xmedium"


def test_virtctl_recommend_rewrites_a_vm_of_the_cluster_for_its_usage(stock: Kubectl) -> None:
    usage = ("--usage", "cpu=0.5,memory=1Gi")
    ran = run(stock, "virtctl", "recommend", "--for-vm", "web", *usage, "--rewrite", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    rewritten = json.loads(ran.stdout)
    assert rewritten["metadata"]["resourceVersion"]
    assert rewritten["spec"] == {
        **VM["spec"],
        "instancetype": {"kind": "VirtualMachineClusterInstancetype", "name": "u1.small"},
    }
    assert "spec.template.spec.domain.memory.guest: 4Gi -> 2Gi" in ran.stderr


def test_virtctl_reports_drift_from_a_revision_of_kubevirt(stock: Kubectl) -> None:
    ran = run(stock, "virtctl", "drift", "-A", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    (reported,) = json.loads(ran.stdout)
    assert (reported["vm"], reported["role"], reported["state"]) == ("kept", "instancetype", "changed")
    assert reported["changes"] == [{"field": "spec.memory.guest", "then": "3Gi", "now": "4Gi"}]


def test_lint_accepts_objects_printed_by_kubectl_get(stock: Kubectl) -> None:
    wanted = "vm,controllerrevisions,virtualmachineclusterinstancetypes,virtualmachineclusterpreferences"
    reported = run(
        stock, "virtshape", "lint", "--no-catalog", "-o", "json", "-", stdin=stock("get", wanted, "-o", "yaml")
    )
    assert reported.returncode == 0, reported.stdout + reported.stderr


def test_tools_account_may_not_change_objects(stock: Kubectl) -> None:
    assert "forbidden" in stock.run_rejected("delete", "vm", "web")
    assert "forbidden" in stock.run_rejected("annotate", "virtualmachineclusterinstancetype", "u1.medium", "a=b")
