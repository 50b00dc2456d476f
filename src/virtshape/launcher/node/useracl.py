"""POSIX ACLs: access for a user to a file that stays another's, in the form that Linux keeps them in."""

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
_NOBODY: Final = 0xFFFFFFFF
_ALL: Final = 7
Entries = Mapping[tuple[int, int], int]
"""Permissions by tag and id."""


def grant(handle: int, user: int, permissions: int) -> None:
    """Let a user read (4), write (2) and enter (1) an open file; OSError where the file system has no ACLs."""
    entries = dict(_read(handle))
    entries[_USER, user] = permissions
    _write(handle, entries)


def revoke(handle: int, user: int) -> None:
    """Take back what was granted to a user."""
    with contextlib.suppress(OSError):  # it has no ACLs
        entries = dict(_read(handle))
        if entries.pop((_USER, user), None) is not None:
            _write(handle, entries)


def parse_acl(text: bytes) -> Entries:
    """Read an ACL as the kernel writes it."""
    return {(tag, one): permissions for tag, permissions, one in struct.iter_unpack("<HHI", text[4:])}


def format_acl(entries: Entries) -> bytes:
    """Write an ACL as the kernel reads it: in order, with the mask that its entries need."""
    named = [permissions for (tag, _), permissions in entries.items() if tag in (_USER, _GROUP_OBJ, _GROUP)]
    mask = 0
    for permissions in named:
        mask |= permissions
    whole = {**entries, (_MASK, _NOBODY): mask}
    packed = (struct.pack("<HHI", tag, whole[tag, one], one) for tag, one in sorted(whole))
    return struct.pack("<I", _VERSION) + b"".join(packed)


def _read(handle: int) -> Entries:
    try:
        return parse_acl(os.getxattr(handle, _NAME))
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    kinds = ((_USER_OBJ, mode >> 6), (_GROUP_OBJ, mode >> 3), (_OTHER, mode))
    return {(tag, _NOBODY): bits & _ALL for tag, bits in kinds}


def _write(handle: int, entries: Entries) -> None:
    os.setxattr(handle, _NAME, format_acl(entries))
