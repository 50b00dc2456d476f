"""The aggregated subresource API, called through a real API server: virtctl, permissions and guest streams."""

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.cluster.components.installation import ComponentProcess, Installation
from tests.cluster.components.kubelet import FakeKubelet, run_fake_kubelet
from tests.cluster.install import retry
from tests.e2e.memory import measure_process_growth
from tests.support.kubectl import Kubectl
from tests.support.kubevirtdump import DUMP
from tests.support.podscenarios import NODE, PodDriver
from tests.support.virtctl import PROGRAM

from virtshape.api.core.node import Node
from virtshape.api.status import StatusError
from virtshape.client.actions import request_action
from virtshape.client.guests import open_console, open_port, read_console_log
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient

TIMEOUT = 240.0
GROUP = "/apis/subresources.kubevirt.io"
pytestmark = pytest.mark.usefixtures("aggregated")


def virtctl(installation: Installation, namespace: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "--kubeconfig", installation.plane.kubeconfig, "-n", namespace, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
        env={**os.environ, "KUBECONFIG": ""},
    )


def build_vm(name: str = "vm1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.small"},
            "preference": {"name": "fedora"},
            "template": {"spec": {"domain": {"devices": {}}}},
            **spec,
        },
    }


@pytest.mark.parametrize("version", ["v1", "v1alpha3"])
def test_subresource_api_serves_discovery_and_its_version(installation: Installation, version: str) -> None:
    code, listing = installation.plane.request("GET", f"{GROUP}/{version}")
    assert (code, listing["kind"]) == (200, "APIResourceList")
    assert "virtualmachines/start" in {resource["name"] for resource in listing["resources"]}
    code, about = installation.plane.request("GET", f"{GROUP}/{version}/version")
    assert (code, about["gitVersion"][:1]) == (200, "v")


def test_virtctl_starts_and_stops_a_vm(installation: Installation, webhook: ComponentProcess, kubectl: Kubectl) -> None:
    del webhook
    kubectl.apply(build_vm())
    assert "scheduled to start" in virtctl(installation, kubectl.namespace, "start", "vm1").stdout
    assert kubectl.get("vm", "vm1")["spec"]["runStrategy"] == "Always"
    assert "scheduled to stop" in virtctl(installation, kubectl.namespace, "stop", "vm1").stdout
    assert kubectl.get("vm", "vm1")["spec"]["runStrategy"] == "Halted"
    ran = virtctl(installation, kubectl.namespace, "restart", "vm1")
    assert ran.returncode == 1
    assert "Halted does not support manual restart requests" in ran.stderr


def test_start_of_manual_vm_adds_a_state_change_request(
    installation: Installation, webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    del webhook
    kubectl.apply(build_vm(runStrategy="Manual"))
    assert virtctl(installation, kubectl.namespace, "start", "vm1").returncode == 0
    assert kubectl.get("vm", "vm1")["status"]["stateChangeRequests"] == [{"action": "Start"}]


def test_dry_run_of_start_changes_nothing(
    installation: Installation, webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    del webhook
    kubectl.apply(build_vm())
    path = f"{GROUP}/v1/namespaces/{kubectl.namespace}/virtualmachines/vm1/start"
    assert installation.plane.request("PUT", path, {"dryRun": ["All"]})[0] == 202
    assert kubectl.get("vm", "vm1")["spec"]["runStrategy"] == "Halted"


def test_stored_and_posted_vms_are_expanded(
    installation: Installation, webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    del webhook
    kubectl.apply(build_vm())
    path = f"{GROUP}/v1/namespaces/{kubectl.namespace}"
    code, vm = installation.plane.request("GET", f"{path}/virtualmachines/vm1/expand-spec")
    assert code == 200
    assert vm["spec"]["template"]["spec"]["domain"]["memory"]["guest"] == "2Gi"
    assert "instancetype" not in vm["spec"]
    code, sent = installation.plane.request("PUT", f"{path}/expand-vm-spec", build_vm("sent"))
    assert (code, sent["spec"]["template"]["spec"]["domain"]["memory"]["guest"]) == (200, "2Gi")
    code, status = installation.plane.request(
        "PUT", f"{path}/expand-vm-spec", build_vm("x", instancetype={"name": "none"})
    )
    assert (code, status["reason"]) == (400, "BadRequest")


def test_explain_vm_spec_and_check_compatibility_are_served(
    installation: Installation, webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    del webhook
    kubectl.apply(build_vm())
    path = f"{GROUP}/v1/namespaces/{kubectl.namespace}"
    code, explained = installation.plane.request("PUT", f"{path}/explain-vm-spec", build_vm("sent"))
    assert (code, explained["problems"]) == (200, [])
    origins = {one["field"]: one["origin"] for one in explained["origins"]}
    assert origins["spec.template.spec.domain.memory.guest"] == "instancetype"
    name = kubectl.get("vm", "vm1")["spec"]["instancetype"]["name"]
    kind = kubectl.get("vm", "vm1")["spec"]["instancetype"].get("kind", "")
    code, checked = installation.plane.request(
        "PUT", f"{path}/check-compatibility", {"instancetypes": [{"name": name, "kind": kind}]}
    )
    assert code == 200, checked
    code, status = installation.plane.request(
        "PUT", f"{path}/check-compatibility", {"instancetypes": [{"name": "none"}]}
    )
    assert (code, status["reason"]) == (404, "NotFound")


def test_fit_recommend_and_migrate_type_previews_are_served(
    installation: Installation, webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    del webhook
    kubectl.apply(build_vm())
    matcher = kubectl.get("vm", "vm1")["spec"]["instancetype"]
    named = {"name": matcher["name"], "kind": matcher.get("kind", "")}
    path = f"{GROUP}/v1/namespaces/{kubectl.namespace}"
    code, fit = installation.plane.request("PUT", f"{path}/check-fit", {"instancetypes": [named]})
    assert (code, fit["items"][0]["fits"]) == (200, 0), fit  # the control plane has no nodes
    code, found = installation.plane.request("PUT", f"{path}/recommend-instancetypes", {"cpuMin": 1})
    assert code == 200, found
    body = {"virtualMachine": "vm1", "instancetype": named}
    code, move = installation.plane.request("PUT", f"{path}/preview-migrate-type", body)
    assert (code, move["problems"], move["changes"]) == (200, [], []), move


def test_objects_of_an_import_preview_can_be_applied(installation: Installation, kubectl: Kubectl) -> None:
    body = {"files": [{"name": "dump.yaml", "text": DUMP}], "halted": True}
    code, plan = installation.plane.request("PUT", f"{GROUP}/v1/namespaces/{kubectl.namespace}/preview-import", body)
    assert (code, plan["problems"]) == (200, []), plan
    revision = next(item for item in plan["items"] if item["kind"] == "ControllerRevision")
    assert revision["result"] == "create"
    tree = json.loads(revision["body"])
    tree["metadata"]["namespace"] = kubectl.namespace
    kubectl.apply(tree)
    stored = kubectl.get("controllerrevision", revision["name"])
    assert stored["data"]["spec"] == {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}


def test_start_of_a_missing_vm_reports_that_it_is_not_found(installation: Installation, kubectl: Kubectl) -> None:
    ran = virtctl(installation, kubectl.namespace, "start", "none")
    assert ran.returncode == 1
    assert 'VM "none" not found' in ran.stderr


def test_viewer_may_expand_but_not_start_a_vm_and_editor_may_start_it(
    webhook: ComponentProcess, kubectl: Kubectl
) -> None:
    del webhook
    kubectl.apply(build_vm())
    for role in ("view", "edit"):
        kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}er")
    path = f"{GROUP}/v1/namespaces/{kubectl.namespace}/virtualmachines/vm1"
    retry(lambda: kubectl("get", "--raw", f"{path}/expand-spec", "--as=viewer"))
    reported = kubectl.run_rejected("replace", "--raw", f"{path}/start", "-f", "-", "--as=viewer", stdin="{}")
    assert 'User "viewer" cannot update resource "virtualmachines/start"' in reported
    retry(lambda: kubectl("replace", "--raw", f"{path}/start", "-f", "-", "--as=editer", stdin="{}"))


def test_requests_that_bypass_the_api_server_are_rejected(
    installation: Installation, aggregated: ComponentProcess
) -> None:
    """Headers that name a user are trusted only with the certificate of the API server's front proxy."""
    del aggregated
    files = installation.plane.directory
    headers = ("-H", "X-Remote-User: admin", "-H", "X-Remote-Group: system:masters")
    url = f"https://localhost:{installation.https['apiserver']}{GROUP}/v1"
    alone = _curl(*headers, url)
    assert alone == "401"
    with_admin = _curl("--cert", f"{files}/admin.crt", "--key", f"{files}/admin.key", *headers, url)
    assert with_admin in ("000", "401")  # the handshake fails with a certificate of another CA
    proxy = ("--cert", f"{files}/front-proxy-client.crt", "--key", f"{files}/front-proxy-client.key")
    assert _curl(*proxy, *headers, url) == "200"
    assert _curl(*proxy, url) == "401"


def _curl(*arguments: str) -> str:
    line = ["curl", "-s", "-k", "-o", "/dev/null", "-w", "%{http_code}", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=TIMEOUT).stdout


@asynccontextmanager
async def open_guest(
    installation: Installation, namespace: str
) -> AsyncIterator[tuple[HttpTransport, RestClient, PodDriver, FakeKubelet]]:
    """Run a guest on a node whose kubelet accepts commands."""
    transport = HttpTransport(get_access(path=str(installation.plane.kubeconfig)))
    client = RestClient(transport, manager="tester")
    driver = PodDriver(client, namespace)
    await driver.prepare()
    async with run_fake_kubelet() as (kubelet, status):
        await client.patch(Node, NODE, patch={"status": status}, subresource="status")
        await driver.create_vm()
        await driver.run_guest(await driver.wait_for_pod())
        await driver.wait_for_phase("Running")
        try:
            yield transport, client, driver, kubelet
        finally:
            await client.close()


async def test_pause_and_unpause_run_commands_in_the_guest_pod(
    installation: Installation, controller: ComponentProcess, namespace: str
) -> None:
    del controller

    async with open_guest(installation, namespace) as (_, client, driver, kubelet):
        for action, status in (("pause", "Paused"), ("unpause", "Running")):
            await request_action(client, driver.namespace, "virtualmachineinstances", "vm1", action)
            await driver.wait_for(status)
        assert [json.loads(arguments[1])["ask"] for arguments in kubelet.commands] == ["pause", "unpause"]


async def test_console_and_port_forwarding_reach_the_guest(
    installation: Installation, controller: ComponentProcess, namespace: str
) -> None:
    del controller

    async with open_guest(installation, namespace) as (transport, client, driver, kubelet):
        console = await open_console(transport, driver.namespace, "vm1")
        assert await console.read() == b"login: "
        await console.write(b"root\n")
        assert await console.read() == b"ROOT\n"
        await console.close()
        port = await open_port(transport, driver.namespace, "virtualmachineinstances", "vm1", 22)
        assert await port.read() == b"login: "
        await port.close()
        assert await read_console_log(client, driver.namespace, "vm1") == b"booted\n"
        assert kubelet.commands == [["console"], ["port", "22"], ["log"]]


@pytest.mark.usefixtures("controller")
async def test_output_of_a_guest_pod_beyond_the_limit_is_refused(
    installation: Installation, aggregated: ComponentProcess, namespace: str
) -> None:
    async with open_guest(installation, namespace) as (_, client, driver, kubelet):
        await read_console_log(client, driver.namespace, "vm1")
        kubelet.flood = 256
        with measure_process_growth(aggregated.pid) as growth, pytest.raises(StatusError) as refused:
            await read_console_log(client, driver.namespace, "vm1")
        assert (refused.value.code, refused.value.message) == (502, "the guest's pod sent more than 16777216 bytes")
        assert growth.mib < 96
        kubelet.flood = 0
        assert await read_console_log(client, driver.namespace, "vm1") == b"booted\n"
