"""Guests in pods on a real API server: VMs and instances follow the pod status that a fake kubelet writes."""

import pytest
from tests.cluster.components.installation import SYSTEM, ComponentProcess, Installation
from tests.support.podscenarios import SCENARIOS, PodDriver, run_pod_controllers

from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient


@pytest.mark.parametrize("name", SCENARIOS)
async def test_vm_and_instance_follow_the_pod_status(
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
