"""Controllers for devices, and spare PCI ports."""

import pytest
from tests.support.devices import build_disk, build_interface, build_volumes, design_with

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.devices import Controller
from virtshape.launcher.host import Host

NO_USB = Controller(kind="usb", model="none")
USB = Controller(kind="usb", model="qemu-xhci")
SCSI = Controller(kind="scsi", model="virtio-non-transitional")
SERIAL = Controller(kind="virtio-serial", model="virtio-non-transitional")
FIXED: JsonObject = {"disableHotplug": True}


def list_ports(count: int) -> tuple[Controller, ...]:
    return tuple(Controller(kind="pci", model="pcie-root-port", index=index) for index in range(1, count + 1))


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param({}, (NO_USB, SCSI, SERIAL, *list_ports(7)), id="hotplug ports"),
        pytest.param(FIXED, (NO_USB, SERIAL), id="hotplug disabled"),
        pytest.param({**FIXED, **build_disk(disk={"bus": "scsi"})}, (NO_USB, SCSI, SERIAL), id="a scsi disk"),
        pytest.param({**FIXED, **build_disk(disk={"bus": "usb"})}, (USB, SERIAL), id="a usb disk"),
        pytest.param({**FIXED, "inputs": [{"name": "t", "type": "tablet"}]}, (USB, SERIAL), id="a usb tablet"),
        pytest.param(
            {**FIXED, "inputs": [{"name": "t", "type": "tablet", "bus": "virtio"}]},
            (NO_USB, SERIAL),
            id="a virtio tablet",
        ),
        pytest.param({**FIXED, "clientPassthrough": {}}, (USB, SERIAL), id="USB redirection"),
        pytest.param(
            {**FIXED, "hostDevices": [{"name": "k", "deviceName": "example.com/key"}]}, (USB, SERIAL), id="a usb device"
        ),
    ],
)
def test_each_bus_in_use_has_a_controller(devices: JsonObject, expected: tuple[Controller, ...]) -> None:
    host = Host(devices={"example.com/key": ("1:5",)})
    assert design_with(devices, host=host, **build_volumes("root")).devices.controllers == expected


@pytest.mark.parametrize(
    ("devices", "used"),
    [
        pytest.param({}, 3, id="scsi, serial and balloon"),
        pytest.param({"autoattachMemBalloon": False}, 2, id="no balloon"),
        pytest.param({"rng": {}}, 4, id="RNG"),
        pytest.param(build_disk(disk={"bus": "virtio"}), 4, id="a virtio disk"),
        pytest.param(build_disk(disk={"bus": "virtio", "pciAddress": "0000:00:09.0"}), 3, id="disk with a PCI address"),
        pytest.param(build_disk(disk={"bus": "sata"}), 3, id="a sata disk"),
        pytest.param(build_interface(), 4, id="virtio interface"),
        pytest.param(build_interface(model="e1000e"), 4, id="PCI Express interface"),
        pytest.param(build_interface(model="e1000"), 3, id="conventional PCI interface"),
        pytest.param({"inputs": [{"name": "t", "type": "tablet"}]}, 4, id="a usb tablet"),
        pytest.param({"inputs": [{"name": "t", "type": "tablet", "bus": "virtio"}]}, 4, id="a virtio tablet"),
        pytest.param({"useVirtioTransitional": True, "rng": {}}, 0, id="transitional virtio"),
        pytest.param({"gpus": [{"name": "g", "deviceName": "example.com/gpu"}]}, 4, id="a GPU"),
    ],
)
def test_four_spare_pci_ports_are_added(devices: JsonObject, used: int) -> None:
    host = Host(devices={"example.com/gpu": ("0000:65:00.0",)})
    design = design_with(devices, host=host, networks=[{"name": "default", "pod": {}}])
    ports = tuple(controller for controller in design.devices.controllers if controller.kind == "pci")
    assert ports == list_ports(used + 4)


@pytest.mark.parametrize(("machine", "count"), [("q35", 7), ("pc-q35-7.2", 7), ("virt-7.2", 7), ("pc", 0)])
def test_only_pci_express_machines_have_pci_ports(machine: str, count: int) -> None:
    controllers = design_with(domain={"machine": {"type": machine}}).devices.controllers
    assert sum(controller.kind == "pci" for controller in controllers) == count


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        ("arm64", (USB, SCSI, SERIAL)),
        (
            "s390x",
            (
                NO_USB,
                Controller(kind="scsi", model="virtio-scsi"),
                Controller(kind="virtio-serial", model="virtio"),
            ),
        ),
    ],
)
def test_controllers_depend_on_the_architecture(architecture: str, expected: tuple[Controller, ...]) -> None:
    design = design_with(architecture=architecture, domain={"machine": {"type": ""}})
    assert design.devices.controllers == expected
