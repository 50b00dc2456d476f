"""virtctl with a real API server and our components: requests, and output for `kubectl apply`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.cluster.components.installation import ComponentProcess, Installation
from tests.cluster.install import retry
from tests.support.demoguests import eventually
from tests.support.kubectl import Kubectl
from tests.support.kubevirt import find_program
from tests.support.smallmanifests import build_instancetype, build_vm
from tests.support.virtctl import PROGRAM, Virtctl

pytestmark = pytest.mark.usefixtures("aggregated", "webhook")

RECAPTURE = "virtshape.io/recapture"


@pytest.fixture
def virtctl(installation: Installation, tmp_path: Path, namespace: str) -> Virtctl:
    """Return virtctl in the namespace of the test."""
    return Virtctl(installation.plane.kubeconfig, tmp_path, namespace)


@pytest.fixture
def kubevirts(installation: Installation, tmp_path: Path, namespace: str) -> Virtctl:
    """Return KubeVirt's own virtctl in the namespace of the test."""
    return Virtctl(installation.plane.kubeconfig, tmp_path, namespace, find_program("virtctl"))


@pytest.fixture(scope="module")
def controllers(installation: Installation, webhook: ComponentProcess) -> Iterator[ComponentProcess]:
    """Run the controllers for all tests of this module."""
    del webhook
    with installation.running("controller") as worker:
        yield worker


def test_virtctl_version_shows_client_and_server_versions(installation: Installation, virtctl: Virtctl) -> None:
    lines = virtctl.print("version").splitlines()
    assert [line.split(":")[0] for line in lines] == ["Client Version", "Server Version"]
    _, reported = installation.plane.request("GET", "/apis/subresources.kubevirt.io/v1/version")
    assert json.loads(virtctl.print("version", "-o", "json"))["serverVersion"] == reported


def test_manifests_of_virtctl_create_can_be_applied(virtctl: Virtctl, kubectl: Kubectl) -> None:
    size = virtctl.print("create", "instancetype", "--name", "mine", "--cpu", "2", "--memory", "3Gi")
    preference = virtctl.print("create", "preference", "--name", "likes", "--machine-type", "q35")
    arguments = ("--instancetype", "virtualmachineinstancetype/mine", "--preference", "virtualmachinepreference/likes")
    vm = virtctl.print(
        "create", "vm", "--name", "web", *arguments, "--run-strategy", "Halted", "--volume-pvc", "src:disk"
    )
    for manifest in (size, preference, vm):
        assert "created" in kubectl("apply", "-f", "-", stdin=manifest)
    spec = kubectl.get("vm", "web")["spec"]
    assert [(spec[role]["name"], spec[role]["kind"].lower()) for role in ("instancetype", "preference")] == [
        ("mine", "virtualmachineinstancetype"),
        ("likes", "virtualmachinepreference"),
    ]


def test_kubevirts_own_virtctl_creates_expands_starts_and_stops_a_vm(kubevirts: Virtctl, kubectl: Kubectl) -> None:
    assert "Server Version" in kubevirts.print("version")
    size = kubevirts.print("create", "instancetype", "--name", "size", "--cpu", "2", "--memory", "1Gi", "--namespaced")
    arguments = ("--instancetype", "virtualmachineinstancetype/size", "--run-strategy", "Halted")
    vm = kubevirts.print("create", "vm", "--name", "web", *arguments)
    for manifest in (size, vm):
        assert "created" in kubectl("apply", "-f", "-", stdin=manifest)
    expanded = yaml.safe_load(kubevirts.print("expand", "--vm", "web"))["spec"]["template"]["spec"]["domain"]
    assert (expanded["cpu"]["sockets"], expanded["memory"]["guest"]) == (2, "1Gi")
    assert kubevirts.print("start", "web") == "VM web was scheduled to start\n"
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Always"
    assert kubevirts.print("stop", "web") == "VM web was scheduled to stop\n"
    assert kubectl.get("vm", "web")["spec"]["runStrategy"] == "Halted"
    refused = kubevirts("start", "missing")
    assert (refused.status, 'virtualmachine.kubevirt.io "missing" not found' in refused.err) == (1, True), refused.err


def test_kubevirts_own_virtctl_expands_a_file_with_a_preference(
    kubevirts: Virtctl, kubectl: Kubectl, tmp_path: Path
) -> None:
    arguments = ("--name", "likes", "--cpu-topology", "cores", "--namespaced")
    kubectl("apply", "-f", "-", stdin=kubevirts.print("create", "preference", *arguments))
    matchers = ("--instancetype", "u1.medium", "--preference", "virtualmachinepreference/likes")
    (tmp_path / "vm.yaml").write_text(kubevirts.print("create", "vm", "--name", "web", *matchers))
    expanded = yaml.safe_load(kubevirts.print("expand", "--file", tmp_path / "vm.yaml"))
    assert expanded["spec"]["template"]["spec"]["domain"]["cpu"] == {"sockets": 1, "cores": 1, "threads": 1}


@pytest.fixture(params=["virtshape", "kubevirt"])
def each_virtctl(installation: Installation, tmp_path: Path, namespace: str, request: pytest.FixtureRequest) -> Virtctl:
    """Return our virtctl, then KubeVirt's."""
    program = PROGRAM if request.param == "virtshape" else find_program("virtctl")
    return Virtctl(installation.plane.kubeconfig, tmp_path, namespace, program)


def test_exposed_service_selects_the_pod_of_the_vm(
    each_virtctl: Virtctl, kubectl: Kubectl, controllers: ComponentProcess
) -> None:
    del controllers
    kubectl.apply(build_vm("web", runStrategy="Always"))
    printed = each_virtctl.print("expose", "vm", "web", "--name", "web-http", "--port", "80", "--target-port", "8080")
    assert printed == "Service web-http successfully created for vm web\n"
    spec = kubectl.get("service", "web-http")["spec"]
    assert [(port["port"], port["targetPort"]) for port in spec["ports"]] == [(80, 8080)]
    assert spec["clusterIP"]
    selector = ",".join(f"{label}={value}" for label, value in spec["selector"].items())

    def find_pods() -> list[str]:
        return [pod["metadata"]["labels"]["kubevirt.io"] for pod in kubectl.get("pods", "-l", selector)["items"]]

    eventually(lambda: find_pods() == ["virt-launcher"] or None, lambda: str(kubectl.get("vmi", "web")))


def test_virtctl_adds_and_removes_an_ssh_key(each_virtctl: Virtctl, kubectl: Kubectl) -> None:
    kubectl.apply(build_vm("web"))
    options = ("web", "--user", "jdoe", "--value", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOne")
    each_virtctl.print("credentials", "add-ssh-key", *options)
    (credential,) = kubectl.get("vm", "web")["spec"]["template"]["spec"]["accessCredentials"]
    secret = credential["sshPublicKey"]["source"]["secret"]["secretName"]
    assert len(kubectl.get("secret", secret)["data"]) == 1
    each_virtctl.print("credentials", "remove-ssh-key", *options)
    assert not kubectl.get("secret", secret).get("data")


def test_virtctl_changes_log_verbosity_and_shows_permitted_devices(
    each_virtctl: Virtctl, controllers: ComponentProcess
) -> None:
    """The controllers create the KubeVirt object that the commands read and change."""
    del controllers
    eventually(
        lambda: each_virtctl("adm", "log-verbosity", "--virt-api=5").status == 0 or None,
        lambda: "there is no KubeVirt object",
    )
    assert each_virtctl.print("adm", "log-verbosity", "--virt-api") == "virt-api=5\n"
    assert each_virtctl("adm", "log-verbosity", "--reset").status == 0
    assert "Permitted Devices" in each_virtctl.print("permitted-devices", "-n", "kubevirt")


@pytest.fixture
def revisions_in_status(kubectl: Kubectl, controllers: ComponentProcess) -> Iterator[None]:
    """Configure the controllers, which create the KubeVirt object, to record revisions only in the status of VMs."""
    del controllers

    def configure(place: str | None) -> None:
        patch = json.dumps({"spec": {"configuration": {"instancetype": {"revisionName": place}}}})
        kubectl("patch", "kubevirt", "kubevirt", "-n", "kubevirt", "--type=merge", "-p", patch)

    def check_is_observed() -> None:
        kubevirt = kubectl.in_namespace("kubevirt").get("kubevirt", "kubevirt")
        assert kubevirt["status"]["observedGeneration"] == kubevirt["metadata"]["generation"]

    retry(lambda: configure("Status"))
    retry(check_is_observed)  # the controllers know the configuration
    yield
    configure(None)


@pytest.mark.usefixtures("revisions_in_status")
def test_editor_upgrades_a_vm_whose_revision_is_recorded_in_the_status(virtctl: Virtctl, kubectl: Kubectl) -> None:
    kubectl("create", "rolebinding", "edits", "--clusterrole=edit", "--user=editor")
    size = build_instancetype("grows", vcpus=2)
    kubectl.apply(size)
    matcher = {"name": "grows", "kind": "VirtualMachineInstancetype"}
    vm = build_vm("grown", instancetype=matcher)
    vm["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    kubectl.apply(vm)

    def find_revision() -> str:
        found = kubectl.get("vm", "grown")
        ref = found.get("status", {}).get("instancetypeRef", {}).get("controllerRevisionRef", {})
        return "" if RECAPTURE in found["metadata"].get("annotations", {}) else str(ref.get("name", ""))

    revision = eventually(lambda: find_revision() or None, lambda: "the VM has no revision")
    assert "revisionName" not in kubectl.get("vm", "grown")["spec"]["instancetype"]
    size["spec"] |= {"cpu": {"guest": 4}, "nodeSelector": {"disk": "hdd"}}
    kubectl.apply(size)
    wanted = json.dumps({"metadata": {"annotations": {RECAPTURE: "instancetype"}}})

    def check_refusal() -> None:  # the role binding and the instance type take effect asynchronously
        refusal = kubectl.run_rejected("patch", "vm", "grown", "--as=editor", "--type=merge", "-p", wanted)
        assert "nodeSelector conflicts with selected instance type" in refusal

    retry(check_refusal)
    del size["spec"]["nodeSelector"]
    kubectl.apply(size)
    upgraded = virtctl("upgrade", "grown", "--as", "editor")
    assert (upgraded.status, upgraded.err) == (0, "1 VM upgraded\n")
    eventually(lambda: find_revision() not in ("", revision) or None, lambda: "the VM has no new revision")
    assert virtctl("upgrade", "grown").err == "nothing to upgrade: all VMs are current\n"


REFUSALS: dict[str, tuple[list[str], str]] = {
    "halted VM is stopped": (["stop", "web"], "VM is not running"),
    "halted VM is restarted": (["restart", "web"], "Halted does not support manual restart requests"),
    "halted VM is paused": (["pause", "vm", "web"], "VirtualMachine web is not set to run"),
    "console of a halted VM": (["console", "web"], 'virtualmachineinstance.kubevirt.io "web" not found'),
    "port of a halted VM": (["port-forward", "--stdio=true", "vmi/web", "80"], '"web" not found'),
    "agent of a halted VM": (["guestosinfo", "web"], "the server could not find the requested resource"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSALS.values(), ids=REFUSALS)
def test_kubevirts_own_virtctl_shows_error_messages_of_the_server(
    kubevirts: Virtctl, kubectl: Kubectl, arguments: list[str], message: str
) -> None:
    kubectl.apply(build_vm("web"))
    refused = kubevirts(*arguments)
    assert (refused.status, message in refused.err) == (1, True), refused.err


def test_created_manifest_with_a_misspelled_instancetype_is_rejected(virtctl: Virtctl, kubectl: Kubectl) -> None:
    vm = virtctl.print("create", "vm", "--name", "web", "--instancetype", "u1.mediun")
    assert "did you mean u1.medium" in kubectl.run_rejected("apply", "-f", "-", stdin=vm)


def test_customize_copies_an_instancetype_from_the_server(virtctl: Virtctl, kubectl: Kubectl) -> None:
    kubectl.apply(build_instancetype("odd", vcpus=3, memory="5Gi"))
    for source, name, vcpus, memory in (("u1.medium", "large", 4, "4Gi"), ("vminstancetype/odd", "even", 4, "5Gi")):
        made = virtctl.print("customize", source, "--name", name, "--vcpus", "4")
        kubectl("apply", "-f", "-", stdin=made)
        spec = kubectl.get("vminstancetype", name)["spec"]
        assert (spec["cpu"]["guest"], spec["memory"]["guest"]) == (vcpus, memory)
    missing = virtctl("customize", "u1.mediun", "--name", "x")
    assert (missing.status, "did you mean u1.medium" in missing.err) == (1, True), missing.err


def test_recommend_lists_the_smallest_matching_instancetype_first(virtctl: Virtctl, kubectl: Kubectl) -> None:
    kubectl.apply(build_instancetype("odd", vcpus=3, memory="5Gi"))
    command = (
        "recommend",
        "--cpu-min",
        "3",
        "--memory-min",
        "5Gi",
        "--preference",
        "windows.11",
        "--all",
        "-o",
        "name",
    )
    first, *others = virtctl.print(*command).splitlines()
    assert first == "virtualmachineinstancetype.instancetype.kubevirt.io/odd"
    assert any(one.startswith("virtualmachineclusterinstancetype.") for one in others)


def test_fit_counts_the_launcher_pods_that_a_node_can_still_run(virtctl: Virtctl, kubectl: Kubectl) -> None:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "9Gi", "devices.kubevirt.io/kvm": "1k"}
    labels = {"kubernetes.io/arch": "amd64"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "roomy", "labels": labels}}
    container = {"name": "a", "image": "none", "resources": {"requests": {"memory": "3Gi"}}}
    busy = {"nodeName": "roomy", "containers": [container]}
    kubectl.apply({**node, "status": {"allocatable": offered, "capacity": offered}})
    try:
        kubectl("patch", "node", "roomy", "-p", '{"spec": {"taints": null}}')
        kubectl.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "busy"}, "spec": busy})
        counted = json.loads(virtctl.print("fit", "u1.small", "--node", "roomy", "-o", "json"))
        assert counted["nodes"] == [
            {"node": "roomy", "fits": 2, "blockedBy": ["has 480Mi of memory left, 2320Mi needed"]}
        ]
    finally:
        kubectl("delete", "node", "roomy")
        kubectl("delete", "pod", "busy", "--force", "--ignore-not-found")


def test_drift_reports_a_changed_and_then_deleted_instancetype(
    virtctl: Virtctl, kubectl: Kubectl, controllers: ComponentProcess
) -> None:
    del controllers
    kubectl.apply(build_instancetype("shifting", vcpus=2))
    kubectl.apply(build_vm("left", instancetype={"name": "shifting", "kind": "VirtualMachineInstancetype"}))

    def read_states() -> dict[str, str]:
        return {one["role"]: one["state"] for one in json.loads(virtctl.print("drift", "left", "-o", "json"))}

    both = {"instancetype": "same", "preference": "same"}
    eventually(lambda: read_states() == both or None, lambda: f"{read_states()} {kubectl.get('vm', 'left')}")
    kubectl.apply(build_instancetype("shifting", vcpus=4))
    drifted = virtctl("drift", "--fields", "--exit-code")
    assert (drifted.status, "spec.cpu.guest: 2 -> 4" in drifted.out) == (1, True), drifted
    kubectl("delete", "vminstancetype", "shifting")
    assert read_states() == both | {"instancetype": "gone"}
    expanded = yaml.safe_load(virtctl.print("expand", "--vm", "left"))
    assert expanded["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"] == 2, (
        "drift is compared with the revision of the VM"
    )


@pytest.mark.parametrize("kind", ["pvc", "dv"])
def test_upload_without_cdi_is_rejected_before_anything_is_created(
    virtctl: Virtctl, kubectl: Kubectl, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "disk.img").write_bytes(b"image")
    arguments = ("image-upload", kind, "disk", "--size", "1Gi", "--image-path", tmp_path / "disk.img")
    refused = virtctl(*arguments)
    assert (refused.status, refused.out) == (1, "")
    assert refused.err == (
        "error: cannot upload: CDI is not installed\n"
        "Install CDI, or set the URL of an upload proxy with --uploadproxy-url.\n"
    )
    assert kubectl.get("pvc")["items"] == []


def test_addvolume_and_removevolume_are_refused_on_a_cluster(virtctl: Virtctl, kubectl: Kubectl) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    kubectl.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec})
    for command in ("addvolume", "removevolume"):
        refused = virtctl(command, "web", "--volume-name=data")
        assert (refused.status, refused.out) == (1, "")
        assert "Kubernetes cannot add volumes to a running pod" in refused.err


def test_verbose_request_log_contains_no_credentials(
    virtctl: Virtctl, installation: Installation, kubectl: Kubectl
) -> None:
    token = kubectl("create", "token", "default", "--duration=1h").strip()
    arguments = (
        "--server",
        installation.plane.url,
        "--certificate-authority",
        installation.plane.directory / "ca.crt",
        "--token",
        token,
    )
    ran = virtctl("start", "web", "-v=8", *arguments)
    first, *_ = ran.err.splitlines()
    path = f"/apis/subresources.kubevirt.io/v1/namespaces/{kubectl.namespace}/virtualmachines/web/start"
    assert first.startswith(f"PUT {installation.plane.url}{path} 403 Forbidden in ")
    assert "cannot update resource" in ran.err
    assert token not in ran.err
