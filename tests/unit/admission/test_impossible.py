"""Warnings about preferred values that no guest can have, field by field."""

from typing import Any

import msgspec
import pytest

from virtshape import catalog
from virtshape.admission.admit import admit
from virtshape.admission.impossible import check_possible
from virtshape.admission.submission import Submission
from virtshape.api.codec import from_tree
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kinds import find_kind
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.resolve.find import preference_spec

SMM: JsonObject = {"preferredSmm": {}}
BLOCKS: JsonObject = {"custom": {"logical": 1000, "physical": 4096}}
CASES: list[tuple[str, JsonObject, str]] = [
    ("spec.cpu.preferredCPUFeatures[0].policy", {"cpu": {"preferredCPUFeatures": [{"name": "x", "policy": "y"}]}}, "y"),
    ("spec.devices.preferredDiskBus", {"devices": {"preferredDiskBus": "nonsense"}}, "unrecognized bus nonsense"),
    ("spec.devices.preferredCdromBus", {"devices": {"preferredCdromBus": "virtio"}}, "virtio is invalid for CD-ROM"),
    ("spec.devices.preferredLunBus", {"devices": {"preferredLunBus": "ide"}}, "IDE bus is not supported"),
    ("spec.devices.preferredDiskCache", {"devices": {"preferredDiskCache": "much"}}, "invalid value much"),
    ("spec.devices.preferredDiskIO", {"devices": {"preferredDiskIO": "fast"}}, "not fast"),
    (
        "spec.devices.preferredDiskBlockSize.custom.logical",
        {"devices": {"preferredDiskBlockSize": BLOCKS}},
        "not a power of 2",
    ),
    ("spec.devices.preferredInterfaceModel", {"devices": {"preferredInterfaceModel": "modem"}}, "model modem"),
    ("spec.devices.preferredInputBus", {"devices": {"preferredInputBus": "ps2"}}, "not ps2"),
    ("spec.devices.preferredInputType", {"devices": {"preferredInputType": "mouse"}}, "not mouse"),
    ("spec.devices.preferredSoundModel", {"devices": {"preferredSoundModel": "gong"}}, "not gong"),
    ("spec.devices.preferredVideoType", {"devices": {"preferredVideoType": "film"}}, "video model 'film'"),
    (
        "spec.devices.preferredVideoType",
        {"devices": {"preferredVideoType": "virtio", "preferredAutoattachGraphicsDevice": False}},
        "not allowed when autoattachGraphicsDevice is set to false",
    ),
    ("spec.devices.preferredPanicDeviceModel", {"devices": {"preferredPanicDeviceModel": "run"}}, "(run)"),
    (
        "spec.features.preferredHyperv.spinlocks.spinlocks",
        {"features": {"preferredHyperv": {"spinlocks": {"spinlocks": 1}}}},
        "greater than or equal to 4096",
    ),
    ("spec.firmware.preferredEfi.secureBoot", {"firmware": {"preferredEfi": {}}}, "SecureBoot requires SMM"),
    (
        "spec.firmware.preferredUseSecureBoot",
        {"firmware": {"preferredUseEfi": True, "preferredUseSecureBoot": True}},
        "SecureBoot requires SMM",
    ),
    ("spec.firmware.preferredUseEfi", {"firmware": {"preferredUseEfi": True}}, "SecureBoot requires SMM"),
    (
        "spec.firmware.preferredUseSecureBoot",
        {"firmware": {"preferredUseSecureBoot": True}, "features": SMM},
        "has no effect without EFI",
    ),
    ("spec.firmware.preferredUseBiosSerial", {"firmware": {"preferredUseBiosSerial": True}}, "without a BIOS"),
    (
        "spec.firmware.preferredUseBios",
        {"firmware": {"preferredUseBios": True, "preferredEfi": {}}, "features": SMM},
        "overrides EFI",
    ),
    ("spec.machine.preferredMachineType", {"machine": {"preferredMachineType": "pc-i440fx"}}, "not supported"),
    (
        "spec.clock.preferredClockOffset.timezone",
        {"clock": {"preferredClockOffset": {"utc": {}, "timezone": "UTC"}}},
        "only one of utc and timezone",
    ),
    (
        "spec.clock.preferredTimer.rtc.tickPolicy",
        {"clock": {"preferredTimer": {"rtc": {"tickPolicy": "slow"}}}},
        "slow",
    ),
    ("spec.volumes.preferredStorageClassName", {"volumes": {"preferredStorageClassName": "A b"}}, "'A b'"),
    ("spec.preferredArchitecture", {"preferredArchitecture": "vax"}, "unsupported architecture: vax"),
    (
        "spec.preferredArchitecture",
        {"preferredArchitecture": "arm64", "requirements": {"architecture": "amd64"}},
        "contradicts",
    ),
    ("spec.preferredLaunchSecurity", {"preferredLaunchSecurity": {"sev": {}, "tdx": {}}}, "One and only one"),
    ("spec.preferredSubdomain", {"preferredSubdomain": "_"}, "DNS_SUBDOMAIN"),
    ("spec.annotations", {"annotations": {"a b": ""}}, "'a b' cannot be the key"),
    ("spec.requirements.architecture", {"requirements": {"architecture": "vax"}}, "not a supported architecture"),
]
NEEDS_NO_CHECK = {
    *("spec.cpu.preferredCPUTopology", "spec.cpu.spreadOptions", "spec.preferSpreadSocketToCoreRatio"),
    *("spec.requirements.cpu", "spec.requirements.memory", "spec.preferredTerminationGracePeriodSeconds"),
    *("spec.features.preferredAcpi", "spec.features.preferredApic", "spec.features.preferredKvm"),
    *("spec.features.preferredPvspinlock", "spec.features.preferredSmm", "spec.devices.preferredRng"),
    *("spec.devices.preferredTPM", "spec.devices.preferredVirtualGPUOptions"),
    "spec.devices.preferredInterfaceMasquerade",
}
"""Fields that need no check, because some guest can have each valid value; the same is true of Boolean fields."""


def find(spec: JsonObject, **settings: Any) -> list[tuple[str, str]]:
    preference = from_tree(spec, VirtualMachinePreferenceSpec)
    configuration = from_tree(settings, KubeVirtConfiguration) if settings else None
    return [(error.field, error.message) for error in check_possible(preference, configuration)]


@pytest.mark.parametrize(("field", "spec", "message"), CASES, ids=[f"{field} {text}" for field, _, text in CASES])
def test_preferred_value_that_no_guest_can_have_is_reported(field: str, spec: JsonObject, message: str) -> None:
    found = find(spec)
    assert [stated for stated, _ in found] == [field]
    assert message in found[0][1]


def list_fields(struct: type[Any], at: str) -> dict[str, object]:
    """Return the type of each field in the sections of a preference, by field path."""
    fields: dict[str, object] = {}
    for one in msgspec.structs.fields(struct):
        types = getattr(one.type, "__args__", (one.type,))
        section = next((each for each in types if str(getattr(each, "__module__", "")).endswith(".preference")), None)
        if section is not None and not section.__name__.startswith(("ClockOffset", "Spread", "CPUPreferenceR", "Mem")):
            fields |= list_fields(section, f"{at}.{one.encode_name}")
        else:
            fields[f"{at}.{one.encode_name}"] = types[0]
    return fields


def test_every_preference_field_is_checked_or_needs_no_check() -> None:
    fields = list_fields(VirtualMachinePreferenceSpec, "spec")
    switches = {field for field, type_ in fields.items() if type_ is bool}
    checked = {field for field in fields if any(case.startswith(field) for case, _, _ in CASES)}
    assert set(fields) - checked - switches == NEEDS_NO_CHECK


def test_preferences_of_the_catalog_have_only_possible_values() -> None:
    preferences = [spec for found in catalog.load() if (spec := preference_spec(found)) is not None]
    assert len(preferences) > 50
    assert [error for spec in preferences for error in check_possible(spec, None)] == []


def test_preferred_value_for_another_architecture_is_possible() -> None:
    assert find({"machine": {"preferredMachineType": "virt"}}) == []
    assert find({"machine": {"preferredMachineType": "virt"}, "preferredArchitecture": "amd64"}) != []


def test_configured_machine_type_is_possible() -> None:
    spec: JsonObject = {"machine": {"preferredMachineType": "pc-i440fx"}}
    assert find(spec, emulatedMachines=["pc*"]) == []


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference"),
        ("instancetype.kubevirt.io/v1beta2", "VirtualMachineClusterPreference"),
        ("flavor.kubevirt.io/v1alpha1", "VirtualMachinePreference"),
    ],
)
def test_impossible_preference_is_admitted_with_a_warning(api_version: str, kind: str) -> None:
    found = find_kind(api_version, kind)
    assert found is not None
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "odd"}}
    steps = admit(Submission(found, {**tree, "spec": {"devices": {"preferredDiskBus": "nonsense"}}}, None), None)  # type: ignore[arg-type]
    steps.send(None)  # run until admission looks up the configuration
    with pytest.raises(StopIteration) as stopped:
        steps.send(None)
    (warning,) = stopped.value.value.warnings
    assert warning.startswith("spec.devices.preferredDiskBus: VMs that leave this to the preference are rejected: ")
