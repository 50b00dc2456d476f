"""XML of each device, with all fields and with required fields only."""

from xml.etree.ElementTree import tostring

import pytest
from tests.support.devices import MEDIATED

from virtshape.launcher.domain.devices.address import DriveAddress, PciAddress, UsbAddress
from virtshape.launcher.domain.devices.console import Channel, Redirection, Serial
from virtshape.launcher.domain.devices.devices import Controller, Devices, render_devices
from virtshape.launcher.domain.devices.disk import BlockSizes, Disk, Filesystem, Source
from virtshape.launcher.domain.devices.graphics import Graphics, Input, Sound, Video
from virtshape.launcher.domain.devices.hostdevice import MediatedHostDevice, PciHostDevice, UsbHostDevice
from virtshape.launcher.domain.devices.interface import Forward, Interface, Subnet
from virtshape.launcher.domain.devices.platform import Balloon, Panic, Rng, Tpm, Vsock, Watchdog

PCI = PciAddress(0, 0x81, 1, 7)
PCI_TEXT = 'domain="0x0000" bus="0x81" slot="0x01" function="0x7"'

DISKS = [
    pytest.param(
        Disk(name="root", device="cdrom", target="sda", bus="sata"),
        '<disk type="file" device="cdrom"><driver name="qemu" type="raw" /><target dev="sda" bus="sata" />'
        '<alias name="ua-root" /></disk>',
        id="empty drive",
    ),
    pytest.param(
        Disk(
            name="root",
            source=Source(path="/images/root.qcow2", format="qcow2"),
            target="vda",
            bus="virtio",
            model="virtio-non-transitional",
            read_only=True,
            shareable=True,
            serial="a1",
            boot_order=2,
            address=PCI,
            cache="none",
            io="native",
            error_policy="stop",
            discard=True,
            queues=4,
            io_thread=3,
            iommu=True,
            block_sizes=BlockSizes(512, 4096, 65536),
        ),
        '<disk type="file" device="disk" model="virtio-non-transitional">'
        '<driver name="qemu" type="qcow2" cache="none" error_policy="stop" io="native" discard="unmap" iothread="3"'
        ' queues="4" iommu="on" /><source file="/images/root.qcow2" /><target dev="vda" bus="virtio" />'
        '<blockio logical_block_size="512" physical_block_size="4096" discard_granularity="65536" />'
        '<readonly /><shareable /><serial>a1</serial><boot order="2" /><alias name="ua-root" />'
        f'<address type="pci" {PCI_TEXT} /></disk>',
        id="disk with all fields",
    ),
    pytest.param(
        Disk(
            name="root",
            device="lun",
            source=Source(path="/dev/root", kind="block"),
            target="sdb",
            bus="scsi",
            address=DriveAddress(unit=1),
            reservations="/run/helper.sock",
        ),
        '<disk type="block" device="lun"><driver name="qemu" type="raw" /><source dev="/dev/root">'
        '<reservations managed="no"><source type="unix" path="/run/helper.sock" mode="client" /></reservations>'
        '</source><target dev="sdb" bus="scsi" /><alias name="ua-root" />'
        '<address type="drive" controller="0" bus="0" target="0" unit="1" /></disk>',
        id="a LUN with reservations",
    ),
    pytest.param(
        Disk(name="root", device="cdrom", target="sda", bus="sata", tray="open"),
        '<disk type="file" device="cdrom"><driver name="qemu" type="raw" />'
        '<target dev="sda" bus="sata" tray="open" /><alias name="ua-root" /></disk>',
        id="an open tray",
    ),
]

CONTROLLERS = [
    pytest.param(
        Controller(kind="usb", model="none"),
        '<controller type="usb" index="0" model="none" />',
        id="controller",
    ),
    pytest.param(
        Controller(kind="scsi", model="virtio-scsi", queues=2, io_thread=1, iommu=True),
        '<controller type="scsi" index="0" model="virtio-scsi">'
        '<driver queues="2" iothread="1" iommu="on" /></controller>',
        id="a controller with a thread",
    ),
    pytest.param(
        Controller(kind="pci", model="pcie-root-port", index=3),
        '<controller type="pci" index="3" model="pcie-root-port" />',
        id="a port",
    ),
]

INTERFACES = [
    pytest.param(
        Interface(name="default", model="e1000"),
        '<interface type="user"><model type="e1000" /><alias name="ua-default" /></interface>',
        id="minimal interface",
    ),
    pytest.param(
        Interface(
            name="default",
            kind="tap",
            device="tap0",
            bridge="br0",
            subnets=(Subnet("ipv4", "10.0.2.0", 24), Subnet("ipv6", "fd10::", 64)),
            guest_address="10.0.2.15",
            forwards=(Forward("tcp", 80, 80),),
            model="virtio-non-transitional",
            mac="02:00:5e:10:00:01",
            vhost=True,
            queues=4,
            iommu=True,
            boot_order=1,
            option_rom=False,
            address=PCI,
            acpi_index=7,
            link_up=False,
        ),
        '<interface type="ethernet"><mac address="02:00:5e:10:00:01" /><target dev="tap0" managed="no" />'
        '<ip family="ipv4" address="10.0.2.0" prefix="24" /><ip family="ipv6" address="fd10::" prefix="64" />'
        '<model type="virtio-non-transitional" /><driver name="vhost" queues="4" iommu="on" />'
        '<link state="down" /><boot order="1" /><rom enabled="no" /><acpi index="7" /><alias name="ua-default" />'
        f'<address type="pci" {PCI_TEXT} /></interface>',
        id="interface with all fields",
    ),
]

HOST_DEVICES = [
    pytest.param(
        PciHostDevice(name="gpu-a", source=PciAddress(0, 0x65, 0, 0), address=PCI, boot_order=1),
        '<hostdev mode="subsystem" type="pci" managed="no"><source>'
        '<address domain="0x0000" bus="0x65" slot="0x00" function="0x0" /></source><boot order="1" />'
        f'<alias name="ua-gpu-a" /><address type="pci" {PCI_TEXT} /></hostdev>',
        id="a PCI device",
    ),
    pytest.param(
        MediatedHostDevice(name="gpu-a", uuid=MEDIATED, display=True, ramfb=True),
        '<hostdev mode="subsystem" type="mdev" managed="no" model="vfio-pci" display="on" ramfb="on"><source>'
        f'<address uuid="{MEDIATED}" /></source><alias name="ua-gpu-a" /></hostdev>',
        id="a mediated device",
    ),
    pytest.param(
        UsbHostDevice(name="key", source=UsbAddress(1, 5)),
        '<hostdev mode="subsystem" type="usb" managed="no"><source><address bus="1" device="5" /></source>'
        '<alias name="ua-key" /></hostdev>',
        id="a USB device",
    ),
]


def render(**devices: object) -> str:
    """Return the elements below `devices`, after the emulator."""
    root = render_devices(Devices(emulator="qemu", **devices))  # type: ignore[arg-type]  # one family at a time
    assert tostring(root[0], encoding="unicode") == "<emulator>qemu</emulator>"
    return "".join(tostring(element, encoding="unicode") for element in root[1:])


@pytest.mark.parametrize(("disk", "expected"), DISKS)
def test_disk_is_rendered_as_xml(disk: Disk, expected: str) -> None:
    assert render(disks=(disk,)) == expected


@pytest.mark.parametrize(("controller", "expected"), CONTROLLERS)
def test_controller_is_rendered_as_xml(controller: Controller, expected: str) -> None:
    assert render(controllers=(controller,)) == expected


@pytest.mark.parametrize(("interface", "expected"), INTERFACES)
def test_interface_is_rendered_as_xml_without_its_ports(interface: Interface, expected: str) -> None:
    assert render(interfaces=(interface,)) == expected


@pytest.mark.parametrize(("device", "expected"), HOST_DEVICES)
def test_host_device_is_rendered_as_xml(device: object, expected: str) -> None:
    assert render(host_devices=(device,)) == expected


@pytest.mark.parametrize(
    ("family", "device", "expected"),
    [
        pytest.param(
            "filesystems",
            (Filesystem("data", "/g/data.sock", iommu=True),),
            '<filesystem type="mount"><driver type="virtiofs" queue="1024" iommu="on" />'
            '<source socket="/g/data.sock" /><target dir="data" /></filesystem>',
            id="a shared directory",
        ),
        pytest.param(
            "serials",
            (Serial("/g/a.sock", "/g/a.log"), Serial("/g/b.sock")),
            '<serial type="unix"><source mode="bind" path="/g/a.sock" /><log file="/g/a.log" append="on" />'
            '<target port="0" /></serial>'
            '<serial type="unix"><source mode="bind" path="/g/b.sock" /><target port="1" /></serial>',
            id="serial lines",
        ),
        pytest.param(
            "channels",
            (Channel("agent", "/g/a.sock"),),
            '<channel type="unix"><source mode="bind" path="/g/a.sock" />'
            '<target type="virtio" name="agent" /></channel>',
            id="a channel",
        ),
        pytest.param(
            "redirections",
            (Redirection("/g/u.sock"),),
            '<redirdev bus="usb" type="unix"><source mode="bind" path="/g/u.sock" /></redirdev>',
            id="a USB port",
        ),
        pytest.param(
            "inputs",
            (Input(type="tablet", bus="usb", name="t"), Input(type="keyboard", bus="virtio")),
            '<input type="tablet" bus="usb"><alias name="ua-t" /></input>'
            '<input type="keyboard" bus="virtio" model="virtio" />',
            id="input devices",
        ),
        pytest.param(
            "graphics",
            Graphics("/g/vnc.sock"),
            '<graphics type="vnc"><listen type="socket" socket="/g/vnc.sock" /></graphics>',
            id="graphics",
        ),
        pytest.param(
            "video",
            Video(model="vga", heads=1, vram=16384),
            '<video><model type="vga" heads="1" vram="16384" /></video>',
            id="a graphics card",
        ),
        pytest.param("sound", Sound("s", "ich9"), '<sound model="ich9"><alias name="ua-s" /></sound>', id="sound"),
        pytest.param(
            "tpm",
            Tpm("tpm-tis"),
            '<tpm model="tpm-tis"><backend type="emulator" version="2.0" /></tpm>',
            id="a TPM",
        ),
        pytest.param(
            "tpm",
            Tpm("tpm-crb", persistent=True),
            '<tpm model="tpm-crb"><backend type="emulator" version="2.0" persistent_state="yes" /></tpm>',
            id="persistent TPM",
        ),
        pytest.param(
            "rng",
            Rng("virtio", iommu=True),
            '<rng model="virtio"><backend model="random">/dev/urandom</backend><driver iommu="on" /></rng>',
            id="RNG",
        ),
        pytest.param(
            "watchdog",
            Watchdog("w", "i6300esb", "reset"),
            '<watchdog model="i6300esb" action="reset"><alias name="ua-w" /></watchdog>',
            id="a watchdog",
        ),
        pytest.param("panics", (Panic("isa"),), '<panic model="isa" />', id="a panic device"),
        pytest.param("balloon", Balloon(model="none"), '<memballoon model="none" />', id="no balloon"),
        pytest.param(
            "balloon",
            Balloon(model="virtio", stats_period=10, free_page_reporting=True, iommu=True),
            '<memballoon model="virtio" freePageReporting="on"><stats period="10" /><driver iommu="on" /></memballoon>',
            id="a balloon",
        ),
        pytest.param("vsock", Vsock("virtio"), '<vsock model="virtio"><cid auto="yes" /></vsock>', id="a vsock device"),
        pytest.param(
            "vsock",
            Vsock("virtio", 7),
            '<vsock model="virtio"><cid auto="no" address="7" /></vsock>',
            id="a vsock device with an address",
        ),
    ],
)
def test_other_device_is_rendered_as_xml(family: str, device: object, expected: str) -> None:
    assert render(**{family: device}) == expected
