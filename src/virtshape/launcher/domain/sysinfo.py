"""SMBIOS tables of a domain: structs and their XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add


class Entry(Struct, frozen=True):
    """One line of a table."""

    name: str
    value: str


class SysInfo(Struct, frozen=True, kw_only=True):
    """The tables that a domain fills in itself."""

    system: tuple[Entry, ...] = ()
    chassis: tuple[Entry, ...] = ()


def render_sysinfo(domain: Element, sysinfo: SysInfo) -> None:
    """Append the element `sysinfo`."""
    element = add(domain, "sysinfo", {"type": "smbios"})
    for tag, entries in (("system", sysinfo.system), ("chassis", sysinfo.chassis)):
        if entries:
            table = add(element, tag)
            for entry in entries:
                add(table, "entry", {"name": entry.name}, text=entry.value)
