"""GPUs and host devices of an instance type; inputs, sound, video and panic devices of a preference."""

import pytest
from tests.support.engine import apply_to_domain, list_conflicts

from virtshape.api.model import JsonObject

GPUS = [{"name": "a", "deviceName": "nvidia.com/A100"}, {"name": "b", "deviceName": "nvidia.com/A100"}]
DISPLAY = {"display": {"enabled": True}}


def shape_devices(own: JsonObject, preferred: JsonObject, instancetype: JsonObject | None = None) -> JsonObject:
    devices: JsonObject = apply_to_domain({"devices": own}, instancetype, {"devices": preferred})["devices"]
    return devices


@pytest.mark.parametrize(
    ("own", "given", "clashes"),
    [
        ({"gpus": [{"name": "g"}]}, {"gpus": GPUS}, ["domain.devices.gpus"]),
        ({"gpus": []}, {"gpus": GPUS}, []),
        ({"gpus": [{"name": "g"}]}, {"gpus": []}, []),
        ({"hostDevices": [{"name": "h"}]}, {"hostDevices": [{"name": "x"}]}, ["domain.devices.hostDevices"]),
        ({"hostDevices": [{"name": "h"}]}, {"gpus": GPUS}, []),
        (
            {"gpus": [{"name": "g"}], "hostDevices": [{"name": "h"}]},
            {"gpus": GPUS, "hostDevices": [{"name": "x"}]},
            ["domain.devices.gpus", "domain.devices.hostDevices"],
        ),
    ],
    ids=["gpus", "empty VM gpus", "empty instance type gpus", "host devices", "different kinds", "all at once"],
)
def test_only_devices_set_by_both_vm_and_instance_type_conflict(
    own: JsonObject, given: JsonObject, clashes: list[str]
) -> None:
    assert list_conflicts({"devices": own}, given) == clashes


def test_vm_devices_are_kept_if_the_instance_type_sets_none() -> None:
    own = {"gpus": [{"name": "g"}], "hostDevices": [{"name": "h"}]}
    assert apply_to_domain({"devices": own}, {"gpus": [], "hostDevices": []})["devices"] == own


def test_preferred_display_options_apply_to_gpus_of_the_instance_type() -> None:
    given = [{"name": "a"}, {"name": "b", "virtualGPUOptions": {"display": {"enabled": False}}}]
    devices = shape_devices({}, {"preferredVirtualGPUOptions": DISPLAY}, {"gpus": given})
    assert devices["gpus"] == [
        {"name": "a", "virtualGPUOptions": DISPLAY},
        {"name": "b", "virtualGPUOptions": {"display": {"enabled": False}}},
    ]


def test_preferred_display_options_add_no_gpu() -> None:
    assert shape_devices({}, {"preferredVirtualGPUOptions": DISPLAY}) == {}


@pytest.mark.parametrize(
    ("own", "filled"),
    [
        ([{"name": "i", "type": ""}], [{"name": "i", "type": "tablet", "bus": "usb"}]),
        ([{"name": "i", "type": "keyboard", "bus": ""}], [{"name": "i", "type": "keyboard", "bus": "usb"}]),
        (
            [{"name": "i", "type": "keyboard", "bus": "virtio"}, {"name": "j", "type": ""}],
            [{"name": "i", "type": "keyboard", "bus": "virtio"}, {"name": "j", "type": "tablet", "bus": "usb"}],
        ),
    ],
    ids=["both unset", "bus unset", "one of two unset"],
)
def test_preferred_input_fields_fill_unset_fields(own: list[JsonObject], filled: list[JsonObject]) -> None:
    preferred = {"preferredInputBus": "usb", "preferredInputType": "tablet"}
    assert shape_devices({"inputs": own}, preferred) == {"inputs": filled}


@pytest.mark.parametrize("preferred", [{"preferredInputBus": "usb"}, {"preferredSoundModel": "ich9"}])
def test_input_and_sound_preferences_add_no_device(preferred: JsonObject) -> None:
    assert shape_devices({}, preferred) == {}


@pytest.mark.parametrize(
    ("own", "filled"),
    [
        (None, {"type": "virtio"}),
        ({}, {"type": "virtio"}),
        ({"type": ""}, {"type": "virtio"}),
        ({"type": "vga"}, {"type": "vga"}),
    ],
    ids=["absent", "untyped", "empty type", "typed"],
)
def test_preferred_video_type_adds_a_device_or_fills_its_type(own: JsonObject | None, filled: JsonObject) -> None:
    assert shape_devices({"video": own}, {"preferredVideoType": "virtio"}) == {"video": filled}


@pytest.mark.parametrize(
    ("own", "filled"),
    [
        (None, [{"model": "isa"}]),
        ([], [{"model": "isa"}]),
        ([{}], [{"model": "isa"}]),
        ([{"model": ""}], [{"model": ""}]),
        ([{"model": "hyperv"}, {}], [{"model": "hyperv"}, {"model": "isa"}]),
    ],
    ids=["absent", "none", "without a model", "empty model of the user", "one of two unset"],
)
def test_preferred_panic_model_adds_a_device_or_fills_its_model(
    own: list[JsonObject] | None, filled: list[JsonObject]
) -> None:
    assert shape_devices({"panicDevices": own}, {"preferredPanicDeviceModel": "isa"}) == {"panicDevices": filled}


@pytest.mark.parametrize("own", [{"enabled": False}, {"persistent": True}, {}])
def test_preferred_tpm_does_not_override_the_tpm_of_the_vm(own: JsonObject) -> None:
    assert shape_devices({"tpm": own}, {"preferredTPM": {"persistent": True, "enabled": True}}) == {"tpm": own}


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    ("preference", "switch"),
    [
        ("preferredAutoattachGraphicsDevice", "autoattachGraphicsDevice"),
        ("preferredAutoattachInputDevice", "autoattachInputDevice"),
        ("preferredAutoattachMemBalloon", "autoattachMemBalloon"),
        ("preferredAutoattachPodInterface", "autoattachPodInterface"),
        ("preferredAutoattachSerialConsole", "autoattachSerialConsole"),
        ("preferredBlockMultiQueue", "blockMultiQueue"),
        ("preferredDisableHotplug", "disableHotplug"),
        ("preferredNetworkInterfaceMultiQueue", "networkInterfaceMultiqueue"),
        ("preferredUseVirtioTransitional", "useVirtioTransitional"),
    ],
)
def test_boolean_device_setting_of_the_vm_overrides_the_preference(preference: str, switch: str, value: bool) -> None:
    assert shape_devices({switch: not value}, {preference: value}) == {switch: not value}
    assert shape_devices({}, {preference: value}) == {switch: value}
