"""
Build a disk that boots the demo guest: syslinux for BIOS, Debian's shim and GRUB for UEFI and Secure Boot.

The disk has one FAT partition, which mtools fills without mounting it. The same files always produce the same disk.
"""

import struct
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from virtshape.launcher.images.command import run

ARGUMENTS: Final = (
    "console=tty0 console=ttyS0 quiet no_timer_check tsc=reliable mitigations=off random.trust_cpu=on "
    "cryptomgr.notests usb_storage.delay_use=0 memhp_default_state=online"
)
_START: Final = 1 << 20
_SPARE: Final = 8 << 20
_SECTOR: Final = 512
_SECONDS: Final = 60.0
_MBR_CODE: Final = 440
_SERIAL: Final = "44454d4f"
_FIXED: Final = {"SOURCE_DATE_EPOCH": "1700000000"}
"""mtools and syslinux write this time instead of the current one."""

_SYSLINUX: Final = f"""\
DEFAULT demo
PROMPT 0
LABEL demo
  LINUX /vmlinuz
  INITRD /initrd
  APPEND {ARGUMENTS}
"""
_GRUB: Final = f"""\
linux /vmlinuz {ARGUMENTS}
initrd /initrd
boot
"""


class Loaders(NamedTuple):
    """Boot loader files and the programs that install them."""

    mbr: Path
    shim: Path
    grub: Path
    syslinux: Path
    mtools: Path


def build_disk(image: Path, kernel: Path, initramfs: bytes, loaders: Loaders, scratch: Path) -> None:
    """Write a bootable disk image; `scratch` is a temporary directory."""
    contents = {
        "vmlinuz": kernel.read_bytes(),
        "initrd": initramfs,
        "syslinux.cfg": _SYSLINUX.encode(),
        "EFI/BOOT/BOOTX64.EFI": loaders.shim.read_bytes(),
        "EFI/BOOT/grubx64.efi": loaders.grub.read_bytes(),
        "EFI/debian/grub.cfg": _GRUB.encode(),  # the path in Debian's signed GRUB; the next one is Ubuntu's
        "EFI/ubuntu/grub.cfg": _GRUB.encode(),
    }
    size = _START + sum(map(len, contents.values())) + _SPARE
    size += -size % (1 << 20)
    with image.open("wb") as file:
        file.write(_render_mbr(loaders.mbr.read_bytes(), size))
        file.truncate(size)
    _format(image, size, loaders.mtools, scratch)
    _copy(image, contents, loaders.mtools, scratch)
    run(
        [str(loaders.syslinux), "--install", "--offset", str(_START), str(image)],
        seconds=_SECONDS,
        variables={"PATH": f"{loaders.mtools.parent}:/usr/bin:/bin", **_FIXED},
    )


def _render_mbr(code: bytes, size: int) -> bytes:
    """Return an MBR with one active EFI system partition; BIOS boot code ignores the partition type."""
    beyond_cylinders = b"\xfe\xff\xff"
    entry = b"\x80" + beyond_cylinders + b"\xef" + beyond_cylinders
    entry += struct.pack("<II", _START // _SECTOR, (size - _START) // _SECTOR)
    return code[:_MBR_CODE].ljust(446, b"\0") + entry.ljust(64, b"\0") + b"\x55\xaa"


def _format(image: Path, size: int, mtools: Path, scratch: Path) -> None:
    sectors = (size - _START) // _SECTOR
    layout = ["-T", str(sectors), "-h", "255", "-s", "63", "-H", str(_START // _SECTOR), "-v", "DEMO", "-N", _SERIAL]
    _use(mtools, "mformat", ["-i", f"{image}@@{_START}", *layout, "::"], scratch)


def _copy(image: Path, contents: dict[str, bytes], mtools: Path, scratch: Path) -> None:
    place = f"{image}@@{_START}"
    directories = sorted({str(parent) for name in contents for parent in PurePath(name).parents} - {"."})
    _use(mtools, "mmd", ["-i", place, *(f"::/{directory}" for directory in directories)], scratch)
    for name, content in contents.items():  # one call per file, because `mcopy -s` copies in directory order
        file = scratch / "file"
        file.write_bytes(content)
        _use(mtools, "mcopy", ["-i", place, str(file), f"::/{name}"], scratch)


def _use(mtools: Path, tool: str, arguments: list[str], scratch: Path) -> None:
    run(
        [str(mtools.parent / tool), *arguments],
        seconds=_SECONDS,
        directory=scratch,
        variables={"MTOOLS_SKIP_CHECK": "1", **_FIXED},
    )
