"""Boot configuration (machine type, firmware, kernel, boot menu) and SMBIOS tables: structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.api.architecture import KernelArchitecture
from virtshape.launcher.domain.xml import add, yes_no


class Loader(Struct, frozen=True, kw_only=True):
    """UEFI firmware and its variable store."""

    code: str
    kind: Literal["pflash", "rom"] = "pflash"
    secure: bool = False
    """Whether Secure Boot is enabled; variables can then be written only in System Management Mode."""
    variables_template: str | None = None
    variables: str | None = None
    """File with the guest's variables; chosen by libvirt when None."""


class Kernel(Struct, frozen=True, kw_only=True):
    """A kernel for direct boot."""

    path: str | None = None
    initrd: str | None = None
    arguments: str | None = None


class AcpiTable(Struct, frozen=True):
    """An ACPI table that is passed to the guest."""

    kind: Literal["slic"]
    path: str


class Os(Struct, frozen=True, kw_only=True):
    """Boot configuration of the guest."""

    architecture: KernelArchitecture
    machine: str
    loader: Loader | None = None
    kernel: Kernel | None = None
    acpi_tables: tuple[AcpiTable, ...] = ()
    boot_menu: int | None = None
    """Timeout of the boot menu in milliseconds; no menu when None."""
    bios_on_serial: bool = False
    """Whether the BIOS also prints to the serial console."""
    smbios: bool = False
    """Whether the guest's SMBIOS tables show the domain's sysinfo."""


def render_os(domain: Element, os: Os) -> None:
    """Append the XML element `os`."""
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


def _render_loader(os: Element, loader: Loader) -> None:
    secure = yes_no(loader.secure) if loader.kind == "pflash" else None
    add(os, "loader", {"readonly": "yes", "secure": secure, "type": loader.kind}, text=loader.code)
    if loader.variables_template is not None:
        add(os, "nvram", {"template": loader.variables_template}, text=loader.variables)


def _render_kernel(os: Element, kernel: Kernel) -> None:
    for tag, text in (("kernel", kernel.path), ("initrd", kernel.initrd), ("cmdline", kernel.arguments)):
        if text is not None:
            add(os, tag, text=text)


class Entry(Struct, frozen=True):
    """An entry of an SMBIOS table."""

    name: str
    value: str


class SysInfo(Struct, frozen=True, kw_only=True):
    """SMBIOS tables of a domain."""

    system: tuple[Entry, ...] = ()
    chassis: tuple[Entry, ...] = ()


def render_sysinfo(domain: Element, sysinfo: SysInfo) -> None:
    """Append the XML element `sysinfo`."""
    element = add(domain, "sysinfo", {"type": "smbios"})
    for tag, entries in (("system", sysinfo.system), ("chassis", sysinfo.chassis)):
        if entries:
            table = add(element, tag)
            for entry in entries:
                add(table, "entry", {"name": entry.name}, text=entry.value)
