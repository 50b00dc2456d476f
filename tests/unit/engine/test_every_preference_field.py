"""
Effect of every field of preferences, as a table.

A test compares the tables with the structs, and fails if a field has no row.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.support.build import build_flavor_preference, build_preference_spec, build_spec, build_vm
from tests.support.engine import apply_to_spec, apply_trees
from tests.support.fields import list_fields

from virtshape.api.codec import to_tree
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.engine.apply import apply
from virtshape.engine.draft import Draft
from virtshape.engine.requirements import check_requirements
from virtshape.engine.storageclass import apply_storage_class
from virtshape.resolve.find import preference_spec

SEV = {"sev": {"policy": {"encryptedState": True}}}
ON_POD = {"networks": [{"name": "lan", "pod": {}}]}


@dataclass(frozen=True)
class FieldEffect:
    """The effect of one preference field on a domain without the field and on a domain that sets it."""

    preferred: JsonObject
    unset: JsonObject
    filled: JsonObject
    explicit: JsonObject
    spec: JsonObject = field(default_factory=dict)


def _features(**features: Any) -> JsonObject:
    return {"features": {"acpi": {"enabled": True}, **features}}


def _feature_effect(name: str, preferred: JsonObject, explicit: JsonObject) -> FieldEffect:
    return FieldEffect(
        {"features": {f"preferred{name.capitalize()}": preferred}},
        _features(),
        _features(**{name: preferred}),
        _features(**{name: explicit}),
    )


def _bootloader(**bootloader: Any) -> JsonObject:
    return {"firmware": {"bootloader": bootloader}}


def _devices(**devices: Any) -> JsonObject:
    return {"devices": devices}


def _disk(target: str = "disk", bus: str = "virtio", **traits: Any) -> JsonObject:
    return _devices(disks=[{"name": "d", target: {"bus": bus}, **traits}])


def _switch_effect(preference: str, switch: str) -> FieldEffect:
    return FieldEffect(_devices(**{preference: True}), {}, _devices(**{switch: True}), _devices(**{switch: False}))


def _interface(**traits: Any) -> JsonObject:
    return _devices(interfaces=[{"name": "lan", **traits}])


DEVICE_EFFECTS = {
    "preferredDiskBus": FieldEffect(
        _devices(preferredDiskBus="sata"),
        _devices(disks=[{"name": "d", "disk": {}}]),
        _disk(bus="sata"),
        _disk(bus="scsi"),
    ),
    "preferredCdromBus": FieldEffect(
        _devices(preferredCdromBus="scsi"),
        _devices(disks=[{"name": "d", "cdrom": {}}]),
        _disk("cdrom", "scsi"),
        _disk("cdrom", "sata"),
    ),
    "preferredLunBus": FieldEffect(
        _devices(preferredLunBus="scsi"),
        _devices(disks=[{"name": "d", "lun": {}}]),
        _disk("lun", "scsi"),
        _disk("lun", "sata"),
    ),
    "preferredDiskCache": FieldEffect(
        _devices(preferredDiskCache="none"), _disk(), _disk(cache="none"), _disk(cache="writeback")
    ),
    "preferredDiskIO": FieldEffect(
        _devices(preferredDiskIO="native"), _disk(), _disk(io="native"), _disk(io="threads")
    ),
    "preferredDiskBlockSize": FieldEffect(
        _devices(preferredDiskBlockSize={"matchVolume": {}}),
        _disk(),
        _disk(blockSize={"matchVolume": {}}),
        _disk(blockSize={"custom": {"logical": 512, "physical": 4096}}),
    ),
    "preferredDiskDedicatedIoThread": FieldEffect(
        _devices(preferredDiskDedicatedIoThread=True),
        _disk(),
        _disk(dedicatedIOThread=True),
        _disk(dedicatedIOThread=False),
    ),
    "preferredBlockMultiQueue": _switch_effect("preferredBlockMultiQueue", "blockMultiQueue"),
    "preferredInterfaceModel": FieldEffect(
        _devices(preferredInterfaceModel="e1000"),
        _interface(bridge={}),
        _interface(bridge={}, model="e1000"),
        _interface(bridge={}, model="virtio"),
    ),
    "preferredInterfaceMasquerade": FieldEffect(
        _devices(preferredInterfaceMasquerade={}),
        _interface(),
        _interface(masquerade={}),
        _interface(bridge={}),
        spec=ON_POD,
    ),
    "preferredNetworkInterfaceMultiQueue": _switch_effect(
        "preferredNetworkInterfaceMultiQueue", "networkInterfaceMultiqueue"
    ),
    "preferredInputBus": FieldEffect(
        _devices(preferredInputBus="virtio"),
        _devices(inputs=[{"name": "i", "type": "tablet"}]),
        _devices(inputs=[{"name": "i", "type": "tablet", "bus": "virtio"}]),
        _devices(inputs=[{"name": "i", "type": "tablet", "bus": "usb"}]),
    ),
    "preferredInputType": FieldEffect(
        _devices(preferredInputType="tablet"),
        _devices(inputs=[{"name": "i", "type": ""}]),
        _devices(inputs=[{"name": "i", "type": "tablet"}]),
        _devices(inputs=[{"name": "i", "type": "keyboard"}]),
    ),
    "preferredSoundModel": FieldEffect(
        _devices(preferredSoundModel="ac97"),
        _devices(sound={"name": "s"}),
        _devices(sound={"name": "s", "model": "ac97"}),
        _devices(sound={"name": "s", "model": "ich9"}),
    ),
    "preferredVideoType": FieldEffect(
        _devices(preferredVideoType="virtio"), {}, _devices(video={"type": "virtio"}), _devices(video={"type": "vga"})
    ),
    "preferredPanicDeviceModel": FieldEffect(
        _devices(preferredPanicDeviceModel="hyperv"),
        {},
        _devices(panicDevices=[{"model": "hyperv"}]),
        _devices(panicDevices=[{"model": "isa"}]),
    ),
    "preferredRng": FieldEffect(_devices(preferredRng={}), {}, _devices(rng={}), _devices(rng={})),
    "preferredTPM": FieldEffect(
        _devices(preferredTPM={"persistent": True}), {}, _devices(tpm={"persistent": True}), _devices(tpm={})
    ),
    "preferredVirtualGPUOptions": FieldEffect(
        _devices(preferredVirtualGPUOptions={"display": {"enabled": True}}),
        _devices(gpus=[{"name": "g"}]),
        _devices(gpus=[{"name": "g", "virtualGPUOptions": {"display": {"enabled": True}}}]),
        _devices(gpus=[{"name": "g", "virtualGPUOptions": {"display": {"enabled": False}}}]),
    ),
    "preferredAutoattachGraphicsDevice": _switch_effect(
        "preferredAutoattachGraphicsDevice", "autoattachGraphicsDevice"
    ),
    "preferredAutoattachInputDevice": _switch_effect("preferredAutoattachInputDevice", "autoattachInputDevice"),
    "preferredAutoattachMemBalloon": _switch_effect("preferredAutoattachMemBalloon", "autoattachMemBalloon"),
    "preferredAutoattachPodInterface": _switch_effect("preferredAutoattachPodInterface", "autoattachPodInterface"),
    "preferredAutoattachSerialConsole": _switch_effect("preferredAutoattachSerialConsole", "autoattachSerialConsole"),
    "preferredDisableHotplug": _switch_effect("preferredDisableHotplug", "disableHotplug"),
    "preferredUseVirtioTransitional": _switch_effect("preferredUseVirtioTransitional", "useVirtioTransitional"),
}
DOMAIN_EFFECTS = {
    **{f"devices.{name}": effect for name, effect in DEVICE_EFFECTS.items()},
    "cpu.preferredCPUTopology": FieldEffect(
        {"cpu": {"preferredCPUTopology": "cores"}},
        {"cpu": {"guest": 4}},
        {"cpu": {"sockets": 1, "cores": 4, "threads": 1}},
        {"cpu": {"sockets": 2, "cores": 1, "threads": 2}},
    ),
    "cpu.spreadOptions.across": FieldEffect(
        {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"across": "CoresThreads"}}},
        {"cpu": {"guest": 4}},
        {"cpu": {"sockets": 1, "cores": 2, "threads": 2}},
        {"cpu": {"sockets": 4, "cores": 1, "threads": 1}},
    ),
    "cpu.spreadOptions.ratio": FieldEffect(
        {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"ratio": 4}}},
        {"cpu": {"guest": 8}},
        {"cpu": {"sockets": 2, "cores": 4, "threads": 1}},
        {"cpu": {"sockets": 8, "cores": 1, "threads": 1}},
    ),
    "preferSpreadSocketToCoreRatio": FieldEffect(
        {"cpu": {"preferredCPUTopology": "spread"}, "preferSpreadSocketToCoreRatio": 4},
        {"cpu": {"guest": 8}},
        {"cpu": {"sockets": 2, "cores": 4, "threads": 1}},
        {"cpu": {"sockets": 8, "cores": 1, "threads": 1}},
    ),
    "cpu.preferredCPUFeatures": FieldEffect(
        {"cpu": {"preferredCPUFeatures": [{"name": "vmx", "policy": "require"}]}},
        {},
        {"cpu": {"features": [{"name": "vmx", "policy": "require"}]}},
        {"cpu": {"features": [{"name": "vmx", "policy": "disable"}]}},
    ),
    "features.preferredAcpi": FieldEffect(
        {"features": {"preferredAcpi": {"enabled": False}}},
        {},
        {"features": {"acpi": {"enabled": False}}},
        {"features": {"acpi": {"enabled": True}}},
    ),
    "features.preferredApic": _feature_effect("apic", {"endOfInterrupt": True}, {"enabled": False}),
    "features.preferredHyperv": _feature_effect("hyperv", {"relaxed": {}}, {"relaxed": {"enabled": False}}),
    "features.preferredKvm": _feature_effect("kvm", {"hidden": True}, {"hidden": False}),
    "features.preferredPvspinlock": _feature_effect("pvspinlock", {}, {"enabled": False}),
    "features.preferredSmm": _feature_effect("smm", {}, {"enabled": False}),
    "firmware.preferredEfi": FieldEffect(
        {"firmware": {"preferredEfi": {"persistent": True}}},
        {},
        _bootloader(efi={"persistent": True}),
        _bootloader(bios={}),
    ),
    "firmware.preferredUseBios": FieldEffect(
        {"firmware": {"preferredUseBios": True}}, {}, _bootloader(bios={}), _bootloader(efi={})
    ),
    "firmware.preferredUseBiosSerial": FieldEffect(
        {"firmware": {"preferredUseBiosSerial": True}},
        _bootloader(bios={}),
        _bootloader(bios={"useSerial": True}),
        _bootloader(bios={"useSerial": False}),
    ),
    "firmware.preferredUseEfi": FieldEffect(
        {"firmware": {"preferredUseEfi": True}}, {}, _bootloader(efi={}), _bootloader(bios={})
    ),
    "firmware.preferredUseSecureBoot": FieldEffect(
        {"firmware": {"preferredUseSecureBoot": False}},
        _bootloader(efi={}),
        _bootloader(efi={"secureBoot": False}),
        _bootloader(efi={"secureBoot": True}),
    ),
    "machine.preferredMachineType": FieldEffect(
        {"machine": {"preferredMachineType": "pc-q35-rhel9.4.0"}},
        {},
        {"machine": {"type": "pc-q35-rhel9.4.0"}},
        {"machine": {"type": "q35"}},
    ),
    "clock.preferredClockOffset.utc": FieldEffect(
        {"clock": {"preferredClockOffset": {"utc": {"offsetSeconds": 60}}}},
        {},
        {"clock": {"utc": {"offsetSeconds": 60}}},
        {"clock": {"timezone": "Europe/Oslo"}},
    ),
    "clock.preferredClockOffset.timezone": FieldEffect(
        {"clock": {"preferredClockOffset": {"timezone": "Europe/Rome"}}},
        {},
        {"clock": {"timezone": "Europe/Rome"}},
        {"clock": {"utc": {}}},
    ),
    "clock.preferredTimer": FieldEffect(
        {"clock": {"preferredTimer": {"hpet": {"present": False}}}},
        {},
        {"clock": {"timer": {"hpet": {"present": False}}}},
        {"clock": {"timer": {"rtc": {}}}},
    ),
    "preferredLaunchSecurity": FieldEffect(
        {"preferredLaunchSecurity": SEV}, {}, {"launchSecurity": SEV}, {"launchSecurity": {"tdx": {}}}
    ),
}
DOMAIN_CASES = [pytest.param(effect, id=path) for path, effect in DOMAIN_EFFECTS.items()]

SPEC_EFFECTS: dict[str, tuple[JsonObject, JsonObject, JsonObject]] = {
    "preferredArchitecture": ({"preferredArchitecture": "arm64"}, {"architecture": "arm64"}, {"architecture": "amd64"}),
    "preferredSubdomain": ({"preferredSubdomain": "lab"}, {"subdomain": "lab"}, {"subdomain": "own"}),
    "preferredTerminationGracePeriodSeconds": (
        {"preferredTerminationGracePeriodSeconds": 180},
        {"terminationGracePeriodSeconds": 180},
        {"terminationGracePeriodSeconds": 0},
    ),
}

REQUIREMENTS: dict[str, tuple[JsonObject, JsonObject, JsonObject]] = {
    "requirements.cpu.guest": (
        {"cpu": {"guest": 2}},
        {"domain": {"cpu": {"sockets": 2}}},
        {"domain": {"cpu": {"sockets": 1}}},
    ),
    "requirements.memory.guest": (
        {"memory": {"guest": "2Gi"}},
        {"domain": {"memory": {"guest": "2Gi"}}},
        {"domain": {"memory": {"guest": "1Gi"}}},
    ),
    "requirements.architecture": ({"architecture": "arm64"}, {"architecture": "arm64"}, {"architecture": "amd64"}),
}
STORAGE_CLASS = "volumes.preferredStorageClassName"
ANNOTATIONS = "annotations"
FLAVOR_FIELDS = sorted(list_fields(flavor.VirtualMachinePreferenceSpec))


def test_every_field_of_a_preference_is_in_a_table() -> None:
    tables = {*DOMAIN_EFFECTS, *SPEC_EFFECTS, *REQUIREMENTS, STORAGE_CLASS, ANNOTATIONS}
    assert tables == set(list_fields(VirtualMachinePreferenceSpec))


@pytest.mark.parametrize("effect", DOMAIN_CASES)
def test_preference_fills_unset_fields(effect: FieldEffect) -> None:
    filled = apply_to_spec(effect.unset, preference=effect.preferred, **effect.spec)
    assert filled == {"domain": {"devices": {}, **effect.filled}, **effect.spec}


@pytest.mark.parametrize("effect", DOMAIN_CASES)
def test_preference_does_not_override_fields_that_the_vm_sets(effect: FieldEffect) -> None:
    kept = apply_to_spec(effect.explicit, preference=effect.preferred, **effect.spec)
    assert kept == {"domain": {"devices": {}, **effect.explicit}, **effect.spec}


@pytest.mark.parametrize("path", FLAVOR_FIELDS)
def test_flavor_preference_fills_the_same_fields_as_a_preference(path: str) -> None:
    effect = DOMAIN_EFFECTS[path]
    preference = preference_spec(build_flavor_preference(**effect.preferred))
    spec = build_spec(effect.unset, **effect.spec)
    assert apply(Draft(ObjectMeta(), spec), None, preference) == []
    assert to_tree(spec) == {"domain": {"devices": {}, **effect.filled}, **effect.spec}


@pytest.mark.parametrize(("preferred", "filled", "explicit"), SPEC_EFFECTS.values(), ids=SPEC_EFFECTS)
def test_preference_fills_fields_outside_the_domain(
    preferred: JsonObject, filled: JsonObject, explicit: JsonObject
) -> None:
    assert apply_to_spec(preference=preferred) == {"domain": {"devices": {}}, **filled}
    assert apply_to_spec(preference=preferred, **explicit) == {"domain": {"devices": {}}, **explicit}


def test_preference_adds_annotations_that_the_vm_does_not_set() -> None:
    shaped = apply_trees(preference={"annotations": {"a": "1", "b": "1"}}, annotations={"b": "2"})
    assert shaped.metadata == {"annotations": {"a": "1", "b": "2"}}


@pytest.mark.parametrize(("required", "enough", "lacking"), REQUIREMENTS.values(), ids=REQUIREMENTS)
def test_requirement_accepts_sufficient_and_rejects_insufficient_vms(
    required: JsonObject, enough: JsonObject, lacking: JsonObject
) -> None:
    preference = build_preference_spec(requirements=required)
    assert check_requirements(None, preference, build_spec(**enough)) == []
    assert len(check_requirements(None, preference, build_spec(**lacking))) == 1


def test_preferred_storage_class_applies_to_volumes_without_a_class() -> None:
    templates = [{"spec": {"storage": {}}}, {"spec": {"pvc": {"storageClassName": "own"}}}]
    vm = build_vm(dataVolumeTemplates=templates)
    volumes = build_preference_spec(volumes={"preferredStorageClassName": "fast"}).volumes
    assert volumes is not None
    apply_storage_class(vm, volumes)
    assert to_tree(vm.spec.data_volume_templates) == [
        {"spec": {"storage": {"storageClassName": "fast"}}},
        {"spec": {"pvc": {"storageClassName": "own"}}},
    ]
