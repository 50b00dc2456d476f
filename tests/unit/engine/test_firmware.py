"""Firmware preferences: BIOS or EFI, with or without Secure Boot."""

import pytest
from tests.support.engine import apply_to_domain

from virtshape.api.model import JsonObject

BIOS: JsonObject = {"bios": {}}
EFI: JsonObject = {"efi": {}}


@pytest.mark.parametrize(
    ("own", "preferred", "result"),
    [
        pytest.param({}, {}, {}, id="nothing preferred"),
        pytest.param({}, {"preferredUseBios": True}, BIOS, id="bios"),
        pytest.param({}, {"preferredUseBios": False}, {}, id="bios false"),
        pytest.param(
            {}, {"preferredUseBios": True, "preferredUseBiosSerial": True}, {"bios": {"useSerial": True}}, id="serial"
        ),
        pytest.param({}, {"preferredUseBiosSerial": True}, {}, id="serial without bios"),
        pytest.param({}, {"preferredUseBios": True, "preferredUseEfi": True}, BIOS, id="bios before efi"),
        pytest.param({}, {"preferredUseBios": True, "preferredEfi": {}}, BIOS, id="bios before preferredEfi"),
        pytest.param({}, {"preferredUseEfi": True}, EFI, id="efi"),
        pytest.param({}, {"preferredUseEfi": False}, {}, id="efi false"),
        pytest.param(
            {},
            {"preferredUseEfi": True, "preferredUseSecureBoot": True},
            {"efi": {"secureBoot": True}},
            id="secure boot",
        ),
        pytest.param({}, {"preferredUseSecureBoot": True}, {}, id="secure boot without efi"),
        pytest.param(
            {},
            {"preferredEfi": {"secureBoot": False, "persistent": True}},
            {"efi": {"secureBoot": False, "persistent": True}},
            id="preferredEfi",
        ),
        pytest.param(
            {},
            {"preferredEfi": {}, "preferredUseEfi": True, "preferredUseSecureBoot": True},
            EFI,
            id="preferredEfi overrides the deprecated fields",
        ),
        pytest.param(EFI, {"preferredEfi": {"persistent": True}}, EFI, id="VM efi overrides preferredEfi"),
        pytest.param(
            EFI,
            {"preferredEfi": {"persistent": True}, "preferredUseSecureBoot": True},
            {"efi": {"secureBoot": True}},
            id="VM efi gets preferred secure boot",
        ),
        pytest.param(
            {"efi": {"secureBoot": False}},
            {"preferredUseEfi": True, "preferredUseSecureBoot": True},
            {"efi": {"secureBoot": False}},
            id="VM secure boot is kept",
        ),
        pytest.param(EFI, {"preferredUseBios": True}, EFI, id="VM efi overrides preferred bios"),
        pytest.param(BIOS, {"preferredUseEfi": True}, BIOS, id="VM bios overrides preferred efi"),
        pytest.param(
            BIOS, {"preferredUseBiosSerial": True}, {"bios": {"useSerial": True}}, id="VM bios gets preferred serial"
        ),
        pytest.param(
            {"bios": {"useSerial": False}},
            {"preferredUseBiosSerial": True},
            {"bios": {"useSerial": False}},
            id="VM serial is kept",
        ),
    ],
)
def test_bootloader_preferences_fill_unset_fields(own: JsonObject, preferred: JsonObject, result: JsonObject) -> None:
    domain = apply_to_domain({"firmware": {"bootloader": own}}, preference={"firmware": preferred})
    assert domain["firmware"] == {"bootloader": result}


@pytest.mark.parametrize("own", [None, {}], ids=["absent", "empty"])
def test_any_firmware_preference_adds_a_bootloader(own: JsonObject | None) -> None:
    assert apply_to_domain({"firmware": own}, preference={"firmware": {}})["firmware"] == {"bootloader": {}}


def test_firmware_preference_preserves_the_uuid_and_serial_of_the_vm() -> None:
    own = {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223", "serial": "s"}
    firmware = apply_to_domain({"firmware": own}, preference={"firmware": {"preferredUseEfi": True}})["firmware"]
    assert firmware == {**own, "bootloader": EFI}
