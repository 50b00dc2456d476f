"""Passthrough of host devices."""

import pytest
from tests.support.devices import MEDIATED, build_interface, design_with, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.address import PciAddress, UsbAddress
from virtshape.launcher.domain.devices.hostdevice import HostDevice, MediatedHostDevice, PciHostDevice, UsbHostDevice
from virtshape.launcher.host import Host

HOST = Host(
    devices={
        "example.com/pci": ("0000:65:00.0",),
        "example.com/vgpu": (MEDIATED, MEDIATED.replace("8", "9")),
        "example.com/key": ("1:5",),
        "blue": ("0000:17:02.1",),
    }
)
PCI = PciAddress(0, 0x65, 0, 0)


def gpu(**options: object) -> JsonObject:
    return {"gpus": [{"name": "g", "deviceName": "example.com/vgpu", **options}]}


def show(*, display: bool, ramfb: bool) -> MediatedHostDevice:
    return MediatedHostDevice(name="gpu-g", uuid=MEDIATED, display=display, ramfb=ramfb)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param(
            {"hostDevices": [{"name": "h", "deviceName": "example.com/pci"}]},
            PciHostDevice(name="hostdevice-h", source=PCI),
            id="a PCI device",
        ),
        pytest.param(
            {"hostDevices": [{"name": "h", "deviceName": "example.com/key"}]},
            UsbHostDevice(name="hostdevice-h", source=UsbAddress(1, 5)),
            id="a USB device",
        ),
        pytest.param(
            {"hostDevices": [{"name": "h", "deviceName": "example.com/vgpu"}]},
            MediatedHostDevice(name="hostdevice-h", uuid=MEDIATED),
            id="a mediated device",
        ),
        pytest.param(
            {"gpus": [{"name": "g", "deviceName": "example.com/pci"}]},
            PciHostDevice(name="gpu-g", source=PCI),
            id="GPU",
        ),
        pytest.param(gpu(), show(display=True, ramfb=True), id="vGPU"),
        pytest.param(
            gpu(virtualGPUOptions={"display": {"enabled": False}}), show(display=False, ramfb=False), id="no display"
        ),
        pytest.param(
            gpu(virtualGPUOptions={"display": {"ramFB": {"enabled": False}}}),
            show(display=True, ramfb=False),
            id="no framebuffer",
        ),
        pytest.param(
            {**gpu(), "autoattachGraphicsDevice": False}, show(display=False, ramfb=False), id="without graphics"
        ),
        pytest.param(
            build_interface(sriov={}, bootOrder=1, pciAddress="0000:81:01.0"),
            PciHostDevice(
                name="sriov-default",
                source=PciAddress(0, 0x17, 2, 1),
                address=PciAddress(0, 0x81, 1, 0),
                boot_order=1,
            ),
            id="SR-IOV virtual function",
        ),
    ],
)
def test_host_device_is_passed_through(devices: JsonObject, expected: HostDevice) -> None:
    networks = [{"name": "default", "multus": {"networkName": "blue"}}]
    design = design_with(devices, host=HOST, networks=networks)
    assert (design.devices.host_devices, design.refusals) == ((expected,), ())
    assert design.devices.interfaces == ()


def test_each_device_is_passed_through_once_and_only_the_first_has_a_display() -> None:
    gpus = [{"name": name, "deviceName": "example.com/vgpu"} for name in ("a", "b", "c")]
    design = design_with({"gpus": gpus}, host=HOST)
    assert design.devices.host_devices == (
        MediatedHostDevice(name="gpu-a", uuid=MEDIATED, display=True, ramfb=True),
        MediatedHostDevice(name="gpu-b", uuid=MEDIATED.replace("8", "9")),
    )
    assert list_refusals(design) == {"gpus[2].deviceName": "this host offers no more example.com/vgpu"}


def test_device_that_the_host_does_not_have_is_refused() -> None:
    devices = {
        "gpus": [{"name": "g", "deviceName": "example.com/gpu"}, {"name": "c", "claimName": "c", "requestName": "r"}],
        "hostDevices": [{"name": "h", "deviceName": "example.com/qat"}, {"name": "c", "claimName": "c"}],
    }
    assert list_refusals(design_with(devices)) == {
        "gpus[0].deviceName": "this host offers no example.com/gpu",
        "gpus[1].claimName": "resource claims are not supported on this host",
        "hostDevices[0].deviceName": "this host offers no example.com/qat",
        "hostDevices[1].claimName": "resource claims are not supported on this host",
    }
