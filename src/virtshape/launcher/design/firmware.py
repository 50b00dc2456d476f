"""Design the firmware of a guest: BIOS or UEFI."""

from typing import Final

from virtshape.api.kubevirt.domain import EFI, Bootloader, LaunchSecurity
from virtshape.launcher.design.context import DesignContext, is_on
from virtshape.launcher.domain.os import Loader
from virtshape.launcher.host import Firmware

_BOOTLOADER: Final = "spec.domain.firmware.bootloader"
_EFI: Final = f"{_BOOTLOADER}.efi"


def find_efi(context: DesignContext) -> EFI | None:
    """Return the EFI settings, or None; the default on arm64 is UEFI without Secure Boot."""
    asked = context.spec.domain.firmware
    bootloader = (asked.bootloader if asked is not None else None) or Bootloader()
    if bootloader.efi is None and bootloader.bios is None and context.host.architecture == "arm64":
        return EFI(secure_boot=False)
    return bootloader.efi


def design_loader(context: DesignContext, state_directory: str | None) -> Loader | None:
    """Return the UEFI firmware that matches the settings; None for BIOS guests or if the settings are refused."""
    efi = find_efi(context)
    if efi is None:
        _check_no_efi(context)
        return None
    if context.host.architecture == "s390x":
        context.refuse(_EFI, "is not supported for s390x guests")
        return None
    secure = efi.secure_boot is not False
    if secure:
        _check_secure_boot(context)
    found = next((one for one in context.host.firmwares if one.secure_boot == secure), None)
    if found is None:
        context.refuse(_EFI, f"this host has no UEFI firmware {'with' if secure else 'without'} Secure Boot")
        return None
    return _make_loader(context, efi, found, state_directory)


def design_bios_on_serial(context: DesignContext) -> bool:
    """Return True if the BIOS prints to the serial console."""
    asked = context.spec.domain.firmware
    bios = asked.bootloader.bios if asked is not None and asked.bootloader is not None else None
    if bios is None:
        return False
    if context.host.architecture != "amd64":
        context.refuse(f"{_BOOTLOADER}.bios", f"is not supported for {context.host.architecture} guests")
    elif bios.use_serial and context.devices.autoattach_serial_console is False:
        context.refuse(f"{_BOOTLOADER}.bios.useSerial", "needs a serial console")
    else:
        return bios.use_serial is True
    return False


def _make_loader(context: DesignContext, efi: EFI, found: Firmware, state_directory: str | None) -> Loader:
    security = context.spec.domain.launch_security or LaunchSecurity()
    if security.snp is not None or security.tdx is not None:
        # The firmware of SEV-SNP and TDX guests is measured, so it cannot store variables.
        if efi.persistent:
            context.refuse(f"{_EFI}.persistent", "is not supported for SEV-SNP and TDX guests")
        return Loader(code=found.code, kind="rom")
    variables = None
    if efi.persistent and state_directory is None:
        context.refuse(f"{_EFI}.persistent", "this host has no storage for persistent firmware variables")
    elif efi.persistent:
        name = context.vmi.metadata.name
        variables = f"{state_directory}/{name}_VARS.fd"
    return Loader(code=found.code, secure=found.secure_boot, variables_template=found.variables, variables=variables)


def _check_secure_boot(context: DesignContext) -> None:
    domain = context.spec.domain
    if context.host.architecture == "amd64" and not is_on(domain.features.smm if domain.features else None):
        context.refuse(
            "spec.domain.features.smm", "is required for Secure Boot: enable it, or set efi.secureBoot to false"
        )
    if domain.launch_security is not None and domain.launch_security != LaunchSecurity():
        context.refuse(f"{_EFI}.secureBoot", "is not supported for guests with encrypted memory: set it to false")


def _check_no_efi(context: DesignContext) -> None:
    security = context.spec.domain.launch_security
    if context.host.architecture == "amd64" and security is not None and security != LaunchSecurity():
        context.refuse(_BOOTLOADER, "guests with encrypted memory need EFI: set efi")
