"""Output of kubectl commands that read."""

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Iterator

import pytest
import yaml
from tests.support.kubectl import TIMEOUT, Kubectl
from tests.support.smallmanifests import build_config_map, build_instancetype, build_vm


class RunningKubectl:
    """A running kubectl and its output so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def read_lines(self, count: int) -> list[str]:
        """Return the next `count` lines."""
        return [self._lines.get(timeout=TIMEOUT) for _ in range(count)]


@contextlib.contextmanager
def _running(kubectl: Kubectl, *arguments: str) -> Iterator[RunningKubectl]:
    """Run kubectl until the block ends."""
    process = kubectl.start(*arguments)
    try:
        yield RunningKubectl(process)
    finally:
        process.kill()
        process.communicate()


def test_vm_is_printed_in_every_output_format(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    as_json = json.loads(kubectl("get", "vm", "web", "-o", "json"))
    assert yaml.safe_load(kubectl("get", "vm", "web", "-o", "yaml")) == as_json
    assert kubectl("get", "vm", "-o", "name") == "virtualmachine.kubevirt.io/web\n"
    assert kubectl("get", "vm", "-o", "jsonpath={.items[*].spec.runStrategy}") == "Halted"
    assert kubectl("get", "vm", "web", "-o", "go-template={{.metadata.name}}") == "web"
    columns = "custom-columns=VM:.metadata.name,SIZE:.spec.instancetype.name"
    assert [line.split() for line in kubectl("get", "vm", "-o", columns).splitlines()] == [
        ["VM", "SIZE"],
        ["web", "u1.medium"],
    ]


def test_vm_columns_are_printed(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    header, row = (line.split() for line in kubectl("get", "vm").splitlines())
    assert header == ["NAME", "AGE", "STATUS", "READY"]
    assert row[0] == "web"
    header, row = (line.split() for line in kubectl("get", "vm", "-o", "wide").splitlines())
    assert header[:4] == ["NAME", "AGE", "STATUS", "READY"]
    assert {"INSTANCETYPE", "PREFERENCE"} <= set(header)
    assert row[-2:] == ["u1.medium", "fedora"]
    labelled = kubectl("get", "vm", "-L", "app", "--show-labels")
    assert "app=web" in labelled
    assert kubectl("get", "vm", "--no-headers").startswith("web")


def test_instancetype_columns_are_printed(kubectl: Kubectl) -> None:
    kubectl.apply(build_instancetype())
    header, row = (line.split() for line in kubectl("get", "vminstancetype").splitlines())
    assert header[:3] == ["NAME", "VCPU", "MEMORY"]
    assert row[:3] == ["small", "2", "2Gi"]


def test_kubectl_accepts_plural_singular_and_short_names(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    kinds = ["vm", "virtualmachine", "virtualmachines", "virtualmachines.kubevirt.io", "virtualmachines.v1.kubevirt.io"]
    assert kubectl("get", *(f"{kind}/web" for kind in kinds), "-o", "name") == "virtualmachine.kubevirt.io/web\n" * 5
    kubectl("get", "vmf,vmfs,vmcf,vmcfs,vmp,vmpref,vmcp,vmclusterinstancetypes,vmi,vmis,kv,dv,pvc,ns,sa,cm,svc")


def test_kubectl_get_filters_by_label_and_field_selectors(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm("a", {"tier": "front"}), build_vm("b", {"tier": "back"}), build_vm("c"))
    named = "virtualmachine.kubevirt.io/"
    assert kubectl("get", "vm", "-l", "tier=front", "-o", "name") == f"{named}a\n"
    assert kubectl("get", "vm", "-l", "tier in (front, back)", "-o", "name") == f"{named}a\n{named}b\n"
    assert kubectl("get", "vm", "-l", "!tier", "-o", "name") == f"{named}c\n"
    assert kubectl("get", "vm", "--field-selector", "metadata.name=b", "-o", "name") == f"{named}b\n"
    assert kubectl("get", "vm", "a", "c", "-o", "name") == f"{named}a\n{named}c\n"


def test_long_lists_are_read_in_chunks(kubectl: Kubectl) -> None:
    kubectl.apply(*(build_config_map(f"c{number:02}") for number in range(25)))
    names = kubectl("get", "configmap", "--chunk-size=10", "-o", "name").splitlines()
    assert names == [f"configmap/c{number:02}" for number in range(25)]
    assert len(kubectl("get", "configmap", "--chunk-size=7").splitlines()) == 26


def test_list_across_namespaces_shows_the_namespace_of_each_vm(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    everywhere = kubectl("get", "vm", "-A", "--sort-by=.metadata.name")
    assert everywhere.splitlines()[0].split()[0] == "NAMESPACE"
    assert kubectl.namespace in everywhere


def test_kubectl_get_all_includes_vms(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    kubectl("create", "service", "clusterip", "front", "--tcp=80:80")
    shown = kubectl("get", "all", "-o", "name").splitlines()
    assert "virtualmachine.kubevirt.io/web" in shown
    assert "service/front" in shown


def test_kubectl_get_reports_an_empty_list_and_a_missing_object(kubectl: Kubectl) -> None:
    result = kubectl.run("get", "vm")
    assert (result.status, result.out) == (0, "")
    assert f"No resources found in {kubectl.namespace} namespace." in result.err
    assert 'Error from server (NotFound): virtualmachines.kubevirt.io "web" not found' in kubectl.run_rejected(
        "get", "vm", "web"
    )
    assert "the server doesn't have a resource type" in kubectl.run_rejected("get", "nonsense")
    assert kubectl("get", "vm", "web", "--ignore-not-found") == ""


def test_kubectl_watch_prints_each_change(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    with _running(kubectl, "get", "vm", "-w", "--output-watch-events", "--no-headers") as watch:
        watch.read_lines(1)
        kubectl("label", "vm", "web", "tier=front")
        kubectl.apply(build_vm("other"))
        kubectl("delete", "vm", "web")
        arguments = [line.split() for line in watch.read_lines(3)]
    assert [line[0] for line in arguments] == ["MODIFIED", "ADDED", "DELETED"]


def test_watch_prints_a_table_row_for_each_change(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    with _running(kubectl, "get", "vm", "web", "--watch") as watch:
        header, row = watch.read_lines(2)
        assert header.split() == ["NAME", "AGE", "STATUS", "READY"]
        assert row.startswith("web")
        kubectl("label", "vm", "web", "tier=front")
        assert watch.read_lines(1)[0].startswith("web")


def test_kubectl_wait_exits_when_the_condition_is_true(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    if kubectl.version >= (1, 24):
        with _running(kubectl, "wait", "vm/web", "--for=condition=Ready", f"--timeout={TIMEOUT:g}s") as waiting:
            condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            patch = {"status": {"conditions": [{**condition, "reason": "Test", "message": ""}]}}
            kubectl("patch", "vm", "web", "--subresource=status", "--type=merge", "-p", json.dumps(patch))
            assert waiting.process.wait(TIMEOUT) == 0
        kubectl("wait", "vm/web", "--for=jsonpath={.spec.runStrategy}=Halted", f"--timeout={TIMEOUT:g}s")
    refusal = kubectl.run_rejected("wait", "vm/web", "--for=condition=Paused", "--timeout=5s")
    assert "timed out waiting for the condition" in refusal


def test_kubectl_delete_and_kubectl_wait_exit_when_the_object_is_deleted(kubectl: Kubectl) -> None:
    machine = build_vm()
    machine["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(machine)
    with _running(kubectl, "delete", "vm", "web") as deleting:
        assert deleting.read_lines(1)[0].startswith('virtualmachine.kubevirt.io "web" deleted')
        assert deleting.process.poll() is None
        kubectl("patch", "vm", "web", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        assert deleting.process.wait(TIMEOUT) == 0
    if kubectl.version >= (1, 30):  # older versions fail if the object is already deleted
        kubectl("wait", "vm/web", "--for=delete", f"--timeout={TIMEOUT:g}s")


def test_kubectl_describe_shows_the_events_of_a_vm(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    uid = kubectl.get("vm", "web")["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1"},
        "involvedObject": {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "name": "web",
            "namespace": kubectl.namespace,
            "uid": uid,
        },
        "reason": "Tested",
        "message": "it was looked at",
        "type": "Normal",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }
    kubectl.apply(event)
    described = kubectl("describe", "vm", "web")
    assert "Name:         web" in described
    assert "Run Strategy:  Halted" in described
    assert "it was looked at" in described
    assert "Tested" in kubectl("get", "events")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("namespace", "Status:       Active"),
        ("configmap", "settings"),
        ("serviceaccount", "default"),
        ("clusterrole", "kubevirt.io:view"),
        ("vmcf", "u1.medium"),
    ],
)
def test_kubectl_describe_supports_other_kinds(kubectl: Kubectl, kind: str, expected: str) -> None:
    kubectl.apply(build_config_map())
    assert expected in kubectl("describe", kind, *([kubectl.namespace] if kind == "namespace" else []))


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("vm", "KIND:"),
        ("vm.spec.template.spec.domain.cpu", "sockets"),
        ("vm.spec.template.spec.domain.devices.disks", "cdrom"),
        ("vmclusterinstancetype.spec.cpu.guest", "guest"),
        ("vmpref.spec.cpu", "preferredCPUTopology"),
        ("configmap.data", "data"),
        ("pod.spec.containers", "image"),
    ],
)
def test_kubectl_explain_describes_fields(kubectl: Kubectl, field: str, expected: str) -> None:
    explained = kubectl("explain", field)
    assert "DESCRIPTION:" in explained
    assert "<empty>" not in explained
    assert expected in explained


def test_kubectl_explain_recursive_shows_a_tree(kubectl: Kubectl) -> None:
    assert "preferredCPUTopology" in kubectl("explain", "vmcp", "--recursive")
    assert "doesn't have a resource type" in kubectl.run_rejected("explain", "nonsense")


def test_kubectl_lists_api_resources_and_versions(kubectl: Kubectl) -> None:
    names = set(kubectl("api-resources", "-o", "name").split())
    assert {
        "virtualmachines.kubevirt.io",
        "virtualmachineinstances.kubevirt.io",
        "virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
        "virtualmachinepreferences.instancetype.kubevirt.io",
        "datavolumes.cdi.kubevirt.io",
        "configmaps",
    } <= names
    assert "virtualmachines.kubevirt.io" in kubectl(
        "api-resources", "--namespaced=true", "--verbs=list,get", "-o", "name"
    )
    versions = kubectl("api-versions").split()
    assert {"v1", "kubevirt.io/v1", "instancetype.kubevirt.io/v1beta1", "instancetype.kubevirt.io/v1beta2"} <= set(
        versions
    )
    assert "Server Version" in kubectl("version")
    assert "is running at" in kubectl("cluster-info")


def test_kubectl_get_raw_reads_health_and_version(kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert "[+]store ok" in kubectl("get", "--raw", "/readyz?verbose")
    assert json.loads(kubectl("get", "--raw", "/version"))["major"] == "1"


def test_crds_can_be_read(kubectl: Kubectl) -> None:
    names = kubectl("get", "crd", "-o", "name").split()
    assert "customresourcedefinition.apiextensions.k8s.io/virtualmachines.kubevirt.io" in names
