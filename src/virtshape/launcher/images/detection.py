"""
Detect image formats and references to other files from the first and last bytes of a file.

Detection runs before any program opens an image, so that a malicious image cannot make a program open other files.
"""

import struct
from typing import Final, NamedTuple

HEAD: Final = 1 << 16
TAIL: Final = 512

_AT_START: Final = (
    (b"QFI\xfb", "qcow2"),
    (b"KDMV", "vmdk"),
    (b"COWD", "vmdk"),
    (b"# Disk DescriptorFile", "vmdk"),
    (b"vhdxfile", "vhdx"),
    (b"conectix", "vpc"),
    (b"QED\0", "qed"),
    (b"LUKS\xba\xbe", "luks"),
    (b"WithoutFreeSpace", "parallels"),
    (b"WithouFreSpacExt", "parallels"),
    (b"\x1f\x8b", "gz"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
    (b"BZh", "bz2"),
    (b"PK\x03\x04", "zip"),
)
_VDI: Final = b"\x7f\x10\xda\xbe"

_QCOW2: Final = struct.Struct(">4xIQIIQI36xQQQII")
_QCOW2_SHORT: Final = 72
_DATA_FILE: Final = 0x44415441
_ENCRYPTION: Final = 0x0537BE77
_EXTERNAL_DATA: Final = 1 << 2
_CORRUPT: Final = 1 << 1


class Qcow2(NamedTuple):
    """The header of a qcow2 image."""

    version: int
    size: int
    backing: str | None
    encrypted: bool
    external_data: bool
    corrupt: bool


def detect_format(head: bytes, tail: bytes = b"") -> str:
    """Return the format of an image or archive; `raw` if the format is unknown."""
    for magic, name in _AT_START:
        if head.startswith(magic):
            return name
    if head[64:68] == _VDI:
        return "vdi"
    if tail[-512:].startswith(b"conectix"):
        return "vpc"
    return "dmg" if tail[-512:].startswith(b"koly") else "raw"


def parse_qcow2(head: bytes) -> Qcow2 | None:
    """Parse the header of a qcow2 image; return None if the header is truncated or has an unknown version."""
    if len(head) < _QCOW2.size:
        return None
    version, backing_at, backing_length, _, size, crypt, incompatible, _, _, _, length = _QCOW2.unpack_from(head)
    if version not in {2, 3}:
        return None
    if version == 2:
        incompatible, length = 0, _QCOW2_SHORT
    extensions = _list_extensions(head, length)
    backing = head[backing_at : backing_at + backing_length].decode(errors="replace") if backing_at else None
    return Qcow2(
        version=version,
        size=size,
        backing=backing,
        encrypted=bool(crypt) or _ENCRYPTION in extensions,
        external_data=bool(incompatible & _EXTERNAL_DATA) or _DATA_FILE in extensions,
        corrupt=bool(incompatible & _CORRUPT),
    )


def _list_extensions(head: bytes, start: int) -> set[int]:
    found: set[int] = set()
    while start + 8 <= len(head):
        kind, length = struct.unpack_from(">II", head, start)
        if kind == 0:
            break
        found.add(kind)
        start += 8 + (length + 7 & ~7)
    return found


def find_external_reference(form: str, head: bytes) -> str | None:
    """Return the reason why an image cannot be used, such as a backing file or encryption; None if it can be used."""
    if form == "qcow2":
        return _find_qcow2_reference(parse_qcow2(head))
    if form == "vmdk":
        return _find_vmdk_reference(head)
    return None


def _find_qcow2_reference(header: Qcow2 | None) -> str | None:
    if header is None:
        return "its qcow2 header is damaged or of an unknown version"
    if header.backing is not None:
        return f"it is backed by another file ({header.backing!r}); flatten it first, with `qemu-img convert`"
    if header.external_data:
        return "it keeps its data in another file; convert it to a self-contained image first"
    if header.encrypted:
        return "it is encrypted"
    if header.corrupt:
        return "it is marked as corrupt; repair it with `qemu-img check` first"
    return None


def _find_vmdk_reference(head: bytes) -> str | None:
    """Return why a VMDK needs other files; None if it is self-contained, that is, a sparse extent with a capacity."""
    if not head.startswith(b"KDMV") or struct.unpack_from("<Q", head.ljust(20, b"\0"), 12)[0] == 0:
        return "it is a VMDK that describes other files; convert it to a self-contained image first"
    if b"parentfilenamehint" in head.lower():
        return "it is a VMDK that is backed by another file; flatten it first"
    return None
