"""
POSIX ACLs of files and directories: grant a user or a group access without changing the owner.

Permissions are read (4), write (2) and search (1), as in file modes.
"""

import contextlib
import errno
import os
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ATTRIBUTE: Final = "system.posix_acl_access"
_VERSION: Final = struct.pack("<I", 2)
_ENTRY: Final = struct.Struct("<HHI")
_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_MASKED: Final = (_USER, _GROUP_OBJ, _GROUP)
_NO_ID: Final = 0xFFFFFFFF
_SEARCH: Final = 1
_ALL: Final = 7
Entries = Mapping[tuple[int, int], int]
"""Permissions of ACL entries, by tag and ID."""


def grant_search(directory: Path, group: int) -> None:
    """Grant a group search permission on a directory, without permission to list it."""
    _write(directory, add_search(_read(directory), group))


def grant(handle: int, user: int, permissions: int) -> None:
    """Grant a user permissions on an open file; raise OSError if the file system has no ACLs."""
    _write(handle, {**_read(handle), (_USER, user): permissions})


def revoke(handle: int, user: int) -> None:
    """Remove a user's entry from the ACL of an open file."""
    with contextlib.suppress(OSError):  # no ACLs on this file system
        entries = dict(_read(handle))
        if entries.pop((_USER, user), None) is not None:
            _write(handle, entries)


def add_search(entries: Entries, group: int) -> Entries:
    """Return the entries with search permission for the group; no other user or group gets additional permissions."""
    mask = entries.get((_MASK, _NO_ID), _ALL)
    added = {
        (tag, one): permissions & mask if tag in _MASKED else permissions
        for (tag, one), permissions in entries.items()
        if tag != _MASK
    }
    added[_GROUP, group] = added.get((_GROUP, group), 0) | _SEARCH
    return added


def parse_acl(text: bytes) -> Entries:
    """Parse the kernel's binary form of an ACL."""
    return {(tag, one): permissions for tag, permissions, one in _ENTRY.iter_unpack(text[len(_VERSION) :])}


def format_acl(entries: Entries) -> bytes:
    """Format an ACL for the kernel: sorted, with the mask that its entries need."""
    mask = 0
    for (tag, _), permissions in entries.items():
        mask |= permissions if tag in _MASKED else 0
    complete = {**entries, (_MASK, _NO_ID): mask}
    return _VERSION + b"".join(_ENTRY.pack(tag, complete[tag, one], one) for tag, one in sorted(complete))


def _read(file: int | Path) -> Entries:
    """Return the ACL of a file; for a file without an ACL, return the three entries that correspond to its mode."""
    try:
        return parse_acl(os.getxattr(file, _ATTRIBUTE))
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
    mode = stat.S_IMODE((os.fstat(file) if isinstance(file, int) else file.stat()).st_mode)
    kinds = ((_USER_OBJ, mode >> 6), (_GROUP_OBJ, mode >> 3), (_OTHER, mode))
    return {(tag, _NO_ID): bits & _ALL for tag, bits in kinds}


def _write(file: int | Path, entries: Entries) -> None:
    os.setxattr(file, _ATTRIBUTE, format_acl(entries))
