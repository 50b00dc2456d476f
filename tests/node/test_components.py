"""virtshape's components as pods: installation from manifests, roll-out under writes, and loss of the leader."""

import json
import os
import signal
import threading

from tests.node.guests import is_in_pod
from tests.node.installation import COMPONENTS, SYSTEM, describe_pods, find_leader, list_pods, wait_for_components
from tests.support.demoguests import eventually
from tests.support.kubectl import Kubectl
from tools.node.node import Node

from virtshape.api.model import JsonObject

HALTED: JsonObject = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"namespace": "default"},
    "spec": {
        "runStrategy": "Halted",
        "instancetype": {"name": "u1.nano"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}


def test_components_are_ready_in_a_restricted_namespace(installed: Kubectl) -> None:
    labels = installed.get("namespace", SYSTEM)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    wait_for_components(installed)
    pods = list_pods(installed)
    assert {pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in pods} == set(COMPONENTS)
    restarts = [each["restartCount"] for pod in pods for each in pod["status"]["containerStatuses"]]
    assert set(restarts) == {0}, describe_pods(installed)


def test_controller_creates_the_catalog(installed: Kubectl) -> None:
    def look() -> bool | None:
        names = ("vmclusterinstancetype/u1.nano", "virtualmachineclusterpreference/fedora")
        return installed.run("get", *names).status == 0 or None

    eventually(look, lambda: describe_pods(installed))
    assert installed.get("virtualmachineclusterpreference", "fedora")["spec"]


def test_webhook_sets_defaults_and_rejects_conflicts_with_the_instance_type(installed: Kubectl) -> None:
    installed("create", "-f", "-", stdin=write_halted("first"))
    made = installed.in_namespace("default").get("vm", "first")["spec"]["template"]["spec"]
    assert (made["architecture"], made["domain"]["machine"]) == ("amd64", {"type": "q35"})
    refused = json.loads(write_halted("second"))
    refused["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 2}
    message = installed.run_rejected("create", "-f", "-", stdin=json.dumps(refused))
    assert "VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected instance type" in message
    installed.in_namespace("default")("delete", "vm", "first", "--timeout=240s")


def test_no_write_of_a_client_fails_during_a_rollout(installed: Kubectl) -> None:
    failures: list[str] = []
    done = threading.Event()
    written: list[str] = []

    def write() -> None:
        while not done.is_set():
            name = f"written-{len(written)}"
            ran = installed.run("create", "-f", "-", stdin=write_halted(name))
            written.append(name)
            failures.extend([ran.err] if ran.status else [])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        installed.in_namespace(SYSTEM)("rollout", "restart", "deployment")
        wait_for_components(installed)
    finally:
        done.set()
        writer.join()
    assert failures == []
    assert written
    installed.in_namespace("default")("delete", "vm", *written, "--timeout=240s")


def test_killed_leader_is_restarted_and_its_lease_renewed(node: Node, installed: Kubectl) -> None:
    leader = eventually(lambda: find_leader(installed) or None, lambda: describe_pods(installed))
    (pod,) = [each for each in list_pods(installed) if each["metadata"]["name"] == leader]
    found = [pid for pid in node.find_processes("virtshape controller") if is_in_pod(pid, pod["metadata"]["uid"])]
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    (status,) = eventually(lambda: find_restarted(installed, leader), lambda: describe_pods(installed))
    assert status["lastState"]["terminated"]["exitCode"] == 128 + signal.SIGKILL
    before = get_renewal(installed)
    eventually(lambda: get_renewal(installed) > before or None, lambda: describe_pods(installed))
    wait_for_components(installed)


def test_another_controller_takes_over_when_the_leader_is_deleted(installed: Kubectl) -> None:
    leader = eventually(lambda: find_leader(installed) or None, lambda: describe_pods(installed))
    system = installed.in_namespace(SYSTEM)
    system("delete", "pod", leader, "--grace-period=0", "--force")

    def look() -> bool | None:
        return find_leader(installed) not in ("", leader) or None

    eventually(look, lambda: f"{leader} is still the leader: {describe_pods(installed)}")
    wait_for_components(installed)


def find_restarted(cluster: Kubectl, name: str) -> list[JsonObject] | None:
    """Return the container statuses of a pod once its container has been restarted."""
    (pod,) = [each for each in list_pods(cluster) if each["metadata"]["name"] == name]
    statuses: list[JsonObject] = pod["status"]["containerStatuses"]
    return statuses if statuses[0]["restartCount"] else None


def get_renewal(cluster: Kubectl) -> str:
    """Return the time at which the leader last renewed its lease."""
    time: str = cluster.in_namespace(SYSTEM).get("lease", "virtshape-controller")["spec"]["renewTime"]
    return time


def write_halted(name: str) -> str:
    """Return a VM that does not run, as JSON."""
    return json.dumps({**HALTED, "metadata": {**HALTED["metadata"], "name": name}})
