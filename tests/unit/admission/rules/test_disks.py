"""Validation of disks and filesystems."""

import pytest
from tests.unit.admission.rules.guests import VOLUMES, D, Findings, assert_findings, devices, disk, guest, volume

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

DISK = f"{D}.devices.disks[0]"
VOLUME = "spec.volumes[0]"

BLOCKS = f"{DISK}.blockSize.custom"


def blocks(bus: str = "virtio", **sizes: int) -> JsonObject:
    return disk(disk={"bus": bus}, blockSize={"custom": sizes})


INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "disk without a volume": (devices(disks=[{"name": "a"}]), [(f"{DISK}.name", "ame 'a' not found")]),
    "filesystem without a volume": (
        devices(filesystems=[{"name": "a", "virtiofs": {}}]),
        [(f"{D}.devices.filesystems[0].name", "ame 'a' not found")],
    ),
    "duplicate disk name": (
        {"volumes": VOLUMES, **devices(disks=[{"name": "root"}, {"name": "root"}])},
        [(f"{D}.devices.disks[1].name", "must not have the same Name")],
    ),
    "duplicate volume name": (
        guest(volumes=[*VOLUMES, *VOLUMES]),
        [("spec.volumes[1].name", "must not have the same Name")],
    ),
    "volume without a source": (volume(), [(VOLUME, "must have exactly one source type set")]),
    "volume with two sources": (
        volume(containerDisk={"image": "i"}, emptyDisk={"capacity": "1Gi"}),
        [(f"{VOLUME}.emptyDisk", "must have exactly one source type set")],
    ),
    "disk with two targets": (
        disk({"persistentVolumeClaim": {"claimName": "c"}}, disk={}, lun={}),
        [(f"{DISK}.lun", "can only have a single target type defined")],
    ),
    "IDE bus": (disk(disk={"bus": "ide"}), [(f"{DISK}.disk.bus", "IDE bus is not supported")]),
    "unknown bus": (
        disk(disk={"bus": "virtoi"}),
        [(f"{DISK}.disk.bus", f"{DISK} is set with an unrecognized bus virtoi, must be one of")],
    ),
    "unknown cache mode": (disk(cache="some"), [(f"{DISK}.cache", f"{DISK}.cache has invalid value some")]),
    "unknown io mode": (
        disk(io="fast"),
        [(f"{DISK}.io", "is not supported. Supported modes are: native, threads")],
    ),
    "unknown error policy": (
        disk(errorPolicy="cry"),
        [(f"{DISK}.errorPolicy", f'{DISK}.errorPolicy has invalid value "cry"')],
    ),
    "CD-ROM on virtio": (
        disk(cdrom={"bus": "virtio"}),
        [(f"{DISK}.cdrom.bus", "Bus type virtio is invalid for CD-ROM device")],
    ),
    "read-only SATA disk": (
        disk(disk={"bus": "sata", "readonly": True}),
        [(f"{DISK}.disk.bus", "sata hard-disks do not support read-only")],
    ),
    "PCI address of a SATA disk": (
        disk(disk={"bus": "sata", "pciAddress": "0000:81:01.0"}),
        [(f"{DISK}.disk.pciAddress", "setting a PCI address is only possible with bus type virtio.")],
    ),
    "malformed PCI address": (
        disk(disk={"bus": "virtio", "pciAddress": "81"}),
        [(f"{DISK}.disk.pciAddress", f"disk {DISK}.name has malformed PCI address (81)")],
    ),
    "I/O thread for a SATA disk": (
        disk(dedicatedIOThread=True, disk={"bus": "sata"}),
        [(f"{DISK}.disk.bus", "IOThreads are not supported for disks on a sata bus")],
    ),
    "reservation without SCSI": (
        disk({"persistentVolumeClaim": {"claimName": "c"}}, lun={"bus": "sata", "reservation": True}),
        [(f"{DISK}.lun.bus", "Persistent reservation requires a SCSI bus, but sata was specified")],
    ),
    "serial too long": (
        disk(serial="a" * 257),
        [(f"{DISK}.serial", f"{DISK} must be less than or equal to 256 in length, if specified")],
    ),
    "serial with a space": (
        disk(serial="a b"),
        [(f"{DISK}.serial", f"{DISK} must be made up of the following characters [A-Za-z0-9_.+-], if specified")],
    ),
    "shareable disk with a cache": (
        disk(shareable=True, cache="writeback"),
        [(f"{DISK}.cache", "a sharable disk requires cache = none, found: writeback")],
    ),
    "block size that is not a power of 2": (
        blocks(logical=1000, physical=4096),
        [(f"{BLOCKS}.logical", "Provided size of 1000 is not a power of 2")],
    ),
    "block size too small": (
        blocks(logical=256, physical=512),
        [(f"{BLOCKS}.logical", "Provided size of 256 is less than the supported minimum size of 512")],
    ),
    "block size too large": (
        blocks(logical=512, physical=4194304),
        [(f"{BLOCKS}.physical", "Provided size of 4194304 is greater than the supported maximum size of 2097152")],
    ),
    "logical block larger than physical block": (
        blocks(logical=4096, physical=512),
        [(f"{BLOCKS}.logical", "Logical size 4096 must be the same or less than the physical size of 512")],
    ),
    "block size not supported by SATA": (
        blocks(bus="sata", logical=4096, physical=4096),
        [(f"{BLOCKS}.logical", "Logical size 4096 must be 512 for SATA devices")],
    ),
    "discard granularity smaller than a block": (
        blocks(logical=4096, physical=4096, discardGranularity=512),
        [(f"{BLOCKS}.discardGranularity", "Discard granularity 512 must be multiples of logical size 4096")],
    ),
    "matched and custom block size": (
        disk(blockSize={"matchVolume": {}, "custom": {"logical": 512, "physical": 512}}),
        [(BLOCKS, "Block size matching can't be enabled together with a custom value")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_disk_or_filesystem_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)
