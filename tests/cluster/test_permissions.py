"""Each component runs with its own service account without a forbidden request."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.install import print_manifests, remove_webhooks, retry, route_here, wait_for_kinds
from tests.support.controlplane import ControlPlane, find_ports
from tests.support.kubectl import Kubectl

from virtshape.apiserver.auth.kubeconfig import Server, render_kubeconfig
from virtshape.cluster.manifests.build import build_manifests
from virtshape.cluster.manifests.options import Options

COMMAND = Path(sys.executable).parent / "virtshape"
SYSTEM = "virtshape-system"
TIMEOUT = 240.0
PERMISSIONS = {
    "webhook": (("get", "datasources.cdi.kubevirt.io"), ("update", "secrets/virtshape-webhook-tls")),
    "controller": (
        ("create", "virtualmachineclusterpreferences.instancetype.kubevirt.io"),
        ("create", "leases.coordination.k8s.io"),
    ),
    "apiserver": (
        ("watch", "virtualmachineclusterinstancetypes.instancetype.kubevirt.io"),
        ("update", "secrets/virtshape-apiserver-tls"),
    ),
}
"""A permission of the cluster role and one of the role of each component."""
VM: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.small"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}


@pytest.fixture
def installed(cluster: Kubectl) -> Kubectl:
    cluster("apply", "-f", "-", stdin=print_manifests("--cdi", "--catalog"))
    remove_webhooks(cluster)
    wait_for_kinds(cluster)
    return cluster


@contextmanager
def running(component: str, plane: ControlPlane, cluster: Kubectl, directory: Path, *arguments: str) -> Iterator[Path]:
    """Run a component with its service account; yield its log file, which must not contain forbidden requests."""
    for question in PERMISSIONS[component]:  # RBAC changes take effect asynchronously
        user = f"--as=system:serviceaccount:{SYSTEM}:virtshape-{component}"
        retry(lambda line=("auth", "can-i", *question, user): cluster.in_namespace(SYSTEM)(*line))
    token = cluster.in_namespace(SYSTEM)("create", "token", f"virtshape-{component}")
    kubeconfig, log = directory / f"{component}.kubeconfig", directory / f"{component}.log"
    kubeconfig.write_text(render_kubeconfig(Server(plane.url, plane.authority.pem), component, token.strip()))
    line = [str(COMMAND), component, f"--kubeconfig={kubeconfig}", "--health-port=0", "--metrics-port=0", *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(line, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(TIMEOUT)
    reported = log.read_text()
    assert "forbidden" not in reported.lower(), reported
    assert "Traceback" not in reported, reported


def test_controller_works_with_its_permissions(
    plane: ControlPlane, installed: Kubectl, namespace: str, tmp_path: Path
) -> None:
    kubectl = installed.in_namespace(namespace)
    with running("controller", plane, installed, tmp_path, "--launcher-image=example.com/launcher:1", "--catalog"):
        retry(lambda: installed("get", "vmcf", "u1.small"))
        kubectl.apply(VM)
        retry(lambda: kubectl("get", "vmi", "web"))

        def check() -> None:
            pods = kubectl.get("pods", "-l", "vm.kubevirt.io/name=web")["items"]
            assert [pod["spec"]["containers"][0]["image"] for pod in pods] == ["example.com/launcher:1"]
            assert kubectl.get("vm", "web")["status"]["instancetypeRef"]["controllerRevisionRef"]["name"]
            assert kubectl.get("events")["items"]
            assert installed.in_namespace("kubevirt").get("kv", "kubevirt")["status"]["phase"] == "Deployed"

        retry(check)
        kubectl("delete", "vm", "web", f"--timeout={TIMEOUT:g}s")

        def check_gone() -> None:
            assert kubectl.get("vmi")["items"] == []

        retry(check_gone)


@pytest.fixture
def routed(cluster: Kubectl) -> Iterator[dict[str, int]]:
    """An installation whose Services are routed to this machine, and the port of each component."""
    found = dict(zip(("virtshape-webhook", "virtshape-apiserver"), find_ports(2), strict=True))
    cluster("delete", "service", "--namespace", SYSTEM, "--ignore-not-found", *found)
    cluster.apply(*route_here(build_manifests(Options(cdi=True, catalog=True)), found))
    wait_for_kinds(cluster)
    yield found
    remove_webhooks(cluster)
    cluster("delete", "service", "--namespace", SYSTEM, *found)


def test_all_components_work_with_their_permissions(
    plane: ControlPlane, cluster: Kubectl, routed: dict[str, int], namespace: str, tmp_path: Path
) -> None:
    kubectl = cluster.in_namespace(namespace)
    webhook, apiserver = (f"--port={port}" for port in routed.values())
    with (
        running("webhook", plane, cluster, tmp_path, webhook),
        running("apiserver", plane, cluster, tmp_path, "--aggregated", apiserver),
        running("controller", plane, cluster, tmp_path, "--launcher-image=example.com/launcher:1", "--catalog"),
    ):
        retry(lambda: cluster("get", "vmcf", "u1.small"))
        retry(lambda: kubectl.apply({**VM, "spec": {**VM["spec"], "runStrategy": "Manual"}}))
        assert kubectl.get("vm", "web")["spec"]["template"]["spec"]["architecture"] == "amd64"
        start = f"/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachines/web/start"
        wanted = {"name": "nope", "kind": "VirtualMachineClusterInstancetype"}
        refusal = kubectl.run_rejected(
            "patch", "vm", "web", "--type=merge", "-p", json.dumps({"spec": {"instancetype": wanted}})
        )
        assert "spec.instancetype" in refusal

        def begin() -> None:
            code, answer = plane.request("PUT", start, {})
            assert code == 202, answer

        retry(begin)
        retry(lambda: kubectl("get", "vmi", "web"))
        older = "virtualmachineclusterinstancetypes.v1alpha2.instancetype.kubevirt.io"
        old = retry(lambda: kubectl("get", older, "u1.small", "-o=json"))
        assert json.loads(old)["apiVersion"] == "instancetype.kubevirt.io/v1alpha2"
        kubectl("delete", "vm", "web", f"--timeout={TIMEOUT:g}s")


LAUNCHER_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "virt-launcher-web-0"},
    "spec": {"containers": [{"name": "compute", "image": "a"}, {"name": "other", "image": "a"}]},
}
EXEC_COMMAND = ("python3", "-m", "virtshape.launcher.pod.exec", "console")
EXECS = {
    "stream command": ("virt-launcher-web-0", "compute", EXEC_COMMAND, "does not have a host assigned"),
    "other command": ("virt-launcher-web-0", "compute", ("cat", "/etc/shadow"), "may only run"),
    "command that contains the stream command": (
        "virt-launcher-web-0",
        "compute",
        ("sh", "-c", "cat /etc/shadow", "virtshape.launcher.pod.exec"),
        "may only run",
    ),
    "stream command with another interpreter": (
        "virt-launcher-web-0",
        "compute",
        ("env", "PYTHONPATH=/tmp", *EXEC_COMMAND),
        "may only run",
    ),
    "an unknown action": ("virt-launcher-web-0", "compute", (*EXEC_COMMAND[:3], "shell"), "may only run"),
    "other container": ("virt-launcher-web-0", "other", EXEC_COMMAND, "may only run"),
    "other pod": ("other", "compute", EXEC_COMMAND, "may only run"),
}


def test_aggregated_api_can_exec_only_stream_commands_in_guest_pods(installed: Kubectl, namespace: str) -> None:
    kubectl = installed.in_namespace(namespace)
    kubectl.apply(LAUNCHER_POD, {**LAUNCHER_POD, "metadata": {"name": "other"}})
    user = f"--as=system:serviceaccount:{SYSTEM}:virtshape-apiserver"

    def check() -> None:  # a ValidatingAdmissionPolicy takes effect asynchronously
        for name, (pod, container, command, answer) in EXECS.items():
            assert answer in kubectl.run_rejected("exec", user, pod, "-c", container, "--", *command), name

    retry(check)
    assert "host assigned" in kubectl.run_rejected("exec", "other", "-c", "compute", "--", "true")


REPORT = ("cat", "/run/virtshape/report.json")
RESIZE = (*EXEC_COMMAND[:3], "resize")
REPORT_EXECS = {
    "report": ("virt-launcher-web-0", "compute", REPORT, "does not have a host assigned"),
    "resize": ("virt-launcher-web-0", "compute", (*RESIZE, "3", "0"), "does not have a host assigned"),
    "resize of text": ("virt-launcher-web-0", "compute", (*RESIZE, "3", "all"), "may only read the report"),
    "resize with more": ("virt-launcher-web-0", "compute", (*RESIZE, "3", "0", "0"), "may only read the report"),
    "other file": ("virt-launcher-web-0", "compute", ("cat", "/etc/shadow"), "may only read the report"),
    "second file": ("virt-launcher-web-0", "compute", (*REPORT, "/etc/shadow"), "may only read the report"),
    "stream command": ("virt-launcher-web-0", "compute", EXEC_COMMAND, "may only read the report"),
    "other container": ("virt-launcher-web-0", "other", REPORT, "may only read the report"),
    "other pod": ("other", "compute", REPORT, "may only read the report"),
}


def test_controller_can_only_read_reports_and_resize_guests_in_guest_pods(installed: Kubectl, namespace: str) -> None:
    kubectl = installed.in_namespace(namespace)
    kubectl.apply(LAUNCHER_POD, {**LAUNCHER_POD, "metadata": {"name": "other"}})
    user = f"--as=system:serviceaccount:{SYSTEM}:virtshape-controller"

    def check() -> None:  # a ValidatingAdmissionPolicy takes effect asynchronously
        for name, (pod, container, command, answer) in REPORT_EXECS.items():
            assert answer in kubectl.run_rejected("exec", user, pod, "-c", container, "--", *command), name

    retry(check)


POD_CHANGES = {
    "annotation": ("virt-launcher-web-0", {"metadata": {"annotations": {"virtshape.io/paused": "true"}}}, True),
    "other image": ("virt-launcher-web-0", {"spec": {"containers": [{"name": "compute", "image": "evil"}]}}, False),
    "label": ("virt-launcher-web-0", {"metadata": {"labels": {"app": "other"}}}, False),
    "other pod": ("other", {"metadata": {"annotations": {"virtshape.io/paused": "true"}}}, False),
}


def test_aggregated_api_can_only_annotate_guest_pods(installed: Kubectl, namespace: str) -> None:
    kubectl = installed.in_namespace(namespace)
    kubectl.apply(LAUNCHER_POD, {**LAUNCHER_POD, "metadata": {"name": "other"}})
    user = f"--as=system:serviceaccount:{SYSTEM}:virtshape-apiserver"

    def check() -> None:  # a ValidatingAdmissionPolicy takes effect asynchronously
        for name, (pod, patch, allowed) in POD_CHANGES.items():
            arguments = ("patch", user, "pod", pod, "--type=strategic", "-p", json.dumps(patch))
            if allowed:
                kubectl(*arguments)
            else:
                assert "may only change annotations" in kubectl.run_rejected(*arguments), name

    retry(check)
