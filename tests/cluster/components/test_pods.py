"""Guests in pods on a real API server: VMs and instances follow the pod status that a fake kubelet writes."""

import pytest
from tests.cluster.components.installation import SYSTEM, ComponentProcess, Installation
from tests.cluster.components.test_controller import PODS, build_vm
from tests.cluster.install import retry
from tests.support.kubectl import Kubectl
from tests.support.podscenarios import SCENARIOS, PodDriver, run_pod_controllers

from virtshape.api.model import JsonObject
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient


@pytest.mark.parametrize("name", SCENARIOS)
async def test_status_of_vm_and_instance_is_derived_from_the_pod(
    name: str, installation: Installation, webhook: ComponentProcess, namespace: str
) -> None:
    del webhook
    account = installation.plane.write_kubeconfig(f"system:serviceaccount:{SYSTEM}:virtshape-controller")

    admin = RestClient(HttpTransport(get_access(path=str(installation.plane.kubeconfig))), manager="tester")
    controller = RestClient(HttpTransport(get_access(path=str(account))), manager="virt-controller")
    driver = PodDriver(admin, namespace)
    await driver.prepare()
    try:
        async with run_pod_controllers(controller):
            await SCENARIOS[name](driver)
    finally:
        await admin.close()
        await controller.close()


QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "0"}}}
LIMIT = {"type": "Container", "max": {"memory": "1Mi"}, "default": {"memory": "1Mi"}, "defaultRequest": {"cpu": "1m"}}
LIMIT_RANGE = {"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": [LIMIT]}}
REFUSALS = {
    "quota": (QUOTA, "exceeded quota"),
    "limit range": (LIMIT_RANGE, "must be less than or equal to memory limit of 1Mi"),
}


@pytest.mark.parametrize(("limit", "message"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refused_pod_is_reported_and_created_once_the_limit_is_removed(
    limit: JsonObject, message: str, controller: ComponentProcess, kubectl: Kubectl
) -> None:
    del controller
    resource = limit["kind"].lower()
    kubectl.apply({**limit, "metadata": {"name": "tight"}})
    if limit is QUOTA:
        retry(lambda: _require("hard" in kubectl.get(resource, "tight").get("status", {})))
    kubectl.apply(build_vm("vm1"))
    retry(lambda: _require(kubectl.get("vm", "vm1")["status"]["printableStatus"] == "ErrorUnschedulable"))
    conditions = {one["type"]: one for one in kubectl.get("vmi", "vm1")["status"]["conditions"]}
    assert (conditions["Synchronized"]["status"], conditions["Synchronized"]["reason"]) == ("False", "FailedCreate")
    for about in (conditions["Synchronized"], conditions["Ready"]):
        assert message in about["message"]
    failed = ("events", "--field-selector", "involvedObject.kind=VirtualMachineInstance,reason=FailedCreate")
    retry(lambda: _require(any(message in event["message"] for event in kubectl.get(*failed)["items"])))
    kubectl("delete", resource, "tight")
    retry(lambda: _require(len(kubectl.get(*PODS)["items"]) == 1))
    retry(lambda: _require("Synchronized" not in list_condition_types(kubectl)))
    kubectl("delete", "vm", "vm1", "--wait=false")


def list_condition_types(kubectl: Kubectl) -> list[str]:
    return [one["type"] for one in kubectl.get("vmi", "vm1")["status"]["conditions"]]


def _require(fact: object) -> None:
    assert fact
