"""SMBIOS tables of a domain: structs and their XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add


class Entry(Struct, frozen=True):
    """An entry of an SMBIOS table."""

    name: str
    value: str


class SysInfo(Struct, frozen=True, kw_only=True):
    """SMBIOS tables of a domain."""

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
