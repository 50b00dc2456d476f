"""Validation of devices and their boot order."""

import pytest
from tests.unit.admission.rules.guests import POD, VOLUMES, D, Findings, assert_findings, devices, disk

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

DISK = f"{D}.devices.disks[0]"
INTERFACE = f"{D}.devices.interfaces[0]"

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "boot order 0": (disk(bootOrder=0), [(f"{DISK}.bootOrder", "must have a boot order > 0, if supplied")]),
    "duplicate boot order": (
        {
            "volumes": VOLUMES,
            "networks": POD,
            **devices(
                disks=[{"name": "root", "bootOrder": 1}],
                interfaces=[{"name": "default", "bridge": {}, "bootOrder": 1}],
            ),
        },
        [(f"{INTERFACE}.bootOrder", "already set for a different device")],
    ),
    "input on an unsupported bus": (
        devices(inputs=[{"name": "a", "type": "tablet", "bus": "ps2"}]),
        [(f"{D}.devices.inputs[0].bus", "Input device can have only virtio or usb bus, not ps2.")],
    ),
    "unsupported input type": (
        devices(inputs=[{"name": "a", "type": "mouse"}]),
        [(f"{D}.devices.inputs[0].type", "Input device can have only tablet type, not mouse.")],
    ),
    "unsupported sound model": (
        devices(sound={"name": "a", "model": "sb16"}),
        [(f"{D}.devices.sound.model", "Sound device type is not supported. Options")],
    ),
    "sound device without a name": (
        devices(sound={"name": ""}),
        [(f"{D}.devices.sound.name", "Sound device requires a name field.")],
    ),
    "unsupported video type": (
        devices(video={"type": "cga"}),
        [(f"{D}.devices.video.type", "video model 'cga' is not supported on any architecture")],
    ),
    "video without a graphics device": (
        devices(video={"type": "vga"}, autoattachGraphicsDevice=False),
        [(f"{D}.devices.video", "Video configuration is not allowed when autoattachGraphicsDevice is set to false")],
    ),
    "two displays with ramfb": (
        devices(gpus=[{"name": name, "deviceName": "d", "virtualGPUOptions": {"display": {}}} for name in "ab"]),
        [(f"{D}.devices.gpus[1].virtualGPUOptions.display", "configuring multiple displays with ramfb is not valid")],
    ),
    "empty panic device model": (
        devices(panicDevices=[{"model": ""}]),
        [(f"{D}.devices.panicDevices[0].model", "invalid PanicDeviceModel()")],
    ),
    "unsupported panic device model": (
        devices(panicDevices=[{"model": "loud"}]),
        [(f"{D}.devices.panicDevices[0].model", "invalid PanicDeviceModel(loud)")],
    ),
    "GPU without a device name": (devices(gpus=[{"name": "a"}]), [(f"{D}.devices.gpus[0].deviceName", "is required")]),
    "duplicate host device name": (
        devices(hostDevices=[{"name": "a", "deviceName": "d"}] * 2),
        [(f"{D}.devices.hostDevices[1].name", "must not have the same Name")],
    ),
    "unsupported watchdog action": (
        devices(watchdog={"name": "w", "i6300esb": {"action": "bite"}}),
        [(f"{D}.devices.watchdog.i6300esb.action", '"bite" is not supported')],
    ),
    "watchdog without a name": (devices(watchdog={"name": ""}), [(f"{D}.devices.watchdog.name", "must be set")]),
    "watchdog with two models": (
        devices(watchdog={"name": "w", "i6300esb": {}, "diag288": {}}),
        [(f"{D}.devices.watchdog", "must have exactly one type set")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_device_or_boot_order_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)
