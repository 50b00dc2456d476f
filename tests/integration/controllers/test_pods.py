"""Guests in simulated pods: VMs and instances follow the status of their pods."""

from pathlib import Path

import pytest
from tests.support.podscenarios import SCENARIOS, PodDriver, run_pod_controllers
from tests.support.systems import open_system

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER
from virtshape.standalone.inprocesstransport import connect


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_status_of_an_instance_is_derived_from_its_pod(scenario: str, tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        driver = PodDriver(system.client, "default")
        await driver.prepare()
        async with run_pod_controllers(connect(system.system.server, CONTROLLER_USER)):
            await SCENARIOS[scenario](driver)


HOST_DISK = [{"name": "d", "hostDisk": {"path": "/srv/d.img", "type": "Disk"}}]


async def test_instance_with_unpermitted_host_disk_gets_no_pod(tmp_path: Path) -> None:
    """Admission accepts the host disk here; the pod builder also checks the cluster's feature gate."""
    (tmp_path / "config.yaml").write_text("hostDisks: {roots: [/srv]}\n")

    async with open_system("in-process", tmp_path) as system:
        driver = PodDriver(system.client, "default")
        await driver.prepare()
        async with run_pod_controllers(connect(system.system.server, CONTROLLER_USER)):
            await driver.create_vm(template={"volumes": HOST_DISK})
            vm = await driver.wait_for("ErrorUnschedulable")
            reported = [one.message or "" for one in (vm.status.conditions if vm.status else None) or ()]
            assert any("HostDisk feature gate is not enabled" in message for message in reported), reported
            assert await driver.list_pods() == []
            gates = {"developerConfiguration": {"featureGates": ["HostDisk"]}}
            await system.client.patch(KubeVirt, "kubevirt", "kubevirt", patch={"spec": {"configuration": gates}})
            await system.client.delete(VirtualMachineInstance, "vm1", "default")
            pod = await driver.wait_for_pod()
            assert pod.spec is not None
            assert any(one.host_path is not None for one in pod.spec.volumes or ())


@pytest.mark.parametrize(
    ("value", "limit"), [("default", "2"), ("other", None)], ids=["selected namespace", "another namespace"]
)
async def test_only_pods_in_selected_namespaces_have_a_cpu_limit(tmp_path: Path, value: str, limit: str | None) -> None:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": value}}
    patch = {"spec": {"configuration": {"autoCPULimitNamespaceLabelSelector": selector}}}
    async with open_system("in-process", tmp_path) as system:
        driver = PodDriver(system.client, "default")
        await driver.prepare()
        await system.client.patch(KubeVirt, "kubevirt", "kubevirt", patch=patch)
        async with run_pod_controllers(connect(system.system.server, CONTROLLER_USER)):
            await driver.create_vm()
            pod = await driver.wait_for_pod()
            assert pod.spec is not None
            resources = pod.spec.containers[0].resources
            assert resources is not None
            assert (resources.limits or {}).get("cpu") == limit
