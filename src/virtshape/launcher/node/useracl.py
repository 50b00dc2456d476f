"""POSIX ACLs of open files: grant a user access without changing the owner."""

import contextlib
import errno
import os
import stat
import struct
from collections.abc import Mapping
from typing import Final

_NAME: Final = "system.posix_acl_access"
_VERSION: Final = 2
_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NO_ID: Final = 0xFFFFFFFF
_ALL: Final = 7
Entries = Mapping[tuple[int, int], int]
"""Permissions by tag and id."""


def grant(handle: int, user: int, permissions: int) -> None:
    """Grant a user read (4), write (2) and search (1) permission; raise OSError if the file system has no ACLs."""
    entries = dict(_read(handle))
    entries[_USER, user] = permissions
    _write(handle, entries)


def revoke(handle: int, user: int) -> None:
    """Remove a user's entry."""
    with contextlib.suppress(OSError):  # no ACLs on this file system
        entries = dict(_read(handle))
        if entries.pop((_USER, user), None) is not None:
            _write(handle, entries)


def parse_acl(text: bytes) -> Entries:
    """Parse the kernel's binary form of an ACL."""
    return {(tag, one): permissions for tag, permissions, one in struct.iter_unpack("<HHI", text[4:])}


def format_acl(entries: Entries) -> bytes:
    """Format an ACL for the kernel: sorted, with the mask that its entries need."""
    named = [permissions for (tag, _), permissions in entries.items() if tag in (_USER, _GROUP_OBJ, _GROUP)]
    mask = 0
    for permissions in named:
        mask |= permissions
    complete = {**entries, (_MASK, _NO_ID): mask}
    packed = (struct.pack("<HHI", tag, complete[tag, one], one) for tag, one in sorted(complete))
    return struct.pack("<I", _VERSION) + b"".join(packed)


def _read(handle: int) -> Entries:
    try:
        return parse_acl(os.getxattr(handle, _NAME))
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    kinds = ((_USER_OBJ, mode >> 6), (_GROUP_OBJ, mode >> 3), (_OTHER, mode))
    return {(tag, _NO_ID): bits & _ALL for tag, bits in kinds}


def _write(handle: int, entries: Entries) -> None:
    os.setxattr(handle, _NAME, format_acl(entries))
