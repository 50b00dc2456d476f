"""Deletion of revisions that VMs use, with kubectl and virtctl."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.kubectl import Kubectl, list_kubectls
from tests.support.upprocess import System, wait_until

from virtshape.api.model import JsonObject

VIRTCTL = Path(sys.executable).parent / "virtctl"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server with controllers."""
    with System(tmp_path_factory.mktemp("revisions") / "data", "--launcher", "simulate") as system:
        yield system


@pytest.fixture(params=list_kubectls()[-1:])
def kubectl(request: pytest.FixtureRequest, controlled: System, tmp_path: Path) -> Kubectl:
    """The newest kubectl, in the test's namespace."""
    kubectl = Kubectl(request.param, controlled.kubeconfig, tmp_path, f"revisions-{next(_numbers)}")
    kubectl("create", "namespace", kubectl.namespace)
    return kubectl


def build_vm(name: str) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }


def find_revision(kubectl: Kubectl, name: str) -> str:
    """Wait until the VM's status names a revision, and return its name."""

    def probe() -> str:
        ref = (kubectl.get("vm", name).get("status") or {}).get("instancetypeRef") or {}
        return str((ref.get("controllerRevisionRef") or {}).get("name") or "")

    return wait_until(probe, "the VM has no revision")


def find_failure(kubectl: Kubectl, name: str) -> JsonObject:
    """Return the failure that the VM reports; empty if it reports none."""
    conditions = kubectl.get("vm", name)["status"].get("conditions") or []
    return next((one for one in conditions if one["type"] == "Failure"), {})


def warn(revision: str, vm: str, kubectl: Kubectl) -> str:
    return (
        f"Warning: ControllerRevision {revision} is in use: VirtualMachine {vm} cannot start without it; "
        f"to use the current objects instead, run: virtctl upgrade {vm} -n {kubectl.namespace}"
    )


def test_deleted_revision_is_reported_and_repaired(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm("web"))
    revision = find_revision(kubectl, "web")
    tried = kubectl.run("delete", "controllerrevision", revision, "--dry-run=server")
    assert warn(revision, "web", kubectl) in tried.err.splitlines()
    assert not find_failure(kubectl, "web")
    deleted = kubectl.run("delete", "controllerrevision", revision)
    assert deleted.status == 0
    assert warn(revision, "web", kubectl) in deleted.err.splitlines()
    failure = wait_until(lambda: find_failure(kubectl, "web"), "the VM reports no failure")
    assert failure["reason"] == "FailedFindInstancetype"
    command = failure["message"].partition("run: ")[2]
    assert command == f"virtctl upgrade web -n {kubectl.namespace}"
    _, *arguments = command.split()
    repaired = subprocess.run(
        [VIRTCTL, *arguments, "--kubeconfig", str(kubectl.kubeconfig)], capture_output=True, text=True, check=False
    )
    assert (repaired.returncode, repaired.stderr) == (0, "1 VM upgraded\n")
    wait_until(lambda: not find_failure(kubectl, "web"), "the VM still reports a failure")
    assert find_revision(kubectl, "web") == revision
    assert kubectl.get("controllerrevision", revision)["metadata"]["name"] == revision


def test_deletion_of_a_vm_or_namespace_causes_no_revision_warning(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm("web"), build_vm("db"))
    revisions = [find_revision(kubectl, name) for name in ("web", "db")]
    deleted = kubectl.run("delete", "vm", "web")
    assert (deleted.status, deleted.err) == (0, "")
    wait_until(
        lambda: kubectl.run("get", "controllerrevision", revisions[0]).status != 0, "the revision outlives its VM"
    )
    ended = kubectl.run("delete", "namespace", kubectl.namespace)
    assert ended.status == 0
    assert "in use" not in ended.err


@pytest.mark.parametrize("selector", ["--all", "-l=instancetype.kubevirt.io/object-name=u1.small"])
def test_deletion_of_each_revision_in_use_causes_a_warning(kubectl: Kubectl, selector: str) -> None:
    kubectl.apply(build_vm("web"), build_vm("db"))
    expected = {warn(find_revision(kubectl, name), name, kubectl) for name in ("web", "db")}
    assert expected <= set(kubectl.run("delete", "controllerrevisions", selector).err.splitlines())
