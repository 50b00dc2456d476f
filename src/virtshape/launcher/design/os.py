"""Design how a guest boots: firmware, kernel, ACPI tables and boot menu."""

from typing import Final

from virtshape.api.kubevirt.domain import Firmware
from virtshape.launcher.design.context import DesignContext, read_text
from virtshape.launcher.design.firmware import design_bios_on_serial, design_loader
from virtshape.launcher.design.machinetype import name_architecture
from virtshape.launcher.domain.os import AcpiTable, Kernel, Os

KERNEL_SOURCE: Final = "kernelBoot/kernel"
"""
Key of the kernel in the context's sources.

The key is not a valid volume name, so it cannot conflict with the name of a volume.
"""
INITRD_SOURCE: Final = "kernelBoot/initrd"
"""Key of the initial RAM disk in the context's sources."""

_KERNEL_BOOT: Final = "spec.domain.firmware.kernelBoot"
_ACPI: Final = "spec.domain.firmware.acpi"
_BOOT_MENU_MILLISECONDS: Final = 10_000


def design_os(context: DesignContext, machine: str, state_directory: str | None) -> Os:
    """Return the boot configuration."""
    return Os(
        architecture=name_architecture(context.host),
        machine=machine,
        loader=design_loader(context, state_directory),
        kernel=_design_kernel(context),
        acpi_tables=_design_tables(context),
        # A guest that starts paused gets a boot menu, so that the user has time to enter the firmware.
        boot_menu=_BOOT_MENU_MILLISECONDS if context.spec.start_strategy == "Paused" else None,
        bios_on_serial=design_bios_on_serial(context),
        smbios=context.host.architecture != "s390x",
    )


def find_table(context: DesignContext, field: str, volume: str | None) -> str | None:
    """Return the path of the ACPI table in a volume, or None if no volume is given or the table is missing."""
    if not volume:
        return None
    source = context.sources.get(volume)
    if source is None:
        context.refuse(f"{_ACPI}.{field}", f"the volume {volume} has no ACPI table")
        return None
    return source.path


def _design_tables(context: DesignContext) -> tuple[AcpiTable, ...]:
    acpi = (context.spec.domain.firmware or Firmware()).acpi
    path = find_table(context, "slicNameRef", acpi.slic_name_ref) if acpi is not None else None
    return (AcpiTable("slic", path),) if path is not None else ()


def _design_kernel(context: DesignContext) -> Kernel | None:
    boot = (context.spec.domain.firmware or Firmware()).kernel_boot
    if boot is None:
        return None
    container = boot.container
    kernel = _find_file(context, "kernelPath", container.kernel_path if container else None, KERNEL_SOURCE)
    initrd = _find_file(context, "initrdPath", container.initrd_path if container else None, INITRD_SOURCE)
    if boot.kernel_args and not (container and container.kernel_path):
        context.refuse(f"{_KERNEL_BOOT}.kernelArgs", "needs a kernel: set container.kernelPath")
    arguments = read_text(context, f"{_KERNEL_BOOT}.kernelArgs", boot.kernel_args)
    kept = Kernel(path=kernel, initrd=initrd, arguments=arguments or None)
    return kept if kept != Kernel() else None


def _find_file(context: DesignContext, field: str, path: str | None, name: str) -> str | None:
    if not path:
        return None
    source = context.sources.get(name)
    if source is None:
        context.refuse(f"{_KERNEL_BOOT}.container.{field}", f"the image has no file {path}")
        return None
    return source.path
