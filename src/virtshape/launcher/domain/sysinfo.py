"""
What a guest reads about its hardware in the SMBIOS tables.

Structs only.
"""

from msgspec import Struct


class Entry(Struct, frozen=True):
    """One line of a table."""

    name: str
    value: str


class SysInfo(Struct, frozen=True, kw_only=True):
    """The tables that a domain fills in itself."""

    system: tuple[Entry, ...] = ()
    chassis: tuple[Entry, ...] = ()
