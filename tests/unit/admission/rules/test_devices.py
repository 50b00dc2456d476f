"""Validation of devices and their boot order."""

import pytest
from tests.unit.admission.rules.guests import POD, VOLUMES, D, Told, devices, disk, expect

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

DISK = f"{D}.devices.disks[0]"
INTERFACE = f"{D}.devices.interfaces[0]"

BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "a boot order of nought": (disk(bootOrder=0), [(f"{DISK}.bootOrder", "must have a boot order > 0, if supplied")]),
    "a boot order given twice": (
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
    "an input on ps2": (
        devices(inputs=[{"name": "a", "type": "tablet", "bus": "ps2"}]),
        [(f"{D}.devices.inputs[0].bus", "Input device can have only virtio or usb bus, not ps2.")],
    ),
    "an input of no sort": (
        devices(inputs=[{"name": "a", "type": "mouse"}]),
        [(f"{D}.devices.inputs[0].type", "Input device can have only tablet type, not mouse.")],
    ),
    "a sound of no sort": (
        devices(sound={"name": "a", "model": "sb16"}),
        [(f"{D}.devices.sound.model", "Sound device type is not supported. Options")],
    ),
    "a sound of no name": (
        devices(sound={"name": ""}),
        [(f"{D}.devices.sound.name", "Sound device requires a name field.")],
    ),
    "a video of no sort": (
        devices(video={"type": "cga"}),
        [(f"{D}.devices.video.type", "video model 'cga' is not supported on any architecture")],
    ),
    "a video that nobody sees": (
        devices(video={"type": "vga"}, autoattachGraphicsDevice=False),
        [(f"{D}.devices.video", "Video configuration is not allowed when autoattachGraphicsDevice is set to false")],
    ),
    "two screens before the driver": (
        devices(gpus=[{"name": name, "deviceName": "d", "virtualGPUOptions": {"display": {}}} for name in "ab"]),
        [(f"{D}.devices.gpus[1].virtualGPUOptions.display", "configuring multiple displays with ramfb is not valid")],
    ),
    "a panic of no sort": (
        devices(panicDevices=[{"model": "loud"}]),
        [(f"{D}.devices.panicDevices[0].model", "invalid PanicDeviceModel(loud)")],
    ),
    "a GPU of nothing": (devices(gpus=[{"name": "a"}]), [(f"{D}.devices.gpus[0].deviceName", "is required")]),
    "two host devices of a name": (
        devices(hostDevices=[{"name": "a", "deviceName": "d"}] * 2),
        [(f"{D}.devices.hostDevices[1].name", "must not have the same Name")],
    ),
    "a watchdog that bites": (
        devices(watchdog={"name": "w", "i6300esb": {"action": "bite"}}),
        [(f"{D}.devices.watchdog.i6300esb.action", '"bite" is not supported')],
    ),
    "a watchdog of no name": (devices(watchdog={"name": ""}), [(f"{D}.devices.watchdog.name", "must be set")]),
    "two watchdogs": (
        devices(watchdog={"name": "w", "i6300esb": {}, "diag288": {}}),
        [(f"{D}.devices.watchdog", "must have exactly one type set")],
    ),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_guest, tree, told)
