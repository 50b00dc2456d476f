"""Examples of the user guide: a VM field that overrides a preference, an old revision, and a complete VM."""

from typing import Any

import pytest
from tests.support.build import build_instancetype, build_preference, build_revision, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.engine.expand import expand_vm
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
IMAGE = "registry:5000/kubevirt/cirros-container-disk-demo:devel"
VOLUMES: list[JsonObject] = [
    {"containerDisk": {"image": IMAGE}, "name": "containerdisk"},
    {"cloudInitNoCloud": {"userData": "#!/bin/sh\n"}, "name": "cloudinitdisk"},
]
DISKS: list[JsonObject] = [{"disk": {"bus": "sata"}, "name": "containerdisk"}, {"disk": {}, "name": "cloudinitdisk"}]


def start(vm: Any, *objects: Any) -> JsonObject:
    _, spec = make_instance(vm, get_shape(vm, Objects(objects).find), firmware_uuid=UUID)
    tree: JsonObject = to_tree(spec)
    return tree


def test_preferred_disk_bus_is_set_only_on_the_disk_without_a_bus() -> None:
    preference = build_preference(
        "example-preference-disk-virtio",
        namespace="default",
        version="v1alpha1",
        devices={"preferredDiskBus": "virtio"},
    )
    vm = build_vm(
        name="example-preference-user-override",
        preference="VirtualMachinePreference/example-preference-disk-virtio",
        memory="128Mi",
        domain={"devices": {"disks": DISKS}, "resources": {}},
        template={"terminationGracePeriodSeconds": 0, "volumes": VOLUMES},
    )
    assert start(vm, preference)["domain"]["devices"]["disks"] == [
        {"disk": {"bus": "sata"}, "name": "containerdisk"},
        {"disk": {"bus": "virtio"}, "name": "cloudinitdisk"},
    ]
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.devices.disks) == DISKS


REVISION = "vm-cirros-csmall-csmall-6709b990-f717-44fe-a8ff-cb441d20b904-1"
CSMALL_DATA = {"apiVersion": "", "spec": "eyJjcHUiOnsiZ3Vlc3QiOjF9LCJtZW1vcnkiOnsiZ3Vlc3QiOiIxMjhNaSJ9fQ=="}


@pytest.mark.parametrize("live", [True, False], ids=["changed", "deleted"])
def test_start_uses_the_revision_if_the_instancetype_was_changed_or_deleted(live: bool) -> None:
    changed = build_instancetype("csmall", namespace="default", cpu={"guest": 8}, memory={"guest": "8Gi"})
    matcher = {"kind": "VirtualMachineInstancetype", "name": "csmall", "revisionName": REVISION}
    vm = build_vm(name="vm-cirros-csmall", instancetype=matcher)
    objects = [build_revision(REVISION, CSMALL_DATA), *([changed] if live else [])]
    domain = start(vm, *objects)["domain"]
    assert domain["cpu"] == {"sockets": 1, "cores": 1, "threads": 1, "model": "host-model"}
    assert domain["memory"] == {"guest": "128Mi"}


CMEDIUM = build_instancetype(
    "cmedium", namespace="default", version="v1alpha1", cpu={"guest": 1}, memory={"guest": "1Gi"}
)
FEDORA = build_preference(
    "fedora",
    namespace="default",
    version="v1alpha1",
    devices={"preferredDiskBus": "virtio", "preferredInterfaceModel": "virtio", "preferredRng": {}},
    features={"preferredAcpi": {}, "preferredSmm": {}},
    firmware={"preferredUseEfi": True, "preferredUseSecureBoot": True},
)


def build_fedora() -> Any:
    return build_vm(
        name="fedora",
        instancetype={"name": "cmedium", "kind": "virtualMachineInstancetype"},
        preference={"name": "fedora", "kind": "virtualMachinePreference"},
        template={
            "volumes": [
                {"containerDisk": {"image": "quay.io/containerdisks/fedora:latest"}, "name": "containerdisk"},
                {"cloudInitNoCloud": {"userData": "#cloud-config"}, "name": "cloudinit"},
            ]
        },
    )


def test_fedora_example_can_be_expanded() -> None:
    vm = build_fedora()
    assert expand_vm(vm, get_shape(vm, Objects([CMEDIUM, FEDORA]).find)) == []
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain) == {
        "cpu": {"sockets": 1, "cores": 1, "threads": 1},
        "memory": {"guest": "1Gi"},
        "machine": {"type": "q35"},
        "features": {"acpi": {}, "smm": {}},
        "firmware": {"bootloader": {"efi": {"secureBoot": True}}},
        "devices": {
            "disks": [
                {"name": "containerdisk", "disk": {"bus": "virtio"}},
                {"name": "cloudinit", "disk": {"bus": "virtio"}},
            ],
            "interfaces": [{"name": "default", "bridge": {}, "model": "virtio"}],
            "rng": {},
        },
    }


def test_instance_of_the_fedora_example_is_annotated_with_namespaced_kinds() -> None:
    vm = build_fedora()
    metadata, _ = make_instance(vm, get_shape(vm, Objects([CMEDIUM, FEDORA]).find), firmware_uuid=UUID)
    assert metadata.annotations == {
        "kubevirt.io/instancetype-name": "cmedium",
        "kubevirt.io/preference-name": "fedora",
    }
