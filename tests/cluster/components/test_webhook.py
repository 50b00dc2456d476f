"""Webhooks, called by a real API server."""

import http.client
import json
import signal
import ssl
import time
from typing import Any

import pytest
from tests.cluster.components.installation import SYSTEM, TIMEOUT, ComponentProcess, Installation
from tests.cluster.install import retry, wait_for_kinds
from tests.support.demo import find_free_port
from tests.support.kubectl import Kubectl

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests import naming
from virtshape.cluster.manifests.crds import build_definitions
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.webhook.handler import get_limit

pytestmark = pytest.mark.usefixtures("webhook")


def build_vm(name: str = "vm1", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"devices": {}}}},
            **spec,
        },
    }


def build_type(name: str, guest: int, kind: str = "VirtualMachineInstancetype", version: str = "v1beta2") -> JsonObject:
    return {
        "apiVersion": f"instancetype.kubevirt.io/{version}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": guest}, "memory": {"guest": "1Gi"}},
    }


def test_mutating_webhook_sets_defaults_of_a_vm(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm(preference={"name": "fedora"}))
    spec = kubectl.get("vm", "vm1")["spec"]["template"]["spec"]
    assert spec["architecture"] == "amd64"
    assert spec["domain"]["machine"]["type"]
    assert {"uuid", "serial"} <= set(spec["domain"]["firmware"])


def test_vm_is_rejected_with_all_its_errors(kubectl: Kubectl) -> None:
    vm = build_vm(instancetype={"name": "u1.smal"}, preference={"name": "fedor"})
    reported = kubectl.run_rejected("create", "-f", "-", stdin=json.dumps(vm))
    assert 'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "u1.smal" not found' in reported
    assert "did you mean u1.small" in reported
    assert 'virtualmachineclusterpreferences.instancetype.kubevirt.io "fedor" not found' in reported


def test_rejected_vm_has_machine_readable_causes(installation: Installation, kubectl: Kubectl) -> None:
    cpu = {"cpu": {"cores": 4}, "devices": {}, "memory": {"guest": "1Gi"}}
    vm = build_vm(template={"spec": {"domain": cpu}})
    path = f"/apis/kubevirt.io/v1/namespaces/{kubectl.namespace}/virtualmachines"
    code, status = installation.plane.request("POST", path, vm)
    assert (code, status["reason"]) == (422, "Invalid")
    fields = [cause["field"] for cause in status["details"]["causes"]]
    assert fields == ["spec.template.spec.domain.cpu.cores", "spec.template.spec.domain.memory.guest"]


def test_admission_warnings_are_returned_to_the_client(kubectl: Kubectl) -> None:
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "old"},
        "spec": {"cpu": {"preferredCPUTopology": "preferSockets"}},
    }
    ran = kubectl.run("create", "-f", "-", stdin=json.dumps(preference))
    assert ran.status == 0
    assert "Warning:" in ran.err


def test_dry_run_applies_defaults_and_stores_nothing(kubectl: Kubectl) -> None:
    tree = json.loads(kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(build_vm("dry"))))
    assert tree["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]
    assert kubectl.get("vm")["items"] == []


def test_instancetype_can_be_used_immediately_after_its_creation(kubectl: Kubectl) -> None:
    """The webhook queries the API server before it rejects a reference to an object that its cache does not have."""
    for number in range(10):
        name = f"t{number}"
        kubectl.apply(build_type(name, 1))
        matcher = {"name": name, "kind": "VirtualMachineInstancetype"}
        kubectl.apply(build_vm(f"vm{number}", instancetype=matcher))


def test_changed_instancetype_takes_effect_immediately(kubectl: Kubectl) -> None:
    need = {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "needy"},
        "spec": {"requirements": {"cpu": {"guest": 4}}},
    }
    kubectl.apply(need, build_type("grows", 1))
    vm = build_vm(
        instancetype={"name": "grows", "kind": "VirtualMachineInstancetype"},
        preference={"name": "needy", "kind": "VirtualMachinePreference"},
    )
    assert "insufficient CPU resources" in kubectl.run_rejected("create", "-f", "-", stdin=json.dumps(vm))
    kubectl.apply(build_type("grows", 4))
    kubectl.apply(vm)


def test_invalid_instancetype_is_rejected(kubectl: Kubectl) -> None:
    reported = kubectl.run_rejected("create", "-f", "-", stdin=json.dumps(build_type("none", 0)))
    assert "spec.cpu.guest" in reported


def test_retired_instancetype_is_refused_for_new_vms_only(kubectl: Kubectl) -> None:
    kubectl.apply(build_type("old", 1))
    matcher = {"name": "old", "kind": "VirtualMachineInstancetype"}
    kubectl.apply(build_vm("kept", instancetype=matcher))
    reported = kubectl.run_rejected("label", "vmf", "old", "virtshape.io/lifecycle=obsolete")
    assert "must be active, deprecated or retired" in reported
    kubectl("annotate", "vmf", "old", "virtshape.io/replacement=VirtualMachineClusterInstancetype/u1.small")
    kubectl("label", "vmf", "old", "virtshape.io/lifecycle=retired")
    assert kubectl("get", "vmf", "old", "-o", "wide", "--no-headers").split()[-1] == "retired"

    new = json.dumps(build_vm("new", instancetype=matcher))
    # The webhook's cache may contain the active instance type for a moment.
    reported = retry(lambda: kubectl.run_rejected("create", "--dry-run=server", "-f", "-", stdin=new))
    assert "use VirtualMachineClusterInstancetype/u1.small instead" in reported
    edit = json.dumps({"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}})
    assert "the VM keeps its stored revision" in kubectl.run("patch", "vm", "kept", "--type=merge", "-p", edit).err


def test_user_cannot_change_the_spec_of_an_instance(kubectl: Kubectl) -> None:
    vmi = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vmi1"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}},
    }
    kubectl.apply(vmi)
    found = kubectl.get("vmi", "vmi1")
    assert found["status"]["phase"] == "Pending"
    assert found["spec"]["domain"]["cpu"]["model"] == "host-model"
    patch = '{"spec":{"domain":{"memory":{"guest":"128Mi"}}}}'
    assert "update of VMI object is restricted" in kubectl.run_rejected(
        "patch", "vmi", "vmi1", "--type=merge", "-p", patch
    )


def test_user_cannot_set_reserved_labels_of_an_instance(kubectl: Kubectl) -> None:
    vmi = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "labelled"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}},
    }
    kubectl.apply(vmi)
    kubectl("label", "vmi", "labelled", "team=a")
    reported = kubectl.run_rejected("label", "vmi", "labelled", "kubevirt.io/nodeName=elsewhere")
    assert "modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited" in reported


def test_deletion_of_a_revision_in_use_causes_a_warning(kubectl: Kubectl) -> None:
    size = build_type("u1.small", 1, "VirtualMachineClusterInstancetype")
    revision: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "kept", "labels": {"instancetype.kubevirt.io/object-name": "u1.small"}},
        "data": size,
        "revision": 0,
    }
    kubectl.apply(revision, {**revision, "metadata": {**revision["metadata"], "name": "unused"}})
    kubectl.apply(build_vm(instancetype={"name": "u1.small", "revisionName": "kept"}))
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm1", "controller": True}
    owners = [{**owner, "uid": kubectl.get("vm", "vm1")["metadata"]["uid"]}]
    patch = json.dumps({"metadata": {"ownerReferences": owners}})
    kubectl("patch", "controllerrevisions", "kept", "unused", "--type=merge", "-p", patch)
    assert kubectl.run("delete", "controllerrevision", "unused").err == ""
    warned = retry(lambda: _find_warning(kubectl))
    assert warned == (
        "Warning: ControllerRevision kept is in use: VirtualMachine vm1 cannot start without it; to use the current "
        f"objects instead, run: virtctl upgrade vm1 -n {kubectl.namespace}"
    )
    assert kubectl.run("delete", "controllerrevision", "kept").status == 0


def _find_warning(kubectl: Kubectl) -> str:
    """Return the warning of a dry run; fail if there is none, because the API server does not call the webhook yet."""
    warning = kubectl.run("delete", "controllerrevision", "kept", "--dry-run=server").err.strip()
    assert warning
    return warning


def test_invalid_configuration_is_rejected_and_unknown_fields_cause_warnings(installation: Installation) -> None:
    kubectl = installation.kubectl.in_namespace("kubevirt")
    tree: JsonObject = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "trial"}}
    unknown = {**tree, "spec": {"configuration": {"vmRolloutStrategie": "Stage"}}}
    ran = kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(unknown))
    assert (ran.status, "spec.configuration.vmRolloutStrategie" in ran.err) == (0, True), ran.err
    wrong = {**tree, "spec": {"configuration": {"instancetype": {"referencePolicy": "always"}}}}
    reported = kubectl.run_rejected("create", "--dry-run=server", "-f", "-", stdin=json.dumps(wrong))
    assert "spec.configuration.instancetype.referencePolicy" in reported


VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")


@pytest.mark.parametrize("version", VERSIONS)
def test_instancetype_is_converted_between_versions_on_read_and_write(
    installation: Installation, kubectl: Kubectl, version: str
) -> None:
    tree = build_type(f"from-{version}", 3, version=version)
    kubectl.apply(tree)
    for other in VERSIONS:
        path = f"/apis/instancetype.kubevirt.io/{other}/namespaces/{kubectl.namespace}/virtualmachineinstancetypes"
        code, found = installation.plane.request("GET", f"{path}/from-{version}")
        assert (code, found["apiVersion"]) == (200, f"instancetype.kubevirt.io/{other}")
        assert found["spec"] == tree["spec"]
        code, listing = installation.plane.request("GET", path)
        assert {item["apiVersion"] for item in listing["items"]} == {f"instancetype.kubevirt.io/{other}"}


def test_clone_across_namespaces_requires_permission(installation: Installation, kubectl: Kubectl) -> None:
    kubectl("create", "rolebinding", "ann", "--clusterrole=admin", "--user=ann")
    retry(lambda: kubectl("auth", "can-i", "create", "vm", "--as=ann"))
    template = {
        "metadata": {"name": "disk"},
        "spec": {"source": {"pvc": {"name": "golden", "namespace": "default"}}, "storage": {}},
    }
    volumes = [{"name": "disk", "dataVolume": {"name": "disk"}}]
    vm = build_vm(dataVolumeTemplates=[template], template={"spec": {"domain": {"devices": {}}, "volumes": volumes}})
    reported = kubectl.run_rejected("create", "--as=ann", "-f", "-", stdin=json.dumps(vm))
    assert "insufficient permissions in clone source namespace default" in reported
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "copy", "namespace": "default"},
        "rules": [{"apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes/source"], "verbs": ["create"]}],
    }
    installation.kubectl("apply", "-f", "-", stdin=json.dumps(role))
    installation.kubectl.in_namespace("default")(
        "create", "rolebinding", f"copy-{kubectl.namespace}", "--role=copy", "--user=ann"
    )
    retry(lambda: kubectl("create", "--as=ann", "-f", "-", stdin=json.dumps(vm)))


def test_webhook_response_times_are_exported_as_metrics(webhook: ComponentProcess, kubectl: Kubectl) -> None:
    count = 'controller_runtime_webhook_latency_seconds_count{webhook="/admit/mutate"}'
    within = 'controller_runtime_webhook_latency_seconds_bucket{le="+Inf",webhook="/admit/mutate"}'
    before = _read(webhook.request("/metrics")[1], count)
    for number in range(3):
        kubectl.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(build_vm(f"q{number}")))
    text = webhook.request("/metrics")[1]
    assert _read(text, count) == _read(text, within) >= before + 3
    verdicts = 'virtshape_admission_verdicts_total{group="kubevirt.io",operation="CREATE",reason="",'
    assert f'{verdicts}resource="virtualmachines",type="mutating",verdict="allowed"}}' in text


def _read(text: str, name: str) -> float:
    found = (float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))
    return next(found, 0.0)


def test_webhook_replaces_a_lost_certificate_with_one_that_the_api_server_trusts(
    installation: Installation, webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    """When its Secret is emptied, the webhook issues a new certificate and updates all CA bundles."""
    del webhook
    empty = '[{"op":"remove","path":"/data"}]'
    before = installation.kubectl.in_namespace(SYSTEM).get("secret", "virtshape-webhook-tls")["data"]["ca.crt"]
    installation.kubectl.in_namespace(SYSTEM)("patch", "secret", "virtshape-webhook-tls", "--type=json", "-p", empty)

    def check() -> None:
        secret = installation.kubectl.in_namespace(SYSTEM).get("secret", "virtshape-webhook-tls")
        bundle = secret.get("data", {}).get("ca.crt")
        assert bundle
        assert bundle != before
        for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
            hooks = installation.kubectl.get(kind, "virtshape")["webhooks"]
            assert {hook["clientConfig"]["caBundle"] for hook in hooks} == {bundle}
        definition = installation.kubectl.get("crd", "virtualmachineinstancetypes.instancetype.kubevirt.io")
        assert definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] == bundle
        kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(build_vm("after")))

    retry(check)


def test_new_vms_are_rejected_while_no_webhook_runs(installation: Installation, kubectl: Kubectl) -> None:
    """Reads, changes of a VM's labels and writes of other kinds succeed."""
    kubectl.apply(build_vm())
    configuration = installation.kubectl.get("mutatingwebhookconfiguration", "virtshape")
    silent = find_free_port()
    for hook in configuration["webhooks"]:
        hook["clientConfig"]["service"]["port"] = silent
    original = installation.kubectl.get("mutatingwebhookconfiguration", "virtshape")
    installation.kubectl(
        "apply", "--server-side", "--force-conflicts", "--field-manager=test", "-f", "-", stdin=_bare(configuration)
    )
    try:
        retry(lambda: _expect_refusal(kubectl))
        assert kubectl.get("vm", "vm1")["metadata"]["name"] == "vm1"
        kubectl("label", "vm", "vm1", "a=b")
        kubectl("create", "configmap", "c")
    finally:
        installation.kubectl(
            "apply", "--server-side", "--force-conflicts", "--field-manager=test", "-f", "-", stdin=_bare(original)
        )
    installation.wait_until_trusted()


def _expect_refusal(kubectl: Kubectl) -> None:
    reported = kubectl.run_rejected("create", "-f", "-", stdin=json.dumps(build_vm("unchecked")))
    assert 'failed calling webhook "virtualmachines-mutator.kubevirt.io"' in reported
    assert "connection refused" in reported


def _bare(tree: JsonObject) -> str:
    metadata = {"name": tree["metadata"]["name"]}
    return json.dumps({**tree, "metadata": metadata})


def test_webhook_exits_cleanly_on_sigterm(installation: Installation, webhook: ComponentProcess) -> None:
    """Start a second replica, stop it, and check its exit status and how long the shutdown takes."""
    del webhook
    port = installation.https["webhook"]
    installation.https["webhook"] = 0
    try:
        second = installation.start("webhook").wait()
    finally:
        installation.https["webhook"] = port
    began = time.monotonic()
    assert second.end(signal.SIGTERM) == 0
    assert time.monotonic() - began < TIMEOUT / 2


HOST_DISK = [{"name": "d", "hostDisk": {"path": "/etc/shadow", "type": "Disk"}}]
GPUS = [{"name": "g", "deviceName": "nvidia.com/T4"}]


def configure(installation: Installation, **configuration: Any) -> None:
    path = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": {}}
    installation.plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kubevirt"}})
    installation.plane.request("POST", path, tree)
    code, found = installation.plane.request("GET", f"{path}/kubevirt")
    assert code == 200, found
    code, answer = installation.plane.request(
        "PUT", f"{path}/kubevirt", {**found, "spec": {"configuration": configuration}}
    )
    assert code == 200, answer


def test_host_disks_and_devices_require_the_administrators_permission(
    installation: Installation, kubectl: Kubectl
) -> None:
    configure(installation)
    disk = build_vm("disk", template={"spec": {"domain": {"devices": {}}, "volumes": HOST_DISK}})
    gpu = build_vm("gpu", template={"spec": {"domain": {"devices": {"gpus": GPUS}}}})
    instance = {
        **disk,
        "kind": "VirtualMachineInstance",
        "spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}, "volumes": HOST_DISK},
    }
    for tree, refusal in (
        (disk, "HostDisk feature gate is not enabled"),
        (instance, "HostDisk feature gate is not enabled"),
        (gpu, "GPU nvidia.com/T4 is not permitted in permittedHostDevices configuration"),
    ):
        assert refusal in kubectl.run_rejected("create", "-f", "-", stdin=json.dumps(tree))
    listed = [{"pciVendorSelector": "10DE:1EB8", "resourceName": "nvidia.com/T4"}]
    gates = {"featureGates": ["HostDisk"]}
    try:
        configure(installation, developerConfiguration=gates, permittedHostDevices={"pciHostDevices": listed})
        for tree in (disk, gpu):
            retry(lambda tree=tree: kubectl.apply(tree))
    finally:
        configure(installation)


def test_data_source_can_refer_only_to_claims_that_its_author_may_clone(
    installation: Installation, kubectl: Kubectl
) -> None:
    """Without this check, a VM could clone content that was not checked at admission."""
    kinds = [kind for kind in build_definitions(Options(cdi=True)) if kind["spec"]["names"]["kind"] == "DataSource"]
    installation.kubectl.apply(
        *({**kind, "spec": {**kind["spec"], "conversion": {"strategy": "None"}}} for kind in kinds)
    )
    wait_for_kinds(installation.kubectl)
    namespace = kubectl.namespace
    rights = [{"apiGroups": ["cdi.kubevirt.io"], "resources": ["datasources"], "verbs": ["*"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "sources"}}
    kubectl.apply({**role, "rules": rights})
    kubectl("create", "rolebinding", "sources", "--role=sources", "--user=eve")
    source = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataSource",
        "metadata": {"name": "lure"},
        "spec": {"source": {"pvc": {"name": "disk", "namespace": namespace}}},
    }
    retry(lambda: kubectl("create", "--as=eve", "-f", "-", stdin=json.dumps(source)))
    moved = json.dumps({"spec": {"source": {"pvc": {"name": "secret", "namespace": "default"}}}})
    refusal = kubectl.run_rejected("patch", "--as=eve", "datasource", "lure", "--type=merge", "-p", moved)
    assert "insufficient permissions in clone source namespace default" in refusal


def test_inference_does_not_reveal_a_claim_of_another_namespace(installation: Installation, kubectl: Kubectl) -> None:
    """The mutating webhook reads the claim's labels before the validating webhook checks the permission to clone."""
    name, labels = f"golden-{kubectl.namespace}", {"instancetype.kubevirt.io/default-instancetype": "top-secret"}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    installation.kubectl.in_namespace("default").apply(claim)
    rights = [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["create"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "vms"}}
    kubectl.apply({**role, "rules": rights})
    kubectl("create", "rolebinding", "vms", "--role=vms", "--user=eve")
    origin = {"pvc": {"name": name, "namespace": "default"}}
    vm = build_vm(
        "spy",
        instancetype={"inferFromVolume": "root"},
        dataVolumeTemplates=[{"metadata": {"name": "root"}, "spec": {"source": origin, "storage": {}}}],
        template={"spec": {"domain": {"devices": {}}, "volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}},
    )

    def check() -> None:
        refusal = kubectl.run_rejected("create", "--as=eve", "-f", "-", stdin=json.dumps(vm))
        assert "insufficient permissions in clone source namespace default" in refusal
        assert "top-secret" not in refusal

    retry(check)


def test_user_cannot_write_the_status_of_an_instance(kubectl: Kubectl) -> None:
    instance = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "forged"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}},
        "status": {"phase": "Running", "nodeName": "node1"},
    }
    kubectl.apply(instance)
    before = kubectl.get("vmi", "forged")["status"]
    assert (before["phase"], "nodeName" in before) == ("Pending", False)
    kubectl("patch", "vmi", "forged", "--type=merge", "-p", json.dumps({"status": {"phase": "Running"}}))
    assert kubectl.get("vmi", "forged")["status"] == before


@pytest.mark.parametrize("path", [naming.MUTATE_PATH, naming.VALIDATE_PATH, naming.CONVERT_PATH])
def test_too_large_review_returns_413_before_its_body_is_sent(installation: Installation, path: str) -> None:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", installation.https["webhook"], timeout=TIMEOUT, context=trust)
    try:
        connection.putrequest("POST", f"{path}?timeout=10s")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(get_limit(path) + 1))
        connection.endheaders()
        response = connection.getresponse()
        status = json.load(response)
        assert (response.status, status["reason"]) == (413, "RequestEntityTooLarge")
        assert f"limit is {get_limit(path)}" in status["message"]
    finally:
        connection.close()
