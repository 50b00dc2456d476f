"""Disks, CD-ROMs and LUNs: every field and its default."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.devices import build_disk, build_volumes, design_with, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.address import DriveAddress, PciAddress
from virtshape.launcher.domain.devices.disk import BlockSizes, Disk, Source
from virtshape.launcher.host import Host

FILE = Source(path="/images/root.img")
DIRECT = Source(path="/images/root.img", direct_io=True)
BLOCK = Source(path="/dev/root", kind="block", direct_io=True)
PLAIN = Disk(
    name="root", source=FILE, target="sda", bus="sata", cache="writethrough", error_policy="stop", discard=True
)
VIRTIO = replace(PLAIN, target="vda", bus="virtio", model="virtio-non-transitional")
CDROM = replace(PLAIN, device="cdrom", read_only=True, discard=False)
LUN = replace(
    PLAIN,
    device="lun",
    source=BLOCK,
    bus="scsi",
    address=DriveAddress(),
    cache="none",
    io="native",
    error_policy="stop",
)


@pytest.mark.parametrize(
    ("given", "source", "expected"),
    [
        pytest.param({}, FILE, PLAIN, id="no target"),
        pytest.param({"disk": {}}, FILE, PLAIN, id="a disk"),
        pytest.param({"disk": {"bus": "virtio"}}, FILE, VIRTIO, id="virtio"),
        pytest.param({"disk": {"bus": "usb"}}, FILE, replace(PLAIN, bus="usb"), id="usb"),
        pytest.param({"disk": {"bus": "scsi"}}, FILE, replace(PLAIN, bus="scsi", address=DriveAddress()), id="scsi"),
        pytest.param(
            {"disk": {"bus": "virtio", "readonly": True}}, FILE, replace(VIRTIO, read_only=True), id="write-protected"
        ),
        pytest.param(
            {"disk": {"bus": "virtio", "pciAddress": "0000:81:01.7"}},
            FILE,
            replace(VIRTIO, address=PciAddress(0, 0x81, 1, 7)),
            id="PCI address",
        ),
        pytest.param({"cdrom": {}}, FILE, CDROM, id="a cdrom"),
        pytest.param({"cdrom": {"tray": "open"}}, FILE, replace(CDROM, tray="open"), id="open tray"),
        pytest.param({"cdrom": {"readonly": False}}, FILE, replace(CDROM, read_only=False), id="a writable medium"),
        pytest.param(
            {"cdrom": {"bus": "scsi"}}, FILE, replace(CDROM, bus="scsi", address=DriveAddress()), id="a scsi cdrom"
        ),
        pytest.param({"lun": {}}, BLOCK, LUN, id="a LUN"),
        pytest.param({"lun": {"readonly": True}}, BLOCK, replace(LUN, read_only=True), id="a write-protected LUN"),
        pytest.param({"bootOrder": 1}, FILE, replace(PLAIN, boot_order=1), id="boot order"),
        pytest.param({"serial": "a1"}, FILE, replace(PLAIN, serial="a1"), id="serial"),
        pytest.param({"cache": "writeback"}, FILE, replace(PLAIN, cache="writeback"), id="cache"),
        pytest.param({}, DIRECT, replace(PLAIN, source=DIRECT, cache="none"), id="O_DIRECT if supported"),
        pytest.param(
            {"shareable": True}, DIRECT, replace(PLAIN, source=DIRECT, cache="none", shareable=True), id="shareable"
        ),
        pytest.param({"io": "threads"}, FILE, replace(PLAIN, io="threads"), id="io"),
        pytest.param(
            {"io": "native"}, DIRECT, replace(PLAIN, source=DIRECT, cache="none", io="native"), id="native io"
        ),
        pytest.param({"io": "default"}, BLOCK, replace(PLAIN, source=BLOCK, cache="none"), id="default io"),
        pytest.param(
            {}, BLOCK, replace(PLAIN, source=BLOCK, cache="none", io="native"), id="native io on a block device"
        ),
        pytest.param({"errorPolicy": "enospace"}, FILE, replace(PLAIN, error_policy="enospace"), id="error policy"),
        pytest.param(
            {"blockSize": {"custom": {"logical": 4096, "physical": 8192}}},
            FILE,
            replace(PLAIN, block_sizes=BlockSizes(4096, 8192)),
            id="custom block sizes",
        ),
        pytest.param(
            {"blockSize": {"custom": {"logical": 4096}}},
            FILE,
            replace(PLAIN, block_sizes=BlockSizes(4096, 4096)),
            id="one custom block size",
        ),
        pytest.param(
            {"blockSize": {"matchVolume": {"enabled": False}}}, FILE, PLAIN, id="block size matching disabled"
        ),
    ],
)
def test_disk_design_has_the_requested_fields(given: JsonObject, source: Source, expected: Disk) -> None:
    design = design_with(build_disk(**given), sources={"root": source}, **build_volumes("root"))
    assert (design.devices.disks, design.refusals, design.notes) == ((expected,), (), ())


def test_block_sizes_match_the_storage_if_requested() -> None:
    source = Source(
        path="/d", logical_block_size=512, physical_block_size=4096, discard_granularity=65536, direct_io=True
    )
    given = build_disk(blockSize={"matchVolume": {}})

    def find_sizes(libvirt: int) -> BlockSizes | None:
        return design_with(given, sources={"root": source}, host=Host(libvirt=libvirt)).devices.disks[0].block_sizes

    assert [find_sizes(9_000_000), find_sizes(10_000_000)] == [BlockSizes(512, 4096), BlockSizes(512, 4096, 65536)]


def test_preallocated_disk_has_no_discard() -> None:
    source = Source(path="/d", preallocated=True, direct_io=True)
    expected = replace(PLAIN, source=source, cache="none", io="native", discard=False)
    assert design_with(build_disk(), sources={"root": source}, **build_volumes("root")).devices.disks == (expected,)


def test_cdrom_without_a_volume_is_an_empty_drive() -> None:
    design = design_with(build_disk(cdrom={}))
    assert (design.devices.disks, design.refusals) == ((replace(CDROM, source=None, cache=None),), ())


def test_disk_targets_are_named_in_order_with_a_separate_series_for_virtio() -> None:
    buses = ("virtio", "sata", "scsi", "virtio", "usb", "scsi")
    disks = [{"name": f"d{index}", "disk": {"bus": bus}} for index, bus in enumerate(buses)]
    names = [f"d{index}" for index in range(len(buses))]
    design = design_with({"disks": disks}, sources=dict.fromkeys(names, FILE), **build_volumes(*names))
    assert [(drive.target, drive.address) for drive in design.devices.disks] == [
        ("vda", None),
        ("sda", None),
        ("sdb", DriveAddress(unit=1)),
        ("vdb", None),
        ("sdc", None),
        ("sdd", DriveAddress(unit=3)),
    ]


def test_hotpluggable_disks_are_placed_after_other_disks() -> None:
    disks = [{"name": name, "disk": {"bus": "scsi"}} for name in ("data", "root")]
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data", "hotpluggable": True}},
        {"name": "root", "containerDisk": {"image": "demo"}},
    ]
    design = design_with({"disks": disks}, sources={"data": FILE, "root": FILE}, volumes=volumes)
    assert [(disk.name, disk.target) for disk in design.devices.disks] == [("root", "sda"), ("data", "sdb")]


def test_virtio_disks_have_a_queue_per_vcpu_with_multi_queue() -> None:
    disks = [{"name": "a", "disk": {"bus": "virtio"}}, {"name": "b", "disk": {"bus": "sata"}}]
    design = design_with({"disks": disks, "blockMultiQueue": True}, domain={"cpu": {"sockets": 2, "cores": 3}})
    assert [drive.queues for drive in design.devices.disks] == [6, None]


@pytest.mark.parametrize(
    ("architecture", "given", "bus"),
    [
        ("amd64", {"disk": {}}, "sata"),
        ("amd64", {"cdrom": {}}, "sata"),
        ("amd64", {"lun": {}}, "scsi"),
        ("arm64", {"disk": {}}, "virtio"),
        ("arm64", {"cdrom": {}}, "scsi"),
        ("s390x", {"disk": {}}, "virtio"),
        ("s390x", {"lun": {}}, "scsi"),
    ],
)
def test_default_bus_of_a_disk_depends_on_the_architecture(architecture: str, given: JsonObject, bus: str) -> None:
    assert design_with(build_disk(**given), architecture=architecture).devices.disks[0].bus == bus


@pytest.mark.parametrize(
    ("given", "source", "field", "reason"),
    [
        pytest.param(
            {"disk": {}, "cache": "none"},
            FILE,
            "disks[0].cache",
            "the storage of the volume 'root' has no direct I/O: use writethrough",
            id="cache none without O_DIRECT",
        ),
        pytest.param(
            {"disk": {}, "shareable": True},
            FILE,
            "disks[0].shareable",
            "the storage of the volume 'root' has no direct I/O: a shared disk needs it",
            id="shared",
        ),
        pytest.param(
            {"disk": {}, "io": "native"},
            FILE,
            "disks[0].io",
            "io native requires cache none: set cache to none, or remove io",
            id="native",
        ),
        pytest.param(
            {"lun": {}},
            FILE,
            "disks[0].lun",
            "the volume 'root' is a file, and a LUN needs a block device",
            id="LUN on a file",
        ),
        pytest.param(
            {"lun": {"bus": "sata"}},
            BLOCK,
            "disks[0].lun.bus",
            "a LUN cannot use the bus sata: use scsi or virtio",
            id="LUN on SATA",
        ),
        pytest.param(
            {"lun": {}, "serial": "a1"},
            BLOCK,
            "disks[0].serial",
            "is not supported for LUNs, which have the serial number of their storage",
            id="serial number of a LUN",
        ),
        pytest.param(
            {"lun": {"reservation": True}},
            BLOCK,
            "disks[0].lun.reservation",
            "no SCSI reservation helper is running on this host",
            id="reservations",
        ),
        pytest.param(
            {"disk": {"bus": "sata", "readonly": True}},
            FILE,
            "disks[0].disk.bus",
            "a sata disk cannot be write-protected: use virtio or scsi",
            id="a write-protected sata disk",
        ),
        pytest.param(
            {"disk": {"bus": "sata"}},
            replace(FILE, read_only=True),
            "disks[0].disk.bus",
            "a sata disk cannot be write-protected: use virtio or scsi",
            id="a sata disk on a write-protected volume",
        ),
        pytest.param(
            {"disk": {"bus": "usb"}, "dedicatedIOThread": True},
            FILE,
            "disks[0].dedicatedIOThread",
            "I/O threads are not supported on the bus usb: use virtio",
            id="I/O thread for USB",
        ),
        pytest.param(
            {"disk": {}, "changedBlockTracking": True},
            FILE,
            "disks[0].changedBlockTracking",
            "changed block tracking is not supported on this host",
            id="changed block tracking",
        ),
        pytest.param(
            {"disk": {}, "blockSize": {"custom": {"logical": 512, "physical": 512, "discardGranularity": 4096}}},
            FILE,
            "disks[0].blockSize.custom.discardGranularity",
            "needs libvirt 10",
            id="discard granularity",
        ),
    ],
)
def test_unsupported_disk_field_is_refused(given: JsonObject, source: Source, field: str, reason: str) -> None:
    design = design_with(build_disk(**given), sources={"root": source}, **build_volumes("root"))
    assert list_refusals(design) == {field: reason}


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        pytest.param({}, "disks[0].name", "there is no volume 'root'", id="no volume"),
        pytest.param(
            build_volumes("root"), "spec.volumes[0]", "there is no image for the volume 'root'", id="no image"
        ),
        pytest.param(
            {"volumes": [{"name": "root", "downwardMetrics": {}}]},
            "spec.volumes[0].downwardMetrics",
            "downward metrics are not supported on this host",
            id="metrics",
        ),
        pytest.param(
            {"volumes": [{"name": "root", "memoryDump": {"claimName": "c"}}]},
            "spec.volumes[0].memoryDump",
            "memory dumps are not supported on this host",
            id="memory dump",
        ),
        pytest.param(
            {"volumes": [{"name": "root", "containerPath": {"path": "/x"}}]},
            "spec.volumes[0].containerPath",
            "a directory cannot be a disk",
            id="shared directory",
        ),
    ],
)
def test_disk_without_a_source_is_refused(spec: dict[str, Any], field: str, reason: str) -> None:
    assert list_refusals(design_with(build_disk(disk={}), **spec)) == {field: reason}


def test_scsi_reservations_use_the_helper_of_the_host() -> None:
    host = Host(reservations="/run/helper.sock")
    design = design_with(
        build_disk(lun={"reservation": True}), host=host, sources={"root": BLOCK}, **build_volumes("root")
    )
    assert (design.devices.disks, design.refusals) == ((replace(LUN, reservations="/run/helper.sock"),), ())
