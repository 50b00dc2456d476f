"""Video, graphics, input and sound devices."""

from typing import Any

import pytest
from tests.support.devices import design_with, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.graphics import Graphics, Input, Sound, Video
from virtshape.launcher.host import Host

EFI: dict[str, Any] = {"domain": {"firmware": {"bootloader": {"efi": {}}}, "machine": {"type": "q35"}}}
BLIND: JsonObject = {"autoattachGraphicsDevice": False}
TABLET = Input(type="tablet", bus="usb")
KEYBOARD = Input(type="keyboard", bus="usb")


@pytest.mark.parametrize(
    ("video", "spec", "expected"),
    [
        pytest.param(None, {}, Video(model="vga", heads=1, vram=16384), id="BIOS"),
        pytest.param(None, EFI, Video(model="bochs", heads=1), id="EFI"),
        pytest.param(None, {"architecture": "arm64"}, Video(model="virtio", heads=1), id="arm64"),
        pytest.param(None, {"architecture": "s390x"}, Video(model="virtio", heads=1), id="s390x"),
        pytest.param({"type": "vga"}, EFI, Video(model="vga", heads=1, vram=16384), id="vga"),
        pytest.param({"type": "virtio"}, {}, Video(model="virtio", heads=1), id="virtio"),
        pytest.param({"type": "ramfb"}, {}, Video(model="ramfb"), id="ramfb"),
        pytest.param({"type": "none"}, {}, Video(model="none"), id="none"),
    ],
)
def test_video_model_is_requested_or_depends_on_firmware_and_architecture(
    video: JsonObject | None, spec: dict[str, Any], expected: Video
) -> None:
    devices = design_with({"video": video}, **spec).devices
    assert (devices.video, devices.graphics) == (expected, Graphics("/guest/vnc.sock"))


def test_guest_without_graphics_has_no_video_device() -> None:
    design = design_with({**BLIND, "video": {"type": "virtio"}})
    assert (design.devices.video, design.devices.graphics, design.refusals) == (None, None, ())


def test_video_model_missing_on_the_host_is_refused() -> None:
    host = Host(video_models=frozenset({"vga", "virtio"}))
    refusals = list_refusals(design_with({"video": {"type": "qxl"}}, host=host))
    assert refusals == {"video.type": "this host has no qxl: use one of vga, virtio"}
    assert list_refusals(design_with({"video": {"type": "vga"}}, host=host)) == {}


@pytest.mark.parametrize(
    ("devices", "architecture", "expected"),
    [
        pytest.param({}, "amd64", (), id="none"),
        pytest.param({"autoattachInputDevice": True}, "amd64", (TABLET,), id="attached"),
        pytest.param(
            {"autoattachInputDevice": True, "inputs": [{"name": "t", "type": "tablet", "bus": "virtio"}]},
            "amd64",
            (Input(type="tablet", bus="virtio", name="t"),),
            id="attached once",
        ),
        pytest.param(
            {"inputs": [{"name": "t", "type": "tablet"}]},
            "amd64",
            (Input(type="tablet", bus="usb", name="t"),),
            id="default bus",
        ),
        pytest.param({}, "arm64", (TABLET, KEYBOARD), id="arm64"),
        pytest.param(BLIND, "arm64", (), id="arm64 without graphics"),
        pytest.param({}, "s390x", (Input(type="keyboard", bus="virtio"),), id="s390x"),
    ],
)
def test_input_devices_depend_on_the_request_and_the_architecture(
    devices: JsonObject, architecture: str, expected: tuple[Input, ...]
) -> None:
    assert design_with(devices, architecture=architecture).devices.inputs == expected


@pytest.mark.parametrize(
    ("sound", "expected"),
    [
        (None, None),
        ({"name": "s"}, Sound("s", "ich9")),
        ({"name": "s", "model": "ac97"}, Sound("s", "ac97")),
    ],
)
def test_sound_device_is_present_if_requested(sound: JsonObject | None, expected: Sound | None) -> None:
    assert design_with({"sound": sound}).devices.sound == expected
