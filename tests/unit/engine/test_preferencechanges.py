import pytest

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.model import JsonObject
from virtshape.engine.preferencechanges import NO_CHANGES, PreferenceChanges, apply_changes

SOURCE: JsonObject = {
    "cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"ratio": 4}},
    "devices": {"preferredDiskBus": "virtio", "preferredRng": {}},
    "features": {"preferredSmm": {"enabled": False}, "preferredAcpi": {}},
    "firmware": {"preferredUseEfi": True, "preferredUseSecureBoot": True},
    "clock": {"preferredClockOffset": {"utc": {}}, "preferredTimer": {"hpet": {"present": False}}},
}
BIOS: JsonObject = {"firmware": {"preferredUseBios": True, "preferredUseBiosSerial": True}}
PERSISTENT: JsonObject = {"firmware": {"preferredEfi": {"persistent": True}}}

CASES: dict[str, tuple[JsonObject, PreferenceChanges, JsonObject]] = {
    "nothing": (SOURCE, NO_CHANGES, SOURCE),
    "disk bus": (
        SOURCE,
        PreferenceChanges(disk_bus="scsi"),
        {**SOURCE, "devices": {"preferredDiskBus": "scsi", "preferredRng": {}}},
    ),
    "no disk bus": (SOURCE, PreferenceChanges(disk_bus=""), {**SOURCE, "devices": {"preferredRng": {}}}),
    "buses and models in an empty preference": (
        {},
        PreferenceChanges(disk_bus="sata", cdrom_bus="sata", interface_model="e1000e"),
        {
            "devices": {
                "preferredDiskBus": "sata",
                "preferredCdromBus": "sata",
                "preferredInterfaceModel": "e1000e",
            }
        },
    ),
    "machine type": ({}, PreferenceChanges(machine_type="q35"), {"machine": {"preferredMachineType": "q35"}}),
    "storage class": ({}, PreferenceChanges(storage_class="fast"), {"volumes": {"preferredStorageClassName": "fast"}}),
    "topology": (
        SOURCE,
        PreferenceChanges(cpu_topology="cores"),
        {**SOURCE, "cpu": {"preferredCPUTopology": "cores", "spreadOptions": {"ratio": 4}}},
    ),
    "time zone": (
        SOURCE,
        PreferenceChanges(timezone="Europe/Oslo"),
        {**SOURCE, "clock": {**SOURCE["clock"], "preferredClockOffset": {"timezone": "Europe/Oslo"}}},
    ),
    "UTC": ({}, PreferenceChanges(timezone="UTC"), {"clock": {"preferredClockOffset": {"utc": {}}}}),
    "no clock offset": (
        SOURCE,
        PreferenceChanges(timezone=""),
        {**SOURCE, "clock": {"preferredTimer": {"hpet": {"present": False}}}},
    ),
    "BIOS instead of EFI": (
        SOURCE,
        PreferenceChanges(firmware="bios"),
        {**SOURCE, "firmware": {"preferredUseBios": True}},
    ),
    "BIOS keeps its serial console": (BIOS, PreferenceChanges(firmware="bios"), BIOS),
    "EFI instead of BIOS": (
        BIOS,
        PreferenceChanges(firmware="efi"),
        {"firmware": {"preferredEfi": {"secureBoot": False}}},
    ),
    "secure boot enables SMM": (
        SOURCE,
        PreferenceChanges(firmware="secure-boot"),
        {
            **SOURCE,
            "firmware": {"preferredEfi": {"secureBoot": True}},
            "features": {"preferredSmm": {}, "preferredAcpi": {}},
        },
    ),
    "EFI stays persistent": (
        PERSISTENT,
        PreferenceChanges(firmware="efi"),
        {"firmware": {"preferredEfi": {"secureBoot": False, "persistent": True}}},
    ),
    "no firmware": (BIOS, PreferenceChanges(firmware=""), {"firmware": {}}),
}


@pytest.mark.parametrize(("source", "changes", "expected"), CASES.values(), ids=CASES)
def test_only_requested_preference_fields_change(
    source: JsonObject, changes: PreferenceChanges, expected: JsonObject
) -> None:
    spec = from_tree(source, VirtualMachinePreferenceSpec)
    apply_changes(spec, changes)
    assert to_tree(spec) == expected
