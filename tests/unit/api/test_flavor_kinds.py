"""Flavors and their preferences survive a round trip unchanged and require the same fields as the flavor API."""

from typing import Any

import msgspec
import pytest

from virtshape.api import codec
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.model import Model

FLAVOR_SPEC: dict[str, Any] = {
    "cpu": {
        "guest": 4,
        "model": "host-passthrough",
        "dedicatedCPUPlacement": True,
        "numa": {"guestMappingPassthrough": {}},
        "isolateEmulatorThread": True,
        "realtime": {"mask": "0-3,^1"},
    },
    "memory": {"guest": "2Gi", "hugepages": {"pageSize": "1Gi"}},
    "gpus": [{"name": "gpu1", "deviceName": "example.com/vgpu"}],
    "hostDevices": [{"name": "nic1", "deviceName": "example.com/nic"}],
    "ioThreadsPolicy": "auto",
    "launchSecurity": {"sev": {}},
}

PREFERENCE_SPEC: dict[str, Any] = {
    "clock": {
        "preferredClockOffset": {"utc": {"offsetSeconds": 3600}},
        "preferredTimer": {"hpet": {"present": False}, "pit": {"tickPolicy": "delay"}},
    },
    "cpu": {"preferredCPUTopology": "preferSockets"},
    "devices": {
        "preferredAutoattachGraphicsDevice": True,
        "preferredAutoattachMemBalloon": False,
        "preferredAutoattachPodInterface": True,
        "preferredAutoattachSerialConsole": False,
        "preferredDisableHotplug": True,
        "preferredVirtualGPUOptions": {"display": {"enabled": True}},
        "preferredSoundModel": "ac97",
        "preferredUseVirtioTransitional": True,
        "preferredInputBus": "usb",
        "preferredInputType": "tablet",
        "preferredDiskBus": "sata",
        "preferredLunBus": "scsi",
        "preferredCdromBus": "sata",
        "preferredDiskDedicatedIoThread": True,
        "preferredDiskCache": "none",
        "preferredDiskIO": "native",
        "preferredDiskBlockSize": {"custom": {"logical": 4096, "physical": 4096}},
        "preferredInterfaceModel": "e1000",
        "preferredRng": {},
        "preferredBlockMultiQueue": True,
        "preferredNetworkInterfaceMultiQueue": True,
        "preferredTPM": {},
    },
    "features": {
        "preferredAcpi": {},
        "preferredApic": {"endOfInterrupt": True},
        "preferredHyperv": {"relaxed": {}, "spinlocks": {"spinlocks": 8191}},
        "preferredKvm": {"hidden": True},
        "preferredPvspinlock": {"enabled": False},
        "preferredSmm": {},
    },
    "firmware": {
        "preferredUseBios": False,
        "preferredUseBiosSerial": False,
        "preferredUseEfi": True,
        "preferredUseSecureBoot": True,
    },
    "machine": {"preferredMachineType": "q35"},
}

CASES: list[tuple[type[Model], str, dict[str, Any]]] = [
    (flavor.VirtualMachineFlavor, "flavor.kubevirt.io/v1alpha1", {"spec": FLAVOR_SPEC}),
    (flavor.VirtualMachineClusterFlavor, "flavor.kubevirt.io/v1alpha1", {"spec": FLAVOR_SPEC}),
    (flavor.VirtualMachinePreference, "flavor.kubevirt.io/v1alpha1", {"spec": PREFERENCE_SPEC}),
    (flavor.VirtualMachineClusterPreference, "flavor.kubevirt.io/v1alpha1", {"spec": PREFERENCE_SPEC}),
]


@pytest.mark.parametrize(
    ("struct", "api_version", "body"),
    CASES,
    ids=[f"{api_version} {struct.__name__}" for struct, api_version, _ in CASES],
)
def test_flavor_object_round_trips_through_json_unchanged(
    struct: type[Model], api_version: str, body: dict[str, Any]
) -> None:
    tree = {"apiVersion": api_version, "kind": struct.__name__, "metadata": {"name": "sample"}, **body}
    assert codec.to_tree(codec.decode(codec.encode(tree), struct)) == tree


@pytest.mark.parametrize(
    ("struct", "required"),
    [
        pytest.param(flavor.VirtualMachineFlavorSpec, ["cpu", "memory"], id="flavor"),
        pytest.param(flavor.CPUFlavor, ["guest"], id="cpu of a flavor"),
        pytest.param(flavor.MemoryFlavor, [], id="memory of a flavor"),
        pytest.param(flavor.VirtualMachinePreferenceSpec, [], id="preference"),
    ],
)
def test_flavor_struct_requires_the_same_fields_as_the_flavor_api(struct: type[Model], required: list[str]) -> None:
    assert [field.encode_name for field in msgspec.structs.fields(struct) if field.required] == required
