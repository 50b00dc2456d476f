"""Example of the flavor design: a flavor, a Windows preference, a VM and the resulting instance."""

import copy

from tests.support.admission import check_vm, mutate_vm
from tests.support.build import build_flavor, build_flavor_preference, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape

NAME = "vm-windows-clarge-windows"
LABELS = {"kubevirt.io/vm": NAME}
UUID = "bc694b87-1373-5514-9694-0f495fbae3b2"
IMAGE = "registry:5000/kubevirt/windows-disk:devel"

CLARGE = build_flavor("vmf-clarge", namespace="default", cpu={"guest": 4}, memory={"guest": "2Gi"})
WINDOWS = build_flavor_preference(
    "vmpwindows",
    namespace="default",
    clock={
        "preferredClockOffset": {"utc": {}},
        "preferredTimer": {
            "hpet": {"present": False},
            "hyperv": {},
            "pit": {"tickPolicy": "delay"},
            "rtc": {"tickPolicy": "catchup"},
        },
    },
    cpu={"preferredCPUTopology": "preferSockets"},
    devices={"preferredDiskBus": "sata", "preferredInterfaceModel": "e1000", "preferredTPM": {}},
    features={
        "preferredAcpi": {},
        "preferredApic": {},
        "preferredHyperv": {"relaxed": {}, "spinlocks": {"spinlocks": 8191}, "vapic": {}},
        "preferredSmm": {},
    },
    firmware={"preferredUseEfi": True, "preferredUseSecureBoot": True},
)
OBJECTS = Objects([CLARGE, WINDOWS])

INSTANCE_SPEC: JsonObject = {
    "domain": {
        "clock": {
            "timer": {
                "hpet": {"present": False},
                "hyperv": {"present": True},
                "pit": {"present": True, "tickPolicy": "delay"},
                "rtc": {"present": True, "tickPolicy": "catchup"},
            },
            "utc": {},
        },
        "cpu": {"cores": 1, "model": "host-model", "sockets": 4, "threads": 1},
        "devices": {
            "disks": [{"disk": {"bus": "sata"}, "name": "containerdisk"}],
            "interfaces": [{"bridge": {}, "name": "default"}],
            "tpm": {},
        },
        "features": {
            "acpi": {"enabled": True},
            "apic": {"enabled": True},
            "hyperv": {
                "relaxed": {"enabled": True},
                "spinlocks": {"enabled": True, "spinlocks": 8191},
                "vapic": {"enabled": True},
            },
            "smm": {"enabled": True},
        },
        "firmware": {"bootloader": {"efi": {"secureBoot": True}}, "uuid": UUID},
        "machine": {"type": "q35"},
        "memory": {"guest": "2Gi"},
        "resources": {"requests": {"memory": "2Gi"}},
    },
    "networks": [{"name": "default", "pod": {}}],
    "terminationGracePeriodSeconds": 0,
    "volumes": [
        {"containerDisk": {"image": IMAGE, "imagePullPolicy": "IfNotPresent"}, "name": "containerdisk"},
    ],
}


def build_windows() -> VirtualMachine:
    vm = build_vm(
        name=NAME,
        flavor="VirtualMachineFlavor/vmf-clarge",
        preference="VirtualMachinePreference/vmpwindows",
        runStrategy=None,
        running=False,
        domain={"devices": {"disks": [{"disk": {}, "name": "containerdisk"}]}, "resources": {}},
        template={
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"containerDisk": {"image": IMAGE}, "name": "containerdisk"}],
        },
    )
    vm.spec.template.metadata = ObjectMeta(labels=LABELS)
    return vm


def test_vm_with_a_flavor_is_admitted_unchanged() -> None:
    mutated = mutate_vm(build_windows(), OBJECTS)
    assert (mutated.vm, mutated.warnings) == (build_windows(), [])
    assert check_vm(build_windows(), get_shape(build_windows(), OBJECTS.find)) == []


def test_instance_has_every_field_of_the_example() -> None:
    """Unlike in the example, the default interface has the preferred model; later versions added two fields."""
    vm = build_windows()
    metadata, spec = make_instance(vm, get_shape(vm, OBJECTS.find), firmware_uuid=UUID)
    expected = copy.deepcopy(INSTANCE_SPEC)
    expected["domain"]["devices"]["interfaces"][0]["model"] = "e1000"
    assert to_tree(spec) == {**expected, "architecture": "amd64", "evictionStrategy": "None"}
    assert to_tree(metadata) == {
        "labels": LABELS,
        "annotations": {"kubevirt.io/flavor-name": "vmf-clarge", "kubevirt.io/preference-name": "vmpwindows"},
    }


def test_vcpus_of_a_flavor_are_cores_without_a_preferred_topology() -> None:
    vm = build_windows()
    vm.spec.preference = None
    _, spec = make_instance(vm, get_shape(vm, OBJECTS.find), firmware_uuid=UUID)
    assert to_tree(spec.domain.cpu) == {"sockets": 1, "cores": 4, "threads": 1, "model": "host-model"}


def test_fields_of_a_flavor_cannot_be_overridden() -> None:
    vm = build_vm(flavor="VirtualMachineFlavor/vmf-clarge", domain={"cpu": {"cores": 2}, "memory": {"guest": "4Gi"}})
    conflicts = check_vm(vm, get_shape(vm, OBJECTS.find))
    assert [conflict.fields for conflict in conflicts] == [
        ("spec.template.spec.domain.cpu.cores",),
        ("spec.template.spec.domain.memory.guest",),
    ]


def test_preferred_bus_is_set_only_on_disks_without_a_bus() -> None:
    disks = [{"disk": {"bus": "virtio"}, "name": "a"}, {"disk": {}, "name": "b"}]
    vm = build_vm(
        flavor="VirtualMachineFlavor/vmf-clarge",
        preference="VirtualMachinePreference/vmpwindows",
        domain={"devices": {"disks": disks}},
    )
    _, spec = make_instance(vm, get_shape(vm, OBJECTS.find), firmware_uuid=UUID)
    assert to_tree(spec.domain.devices.disks) == [
        {"disk": {"bus": "virtio"}, "name": "a"},
        {"disk": {"bus": "sata"}, "name": "b"},
    ]
