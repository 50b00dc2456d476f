"""VMs from a Git repository: applying a manifest again changes nothing, and tools find no difference."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tests.support.commands import call_virtctl
from tests.support.kubectl import Kubectl, find_kubectls
from tests.support.manifests import write_manifest
from tests.support.upprocess import System, wait_until

from virtshape.api.wellknown import LAST_APPLIED
from virtshape.offline.argocd import list_ignored

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
FIRST_WITH_SERVER_SIDE_DIFF: Final = (1, 21)
WAITING: Final = frozenset({"", "Starting", "Provisioning", "Stopping"})


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """The newest kubectl, with a separate server that simulates guests."""
    version, path = max(find_kubectls().items(), default=((0, 0), Path()))
    if version < FIRST_WITH_SERVER_SIDE_DIFF:
        pytest.skip("kubectl 1.21 or newer is missing: tools/kubectl/build.sh builds it with Go")
    with System(tmp_path_factory.mktemp("gitops") / "data", "--launcher", "simulate") as system:
        yield Kubectl(path, system.kubeconfig, tmp_path_factory.mktemp("home"))


def use_namespace(kubectl: Kubectl, name: str) -> Kubectl:
    """Create a namespace and return kubectl for it."""
    kubectl("create", "namespace", name)
    return kubectl.in_namespace(name)


def wait_for_vms(kubectl: Kubectl) -> None:
    """Wait until the controllers have nothing left to do for the VMs."""

    def is_settled() -> bool:
        vms = kubectl.get("vm")["items"]
        return len(vms) > 0 and all(
            vm.get("status", {}).get("printableStatus", "") not in WAITING
            and vm["status"].get("desiredGeneration") == vm["metadata"]["generation"]
            for vm in vms
        )

    wait_until(is_settled, lambda: kubectl("get", "vm", "-o", "yaml"))


def wait_for_no_difference(kubectl: Kubectl, *arguments: str | Path) -> None:
    """Wait until kubectl diff finds no difference; it may first report a status that changes during the comparison."""
    wait_until(lambda: kubectl.run("diff", *arguments).status == 0, lambda: kubectl.run("diff", *arguments).out)


def remove_ignored(tree: Any) -> Any:
    """Remove the fields of a VM that Argo CD ignores."""
    for pointer in list_ignored():
        *parents, name = pointer.removeprefix("/").split("/")
        at = tree
        for parent in parents:
            at = at.get(parent, {})
        at.pop(name, None)
    return tree


def list_drift(wanted: Any, live: Any, at: str = "") -> Iterator[str]:
    """Yield the fields of a manifest whose live value differs, as tools without server-side apply compare them."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for name, value in wanted.items():
            yield from list_drift(value, live.get(name), f"{at}.{name}")
    elif wanted != live:
        yield at


def test_examples_have_no_difference_after_they_are_applied(kubectl: Kubectl) -> None:
    kubectl = use_namespace(kubectl, "applied")
    kubectl("apply", "-f", EXAMPLES)
    wait_for_vms(kubectl)
    wait_for_no_difference(kubectl, "-f", EXAMPLES)
    for vm in kubectl.get("vm")["items"]:
        applied = json.loads(vm["metadata"]["annotations"][LAST_APPLIED])
        drift = list(list_drift(applied["spec"], vm["spec"]))
        # The server replaces inferFromVolume with a name, so Argo CD has to ignore it.
        inferred = [".instancetype.inferFromVolume", ".preference.inferFromVolume"]
        assert drift == (inferred if vm["metadata"]["name"] == "inferred" else [])
        assert list(list_drift(remove_ignored(applied)["spec"], remove_ignored(vm)["spec"])) == []


def test_examples_have_no_difference_after_server_side_apply(kubectl: Kubectl) -> None:
    kubectl = use_namespace(kubectl, "server-side")
    kubectl("apply", "--server-side", "-f", EXAMPLES)
    wait_for_vms(kubectl)
    wait_for_no_difference(kubectl, "--server-side", "-f", EXAMPLES)


def test_manifests_for_gitops_can_be_applied_again_without_a_difference(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl = use_namespace(kubectl, "gitops")
    paths = sorted(EXAMPLES.glob("*.yaml"))
    for path in paths:
        (tmp_path / path.name).write_text(call_virtctl("expand", "-f", str(path), "--for", "gitops").out)
    kubectl("apply", "-f", tmp_path)
    wait_for_vms(kubectl)
    wait_for_no_difference(kubectl, "-f", tmp_path)
    live = {vm["metadata"]["name"]: vm for vm in kubectl.get("vm")["items"]}
    assert len(live) == len(paths)
    for path in paths:
        wanted = yaml.safe_load((tmp_path / path.name).read_text())
        assert list(list_drift(wanted["spec"], live[wanted["metadata"]["name"]]["spec"])) == []


def test_vm_expanded_for_gitops_can_be_recreated_without_a_difference(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl = use_namespace(kubectl, "moved")
    kubectl("apply", "-f", EXAMPLES / "web.yaml")
    wait_for_vms(kubectl)
    before = kubectl.get("vm", "web")["spec"]["template"]["spec"]["domain"]["firmware"]
    moved = tmp_path / "web.yaml"
    server = ("--kubeconfig", str(kubectl.kubeconfig), "-n", kubectl.namespace)
    moved.write_text(call_virtctl("expand", "--vm", "web", "--for", "gitops", *server).out)
    kubectl("delete", "vm", "web")
    kubectl("apply", "-f", moved)
    wait_for_vms(kubectl)
    wait_for_no_difference(kubectl, "-f", moved)
    live = kubectl.get("vm", "web")["spec"]
    assert live == yaml.safe_load(moved.read_text())["spec"]
    after = live["template"]["spec"]["domain"]["firmware"]
    assert (after["uuid"], after["serial"]) == (before["uuid"], before["serial"])


def test_file_is_expanded_for_gitops_with_objects_of_the_server(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl = use_namespace(kubectl, "expanded")
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "fast"},
        "spec": {"volumes": {"preferredStorageClassName": "fast"}},
    }
    vm = yaml.safe_load((EXAMPLES / "web.yaml").read_text())
    vm["spec"]["preference"] = {"kind": "VirtualMachinePreference", "name": "fast"}
    vm["spec"]["dataVolumeTemplates"] = [
        {"metadata": {"name": "data"}, "spec": {"source": {"blank": {}}, "storage": {}}}
    ]
    kubectl("apply", "-f", "-", stdin=json.dumps(preference))
    path = write_manifest(str(tmp_path / "vm.yaml"), vm)
    server = ("--kubeconfig", str(kubectl.kubeconfig), "-n", kubectl.namespace)
    expanded = call_virtctl("expand", "-f", path, "--for", "gitops", *server)
    assert expanded.spec["dataVolumeTemplates"][0]["spec"]["storage"] == {"storageClassName": "fast"}
    assert expanded.template["domain"]["memory"] == {"guest": "4Gi"}
