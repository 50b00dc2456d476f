"""What disks and filesystems may say, and what is behind them."""

import pytest
from tests.build import Tree
from tests.unit.admission.rules.guests import VOLUMES, D, Told, devices, disk, expect, guest, volume

from virtshape.admission.rules.instance import check_guest

DISK = f"{D}.devices.disks[0]"
VOLUME = "spec.volumes[0]"

BROKEN: dict[str, tuple[Tree, Told]] = {
    "a disk without its volume": (devices(disks=[{"name": "a"}]), [(f"{DISK}.name", "ame 'a' not found")]),
    "a filesystem without its volume": (
        devices(filesystems=[{"name": "a", "virtiofs": {}}]),
        [(f"{D}.devices.filesystems[0].name", "ame 'a' not found")],
    ),
    "two disks of a name": (
        {"volumes": VOLUMES, **devices(disks=[{"name": "root"}, {"name": "root"}])},
        [(f"{D}.devices.disks[1].name", "must not have the same Name")],
    ),
    "two volumes of a name": (
        guest(volumes=[*VOLUMES, *VOLUMES]),
        [("spec.volumes[1].name", "must not have the same Name")],
    ),
    "a volume of nothing": (volume(), [(VOLUME, "must have exactly one source type set")]),
    "a volume of two things": (
        volume(containerDisk={"image": "i"}, emptyDisk={"capacity": "1Gi"}),
        [(f"{VOLUME}.emptyDisk", "must have exactly one source type set")],
    ),
    "a disk of two sorts": (disk(disk={}, lun={}), [(f"{DISK}.lun", "can only have a single target type defined")]),
    "a bus that is none": (disk(disk={"bus": "ide"}), [(f"{DISK}.disk.bus", '"ide" is not supported')]),
    "a cache that is none": (disk(cache="some"), [(f"{DISK}.cache", '"some" is not supported')]),
    "an io mode that is none": (disk(io="fast"), [(f"{DISK}.io", '"fast" is not supported')]),
    "an error policy that is none": (disk(errorPolicy="cry"), [(f"{DISK}.errorPolicy", '"cry" is not supported')]),
    "a CD-ROM on virtio": (
        disk(cdrom={"bus": "virtio"}),
        [(f"{DISK}.cdrom.bus", "Bus type virtio is invalid for CD-ROM device")],
    ),
    "a disk on sata to read only": (
        disk(disk={"bus": "sata", "readonly": True}),
        [(f"{DISK}.disk.readonly", "sata disks must not be readonly")],
    ),
    "a PCI address on sata": (
        disk(disk={"bus": "sata", "pciAddress": "0000:81:01.0"}),
        [(f"{DISK}.disk.pciAddress", "is only allowed with disk bus 'virtio")],
    ),
    "a PCI address that is none": (
        disk(disk={"bus": "virtio", "pciAddress": "81"}),
        [(f"{DISK}.disk.pciAddress", "disk has malformed PCI address (81)")],
    ),
    "a thread for a disk on sata": (
        disk(dedicatedIOThread=True, disk={"bus": "sata"}),
        [(f"{DISK}.disk.bus", "IOThreads are not supported for disks on a sata bus")],
    ),
    "a reservation without scsi": (
        disk({"persistentVolumeClaim": {"claimName": "c"}}, lun={"reservation": True}),
        [(f"{DISK}.lun.reservation", "is only supported with scsi bus")],
    ),
    "a reservation of a container disk": (
        disk(lun={"bus": "scsi", "reservation": True}),
        [(f"{DISK}.lun.reservation", "needs a persistentVolumeClaim or dataVolume as its volume")],
    ),
    "a serial too long": (
        disk(serial="a" * 257),
        [(f"{DISK}.serial", "must be less than or equal to 256 in length, if specified")],
    ),
    "a serial with blanks": (
        disk(serial="a b"),
        [(f"{DISK}.serial", "must be made up of the following characters [A-Za-z0-9_.+-], if specified")],
    ),
    "a shared disk with a cache": (
        disk(shareable=True, cache="writeback"),
        [(f"{DISK}.cache", "a sharable disk requires cache = none, found")],
    ),
    "blocks that are no power of 2": (
        disk(blockSize={"custom": {"logical": 1000, "physical": 4096}}),
        [
            (
                f"{DISK}.blockSize.custom.logical",
                "Provided size of 1000 is not supported. It must be a power of 2 between 512 and 2Mi",
            )
        ],
    ),
    "blocks within smaller blocks": (
        disk(blockSize={"custom": {"logical": 4096, "physical": 512}}),
        [
            (
                f"{DISK}.blockSize.custom.logical",
                "Logical size 4096 must be the same or less than the physical size of 512",
            )
        ],
    ),
    "blocks of two sorts": (
        disk(blockSize={"matchVolume": {}, "custom": {"logical": 512, "physical": 512}}),
        [(f"{DISK}.blockSize.custom", "Block size matching can't be enabled together with a custom value")],
    ),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_told_at_its_field(tree: Tree, told: Told) -> None:
    expect(check_guest, tree, told)
