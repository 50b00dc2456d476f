"""
How a domain boots, as XML, and what it shows about its hardware.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.os import Kernel, Loader, Os
from virtshape.launcher.domain.sysinfo import SysInfo
from virtshape.launcher.render.writing import add, yes_no


def render_os(domain: Element, os: Os) -> None:
    """Append the element `os`."""
    element = add(domain, "os")
    add(element, "type", {"arch": os.architecture, "machine": os.machine}, text="hvm")
    if os.loader is not None:
        _render_loader(element, os.loader)
    if os.kernel is not None:
        _render_kernel(element, os.kernel)
    if os.acpi_tables:
        tables = add(element, "acpi")
        for table in os.acpi_tables:
            add(tables, "table", {"type": table.kind}, text=table.path)
    if os.boot_menu is not None:
        add(element, "bootmenu", {"enable": "yes", "timeout": os.boot_menu})
    if os.bios_on_serial:
        add(element, "bios", {"useserial": "yes"})
    if os.smbios:
        add(element, "smbios", {"mode": "sysinfo"})


def render_sysinfo(domain: Element, sysinfo: SysInfo) -> None:
    """Append the element `sysinfo`."""
    element = add(domain, "sysinfo", {"type": "smbios"})
    for tag, entries in (("system", sysinfo.system), ("chassis", sysinfo.chassis)):
        if entries:
            table = add(element, tag)
            for entry in entries:
                add(table, "entry", {"name": entry.name}, text=entry.value)


def _render_loader(os: Element, loader: Loader) -> None:
    secure = yes_no(loader.secure) if loader.kind == "pflash" else None
    add(os, "loader", {"readonly": "yes", "secure": secure, "type": loader.kind}, text=loader.code)
    if loader.variables_template is not None:
        add(os, "nvram", {"template": loader.variables_template}, text=loader.variables)


def _render_kernel(os: Element, kernel: Kernel) -> None:
    for tag, text in (("kernel", kernel.path), ("initrd", kernel.initrd), ("cmdline", kernel.arguments)):
        if text is not None:
            add(os, tag, text=text)
