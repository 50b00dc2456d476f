"""Firmware: preferred values for BIOS, EFI and Secure Boot if the VM leaves them unset."""

from virtshape.api.instancetype.preference import FirmwarePreferences
from virtshape.api.kubevirt.domain import BIOS, EFI, Bootloader, DomainSpec, Firmware


def apply_firmware_preferences(domain: DomainSpec, preferred: FirmwarePreferences) -> None:
    """Fill in the preferred firmware fields that the VM leaves unset; a VM never gets both EFI and BIOS."""
    firmware = domain.firmware = domain.firmware or Firmware()
    bootloader = firmware.bootloader = firmware.bootloader or Bootloader()
    _apply_bios(bootloader, preferred)
    _apply_efi(bootloader, preferred)


def _apply_bios(bootloader: Bootloader, preferred: FirmwarePreferences) -> None:
    if preferred.preferred_use_bios and bootloader.bios is None and bootloader.efi is None:
        bootloader.bios = BIOS()
    if bootloader.bios is not None and bootloader.bios.use_serial is None:
        bootloader.bios.use_serial = preferred.preferred_use_bios_serial


def _apply_efi(bootloader: Bootloader, preferred: FirmwarePreferences) -> None:
    if bootloader.bios is None and bootloader.efi is None:
        if preferred.preferred_efi is not None:
            bootloader.efi = preferred.preferred_efi
            return  # preferredEfi overrides the deprecated fields
        if preferred.preferred_use_efi:
            bootloader.efi = EFI()
    if bootloader.efi is not None and bootloader.efi.secure_boot is None:
        bootloader.efi.secure_boot = preferred.preferred_use_secure_boot
