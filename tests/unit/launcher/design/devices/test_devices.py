"""All devices together, and options that apply to every virtio device."""

import pytest
from msgspec.structs import replace
from tests.support.devices import POD_NETWORK, build_disk, build_interface, build_volumes, design_with

from virtshape.api.model import JsonObject
from virtshape.launcher.design.devices.devices import DeviceDesign
from virtshape.launcher.domain.devices.console import Channel, Serial
from virtshape.launcher.domain.devices.devices import Controller, Devices
from virtshape.launcher.domain.devices.disk import Disk, Source
from virtshape.launcher.domain.devices.graphics import Graphics, Video
from virtshape.launcher.domain.devices.interface import Interface, Subnet
from virtshape.launcher.domain.devices.platform import Balloon, Rng

SOURCE = Source(path="/images/root.qcow2", format="qcow2")


def build_usual(virtio: str = "virtio-non-transitional", *, iommu: bool = False) -> DeviceDesign:
    """Build the expected design with a disk, a network interface and an RNG."""
    devices = Devices(
        emulator="/usr/bin/qemu-system-x86_64",
        disks=(
            Disk(
                name="root",
                source=SOURCE,
                target="vda",
                bus="virtio",
                model=virtio,
                cache="writethrough",
                error_policy="stop",
                discard=True,
                iommu=iommu,
            ),
        ),
        controllers=(
            Controller(kind="usb", model="none"),
            Controller(kind="virtio-serial", model=virtio, iommu=iommu),
        ),
        interfaces=(
            Interface(
                name="default",
                subnets=(Subnet("ipv4", "10.0.2.0", 24),),
                guest_address="10.0.2.15",
                model=virtio,
                iommu=iommu,
                option_rom=False,
            ),
        ),
        serials=(Serial("/guest/serial0.sock", "/guest/serial0.log"),),
        channels=(Channel("org.qemu.guest_agent.0", "/guest/agent.sock"),),
        graphics=Graphics("/guest/vnc.sock"),
        video=Video(model="vga", heads=1, vram=16384),
        balloon=Balloon(model=virtio, stats_period=10, free_page_reporting=True, iommu=iommu),
        rng=Rng(virtio, iommu=iommu),
    )
    return DeviceDesign(devices=devices)


USUAL: JsonObject = {**build_disk(disk={"bus": "virtio"}), **build_interface(), "rng": {}, "disableHotplug": True}


def design(domain: JsonObject | None = None, **more: object) -> DeviceDesign:
    return design_with(
        {**USUAL, **more}, sources={"root": SOURCE}, domain=domain, **build_volumes("root"), **POD_NETWORK
    )


def test_usual_guest_has_requested_and_default_devices() -> None:
    assert design() == build_usual()


def test_transitional_virtio_is_used_if_requested() -> None:
    assert design(useVirtioTransitional=True) == build_usual("virtio-transitional")


@pytest.mark.parametrize(("security", "iommu"), [({"sev": {}}, True), ({"snp": {}}, True), ({"tdx": {}}, False)])
def test_virtio_devices_use_the_iommu_only_with_sev_or_snp(security: JsonObject, iommu: bool) -> None:
    assert design({"launchSecurity": security}) == build_usual(iommu=iommu)


def test_interface_of_an_encrypted_guest_has_no_boot_rom() -> None:
    devices = {**USUAL, **build_interface(bootOrder=1)}
    designed = design_with(
        devices,
        sources={"root": SOURCE},
        domain={"launchSecurity": {"sev": {}}},
        **build_volumes("root"),
        **POD_NETWORK,
    )
    expected = build_usual(iommu=True).devices
    (interface,) = expected.interfaces
    assert designed.devices == replace(expected, interfaces=(replace(interface, boot_order=1),))
