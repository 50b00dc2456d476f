"""
Devices checked with libvirt's schema, and with its driver if they need no special hardware.

Host devices that are not available to tests are checked against the schema only.
"""

import os
from typing import Any

import pytest
from lxml.etree import RelaxNG, fromstring
from tests.support.devices import (
    MEDIATED,
    POD_NETWORK,
    build_disk,
    build_interface,
    build_volumes,
    design_with,
    write_domain,
)
from tests.support.libvirtdriver import Driver

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.host import Host

HOST = Host(
    tpm=True,
    vsock=True,
    virtiofs=True,
    downward_metrics=True,
    tap=True,
    bridges={"pod": "br0"},
    reservations="/run/helper.sock",
    devices={"example.com/pci": ("0000:65:00.0",), "example.com/vgpu": (MEDIATED,), "example.com/key": ("1:5",)},
)
FILE = Source(path="/images/root.img")
BLOCK = Source(path="/dev/root", kind="block", direct_io=True)

INTERFACES: dict[str, JsonObject] = {
    "interface with all fields": build_interface(
        macAddress="02:00:5e:10:00:01", bootOrder=1, acpiIndex=7, state="down", pciAddress="0000:00:05.0"
    ),
    "interface on a bridge": {**build_interface(bridge={}), "networkInterfaceMultiqueue": True},
}

DISKS: dict[str, JsonObject] = {
    **{f"a {bus} disk": build_disk(disk={"bus": bus}) for bus in ("virtio", "sata", "scsi", "usb")},
    "a sata cdrom": build_disk(cdrom={"tray": "open"}),
    "a scsi cdrom": build_disk(cdrom={"bus": "scsi"}),
    "disk with all fields": build_disk(
        disk={"bus": "virtio", "readonly": True, "pciAddress": "0000:00:09.0"},
        cache="writeback",
        io="threads",
        serial="a1",
        bootOrder=1,
        errorPolicy="enospace",
        dedicatedIOThread=True,
        blockSize={"custom": {"logical": 4096, "physical": 4096}},
    ),
    "a scsi disk with a thread": build_disk(disk={"bus": "scsi"}, dedicatedIOThread=True),
    "a disk with queues": {**build_disk(disk={"bus": "virtio"}), "blockMultiQueue": True},
    "disk with transitional virtio": {**build_disk(disk={"bus": "virtio"}), "useVirtioTransitional": True},
}

OTHERS: dict[str, JsonObject] = {
    "nothing": {},
    "minimal devices": {
        "autoattachGraphicsDevice": False,
        "autoattachSerialConsole": False,
        "autoattachMemBalloon": False,
        "disableHotplug": True,
    },
    "an empty drive": build_disk(cdrom={}),
    "a TPM": {"tpm": {}},
    "persistent TPM": {"tpm": {"persistent": True}},
    "RNG": {"rng": {}},
    "a watchdog": {"watchdog": {"name": "w", "i6300esb": {"action": "poweroff"}}},
    **{f"{model} sound": {"sound": {"name": "s", "model": model}} for model in ("ich9", "ac97")},
    "tablets": {"inputs": [{"name": bus, "type": "tablet", "bus": bus} for bus in ("usb", "virtio")]},
    **{f"{model} video": {"video": {"type": model}} for model in ("vga", "virtio", "ramfb", "bochs", "cirrus", "none")},
    **{f"{model} panic": {"panicDevices": [{"model": model}]} for model in ("isa", "hyperv")},
    "USB redirection": {"clientPassthrough": {}},
    "metrics": {"downwardMetrics": {}},
    "a vsock device": {"autoattachVSOCK": True},
    "a shared directory": {"filesystems": [{"name": "data", "virtiofs": {}}]},
}

PASSED_THROUGH: dict[str, JsonObject] = {
    "a PCI device": {"hostDevices": [{"name": "h", "deviceName": "example.com/pci"}]},
    "a USB device": {"hostDevices": [{"name": "h", "deviceName": "example.com/key"}]},
    "a mediated device": {"hostDevices": [{"name": "h", "deviceName": "example.com/vgpu"}]},
    "a GPU": {"gpus": [{"name": "g", "deviceName": "example.com/pci"}]},
    "a virtual GPU": {"gpus": [{"name": "g", "deviceName": "example.com/vgpu"}]},
    "a LUN": build_disk(lun={"reservation": True}),
}

CONFIDENTIAL: JsonObject = {"launchSecurity": {"sev": {}}}
ENCRYPTED: JsonObject = {
    **build_disk(disk={"bus": "virtio"}),
    **build_interface(),
    "rng": {},
    "filesystems": [{"name": "data", "virtiofs": {}}],
}


def design(devices: JsonObject, source: Source = FILE, **rest: Any) -> str:
    """Return the XML of a domain with these devices; fail if a device is refused."""
    designed = design_with(
        devices,
        host=HOST,
        sources={"root": source},
        domain={"cpu": {"cores": 4}},
        **build_volumes("root"),
        **POD_NETWORK,
        **rest,
    )
    assert designed.refusals == ()
    return write_domain(designed)


def find_faults(schema: RelaxNG, xml: str) -> str:
    """Return the schema errors of a domain."""
    return "" if schema.validate(fromstring(xml)) else str(schema.error_log)


EXAMPLES = {**DISKS, **OTHERS}


@pytest.mark.parametrize("devices", (INTERFACES | EXAMPLES).values(), ids=INTERFACES | EXAMPLES)
def test_devices_match_the_libvirt_schema(schema: RelaxNG, devices: JsonObject) -> None:
    assert find_faults(schema, design(devices)) == ""


@pytest.mark.parametrize("devices", PASSED_THROUGH.values(), ids=PASSED_THROUGH)
def test_host_devices_match_the_libvirt_schema(schema: RelaxNG, devices: JsonObject) -> None:
    assert find_faults(schema, design(devices, BLOCK)) == ""


def test_devices_of_an_encrypted_guest_match_the_libvirt_schema(schema: RelaxNG) -> None:
    designed = design_with(
        ENCRYPTED, host=HOST, sources={"root": FILE}, domain=CONFIDENTIAL, **build_volumes("root"), **POD_NETWORK
    )
    assert find_faults(schema, write_domain(designed)) == ""


@pytest.mark.parametrize("devices", EXAMPLES.values(), ids=EXAMPLES)
def test_libvirt_accepts_the_devices(driver: Driver, devices: JsonObject) -> None:
    assert driver.accept(design(devices)) is None


def build_image(driver: Driver, name: str) -> Source:
    """Create an image that the driver can open."""
    path = driver.directory / name
    path.touch()
    os.truncate(path, 1024 * 1024)
    path.chmod(0o666)
    return Source(path=str(path))


def test_qemu_starts_with_every_interface_model(driver: Driver) -> None:
    ranges = {"vmNetworkCIDR": "10.11.0.0/16", "vmIPv6NetworkCIDR": "fd10:0:2::/64"}
    models = ("virtio", "e1000", "e1000e", "rtl8139", "pcnet", "ne2k_pci")
    cards: list[JsonObject] = [{"name": model, "masquerade": {}, "model": model, "state": "down"} for model in models]
    cards[0] |= {"macAddress": "02:00:5e:10:00:01", "bootOrder": 1, "acpiIndex": 7, "pciAddress": "0000:00:05.0"}
    networks = [{"name": model, "pod": ranges} for model in models]
    designed = design_with({"interfaces": cards}, networks=networks, directory=str(driver.directory))
    assert driver.start(write_domain(designed, name="cards")) is None


def test_qemu_starts_with_every_kind_of_disk(driver: Driver) -> None:
    disks: list[JsonObject] = [{"name": bus, "disk": {"bus": bus}} for bus in ("virtio", "sata", "scsi", "usb")]
    disks[0] |= {"dedicatedIOThread": True, "blockSize": {"custom": {"logical": 4096, "physical": 4096}}}
    disks += [{"name": f"{bus}cd", "cdrom": {"bus": bus}} for bus in ("sata", "scsi")]
    disks += [{"name": "empty", "cdrom": {"tray": "open"}}]
    names = [item["name"] for item in disks if item["name"] != "empty"]
    sources = {name: build_image(driver, name) for name in names}
    designed = design_with(
        {"disks": disks, "blockMultiQueue": True},
        sources=sources,
        directory=str(driver.directory),
        **build_volumes(*names),
    )
    assert driver.start(write_domain(designed, name="disks")) is None


def test_qemu_starts_with_all_other_devices(driver: Driver) -> None:
    devices: JsonObject = {}
    for name in ("RNG", "a watchdog", "ich9 sound", "tablets", "isa panic", "USB redirection"):
        devices |= OTHERS[name]
    designed = design_with({**devices, "video": {"type": "virtio"}}, directory=str(driver.directory))
    assert driver.start(write_domain(designed, name="others")) is None


def test_qemu_starts_with_a_minimal_set_of_devices(driver: Driver) -> None:
    designed = design_with(OTHERS["minimal devices"], directory=str(driver.directory))
    assert driver.start(write_domain(designed, machine="pc", name="little")) is None
