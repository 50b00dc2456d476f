"""VMs with host disks and host devices are rejected unless the administrator permits them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.objects import CLUSTER_INSTANCETYPES, NamespacePaths, build_instancetype, build_vm
from tests.integration.test_access import RBAC, acting
from tests.support.loopback import Client, LoopbackServer, Response

from virtshape.api.model import JsonObject

CONFIGURATION = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
DEV = NamespacePaths("dev")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host") / "data"
    path.mkdir(mode=0o700)
    disks = path.parent / "disks"
    disks.mkdir()
    (disks / "good.img").touch()
    (disks / "link.img").symlink_to("/etc/shadow")
    (path / "config.yaml").write_text(f"hostDisks: {{roots: [{disks}]}}\n")
    return path


@pytest.fixture(scope="module")
def running(directory: Path) -> Iterator[LoopbackServer]:
    with LoopbackServer(directory) as server:
        yield server


@pytest.fixture(scope="module")
def admin(running: LoopbackServer) -> Iterator[Client]:
    client = running.connect()
    assert client.post("/api/v1/namespaces", {"metadata": {"name": "dev"}}).status == 201
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dev"}]
    binding = {"metadata": {"name": "edit"}, "roleRef": reference, "subjects": subjects}
    assert client.post(f"{RBAC}/namespaces/dev/rolebindings", binding).status == 201
    yield client
    client.close()


@pytest.fixture
def dev(running: LoopbackServer, admin: Client) -> Iterator[Client]:
    """A user with the role edit in the namespace dev only; the configuration is emptied after the test."""
    client = acting(running, "dev")
    yield client
    client.close()
    assert admin.patch(CONFIGURATION, {"spec": {"configuration": None}}).status == 200


def configure(admin: Client, *gates: str, **settings: Any) -> None:
    configuration = {"developerConfiguration": {"featureGates": list(gates)}, **settings}
    assert admin.patch(CONFIGURATION, {"spec": {"configuration": configuration}}).status == 200


def build_host_vm(name: str, *, devices: JsonObject | None = None, path: str = "", **spec: Any) -> JsonObject:
    vm = build_vm(name)
    template = vm["spec"]["template"]["spec"]
    template["domain"]["devices"] = devices or {}
    if path:
        template["volumes"] = [{"name": "d", "hostDisk": {"path": path, "type": "Disk"}}]
    vm["spec"] |= spec
    return vm


def build_vmi(vm: JsonObject) -> JsonObject:
    return {**vm, "kind": "VirtualMachineInstance", "spec": vm["spec"]["template"]["spec"]}


def list_causes(reply: Response) -> list[tuple[str, str]]:
    assert reply.status == 422, reply.body
    return [(cause["field"], cause["message"]) for cause in reply.tree["details"]["causes"]]


VIRTUAL_MACHINE_INSTANCES = "/apis/kubevirt.io/v1/namespaces/dev/virtualmachineinstances"


@pytest.mark.parametrize("name", ["/etc/shadow", "{disks}/../../../etc/shadow", "{disks}/link.img", "{disks}-x/y"])
def test_host_disk_outside_the_allowed_roots_is_rejected(dev: Client, directory: Path, name: str) -> None:
    path = name.format(disks=directory.parent / "disks")
    vm = build_host_vm("attack", path=path)
    [(field, message)] = list_causes(dev.post(DEV.vms(), vm))
    assert field == "spec.template.spec.volumes[0].hostDisk"
    assert message.startswith(f"hostDisk {path} is not allowed: ")
    assert str(directory.parent / "disks") in message
    [(field, _)] = list_causes(dev.post(VIRTUAL_MACHINE_INSTANCES, build_vmi(vm)))
    assert field == "spec.volumes[0].hostDisk"
    assert dev.get(DEV.vms("attack")).status == 404


def test_host_disk_below_an_allowed_root_is_accepted(dev: Client, directory: Path) -> None:
    vm = build_host_vm("good", path=str(directory.parent / "disks" / "good.img"))
    assert dev.post(DEV.vms(), vm).status == 201
    moved = [{"name": "d", "hostDisk": {"path": "/etc/shadow", "type": "Disk"}}]
    patch = {"spec": {"template": {"spec": {"volumes": moved}}}}
    assert dev.patch(DEV.vms("good"), patch).status == 422


def test_host_devices_require_the_administrators_permission(dev: Client, admin: Client) -> None:
    devices = {"gpus": [{"name": "g", "deviceName": "nvidia.com/T4"}]}
    vm = build_host_vm("gpu", devices=devices)
    refused = "GPU nvidia.com/T4 is not permitted in permittedHostDevices configuration"
    at = "spec.template.spec.domain.devices.gpus[0].deviceName"
    assert list_causes(dev.post(DEV.vms(), vm)) == [(at, f"{refused}: no device is permitted")]
    assert dev.patch(CONFIGURATION, {"spec": {"configuration": None}}).status == 403
    listed = [{"pciVendorSelector": "10DE:1EB8", "resourceName": "nvidia.com/other"}]
    configure(admin, permittedHostDevices={"pciHostDevices": listed})
    assert list_causes(dev.post(DEV.vms(), vm)) == [(at, f"{refused}: permitted devices are nvidia.com/other")]
    listed[0]["resourceName"] = "nvidia.com/T4"
    configure(admin, permittedHostDevices={"pciHostDevices": listed})
    assert dev.post(DEV.vms(), vm).status == 201
    assert dev.post(VIRTUAL_MACHINE_INSTANCES, build_vmi(build_host_vm("gpu-vmi", devices=devices))).status == 201


def test_all_forbidden_fields_are_reported_together(dev: Client) -> None:
    devices = {
        "autoattachVSOCK": True,
        "gpus": [{"name": "g", "deviceName": "a.com/g"}],
        "hostDevices": [{"name": "h", "deviceName": "a.com/h"}],
    }
    causes = list_causes(dev.post(DEV.vms(), build_host_vm("all", devices=devices, path="/etc/shadow")))
    assert [field.removeprefix("spec.template.spec.") for field, _ in causes] == [
        "volumes[0].hostDisk",
        "domain.devices.gpus[0].deviceName",
        "domain.devices.hostDevices",
        "domain.devices.hostDevices[0].deviceName",
        "domain.devices.autoattachVSOCK",
    ]


@pytest.mark.parametrize("kind", ["VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"])
def test_device_set_by_an_instancetype_requires_permission(dev: Client, admin: Client, kind: str) -> None:
    sized = build_instancetype("with-gpu", kind=kind)
    sized["spec"]["gpus"] = [{"name": "g", "deviceName": "nvidia.com/T4"}]
    path = DEV.instancetypes() if kind == "VirtualMachineInstancetype" else CLUSTER_INSTANCETYPES
    assert admin.post(path, sized).status == 201
    vm = build_host_vm(f"by-{kind.lower()}", instancetype={"kind": kind, "name": "with-gpu"})
    del vm["spec"]["template"]["spec"]["domain"]["memory"]
    [(field, message)] = list_causes(dev.post(DEV.vms(), vm))
    assert field == "spec.instancetype"
    assert message.startswith("GPU nvidia.com/T4 is not permitted in permittedHostDevices configuration")
