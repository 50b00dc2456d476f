"""Disks that are attached to a running guest: design, XML and refusals."""

from pathlib import Path

import pytest
from tests.support.domains import EMULATING

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.launcher.guest.hotplug import HotplugError
from virtshape.launcher.guest.volumehotplug import design_disk, render_disk_xml
from virtshape.launcher.launchrequest import LaunchRequest


def build_request(mount: Path, disk: JsonObject, **devices: object) -> LaunchRequest:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm1"},
        "spec": {
            "domain": {"devices": {"disks": [{"name": "data", **disk}], **devices}},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data", "hotpluggable": True}}],
        },
    }
    vmi = from_tree(tree, VirtualMachineInstance)
    return LaunchRequest(vmi=vmi, mounts={"data": str(mount)}, host=EMULATING)


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    (tmp_path / "disk.img").write_bytes(bytes(4096))
    return tmp_path


def test_hotplugged_scsi_disk_gets_the_first_free_device_name_and_address(mount: Path) -> None:
    request = build_request(mount, {"disk": {"bus": "scsi"}, "serial": "1234", "cache": "writethrough"})
    disk = design_disk(request, str(mount), "data", {"sda", "sdb", "sdd", "vda"})
    assert (disk.target, disk.bus, disk.serial) == ("sdc", "scsi", "1234")
    xml = render_disk_xml(disk)
    assert xml.startswith('<disk type="file" device="disk">')
    assert f'<source file="{mount}/disk.img" />' in xml
    assert '<alias name="ua-data" />' in xml
    assert 'type="drive"' in xml
    assert 'unit="2"' in xml


def test_libvirt_chooses_the_pci_port_of_a_hotplugged_virtio_disk(mount: Path) -> None:
    disk = design_disk(build_request(mount, {"disk": {"bus": "virtio"}}), str(mount), "data", {"sda", "vda"})
    assert (disk.target, disk.address, disk.io_thread) == ("vdb", None, None)


@pytest.mark.parametrize(
    ("disk", "devices", "message"),
    [
        (
            {"disk": {"bus": "scsi"}},
            {"disableHotplug": True},
            "spec.domain.devices.disableHotplug: hotplug is disabled",
        ),
        (
            {"disk": {"bus": "virtio"}, "dedicatedIOThread": True},
            {},
            r"disks\[0\].dedicatedIOThread: the running guest has no dedicated I/O thread for this disk",
        ),
        ({"lun": {"bus": "scsi"}}, {}, "a LUN needs a block device"),
    ],
    ids=["hotplug disabled", "own I/O thread", "LUN without a block device"],
)
def test_disk_that_cannot_be_hotplugged_is_refused_with_its_field(
    mount: Path, disk: JsonObject, devices: JsonObject, message: str
) -> None:
    with pytest.raises(HotplugError, match=message):
        design_disk(build_request(mount, disk, **devices), str(mount), "data", set())


def test_hotplug_of_a_claim_without_an_image_is_refused(tmp_path: Path) -> None:
    request = build_request(tmp_path, {"disk": {"bus": "scsi"}})
    with pytest.raises(HotplugError, match=r"spec.volumes\[0\].persistentVolumeClaim: it contains no disk.img"):
        design_disk(request, str(tmp_path), "data", set())
