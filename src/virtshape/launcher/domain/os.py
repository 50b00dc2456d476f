"""
How a domain boots: machine type, firmware, kernel, boot menu.

Structs only.
"""

from typing import Literal

from msgspec import Struct


class Loader(Struct, frozen=True, kw_only=True):
    """UEFI: where its code lies, and where it keeps its variables."""

    code: str
    kind: Literal["pflash", "rom"] = "pflash"
    secure: bool = False
    """Whether only signed boot loaders start, and only System Management Mode writes the variables."""
    variables_template: str | None = None
    variables: str | None = None
    """The guest's own variables; a place that libvirt chooses when absent."""


class Kernel(Struct, frozen=True, kw_only=True):
    """A kernel that is started with no boot loader."""

    path: str | None = None
    initrd: str | None = None
    arguments: str | None = None


class AcpiTable(Struct, frozen=True):
    """A table that is handed to the guest as it is."""

    kind: Literal["slic"]
    path: str


class Os(Struct, frozen=True, kw_only=True):
    """What the guest boots on and with."""

    architecture: Literal["x86_64", "aarch64", "s390x"]
    machine: str
    loader: Loader | None = None
    kernel: Kernel | None = None
    acpi_tables: tuple[AcpiTable, ...] = ()
    boot_menu: int | None = None
    """Milliseconds that a boot menu waits for a key; there is none when absent."""
    bios_on_serial: bool = False
    """Whether the firmware's screen is also printed on the serial console."""
    smbios: bool = False
    """Whether the guest reads the domain's own system information."""
