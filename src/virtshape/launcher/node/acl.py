"""POSIX ACLs of directories: grant a group search permission."""

import errno
import os
import stat
import struct
from pathlib import Path
from typing import Final, NamedTuple

_ATTRIBUTE: Final = "system.posix_acl_access"
_VERSION: Final = struct.pack("<I", 2)
_ENTRY: Final = struct.Struct("<HHI")
_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_MASKED: Final = (_USER, _GROUP_OBJ, _GROUP)
_ANY_ID: Final = 0xFFFFFFFF
_SEARCH: Final = 1


class Entry(NamedTuple):
    """An ACL entry."""

    tag: int
    permissions: int
    id: int = _ANY_ID


def grant_search(directory: Path, group: int) -> None:
    """Grant a group search permission on a directory, without permission to list it."""
    entries = add_search(_read(directory), group)
    os.setxattr(directory, _ATTRIBUTE, _VERSION + b"".join(_ENTRY.pack(*entry) for entry in entries))


def add_search(entries: list[Entry], group: int) -> list[Entry]:
    """Return the list with search permission for the group, and no more permissions than before for all others."""
    mask = next((entry.permissions for entry in entries if entry.tag == _MASK), 7)
    own = next((entry.permissions for entry in entries if entry.tag == _GROUP and entry.id == group), 0)
    others = [
        entry._replace(permissions=entry.permissions & mask) if entry.tag in _MASKED else entry
        for entry in entries
        if entry.tag != _MASK and not (entry.tag == _GROUP and entry.id == group)
    ]
    added = [*others, Entry(_GROUP, own & mask | _SEARCH, group)]
    widest = 0
    for entry in added:
        widest |= entry.permissions if entry.tag in _MASKED else 0
    return sorted([*added, Entry(_MASK, widest)], key=lambda entry: (entry.tag, entry.id))


def _read(directory: Path) -> list[Entry]:
    """Return a directory's ACL; the three entries of its mode if it has none."""
    try:
        value = os.getxattr(directory, _ATTRIBUTE)
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        mode = stat.S_IMODE(directory.stat().st_mode)
        return [Entry(_USER_OBJ, mode >> 6 & 7), Entry(_GROUP_OBJ, mode >> 3 & 7), Entry(_OTHER, mode & 7)]
    return [Entry(*fields) for fields in _ENTRY.iter_unpack(value[len(_VERSION) :])]
