"""
Firmware: BIOS or EFI, with or without Secure Boot, as a preference asks and the VM does not say.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.preference import FirmwarePreferences
from virtshape.api.kubevirt.domain import BIOS, EFI, Bootloader, DomainSpec, Firmware


def apply_firmware_preferences(domain: DomainSpec, preferred: FirmwarePreferences) -> None:
    """Fill in what the VM leaves open; a BIOS is never joined by an EFI, nor the other way round."""
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
            return  # the deprecated fields have no say beside it
        if preferred.preferred_use_efi:
            bootloader.efi = EFI()
    if bootloader.efi is not None and bootloader.efi.secure_boot is None:
        bootloader.efi.secure_boot = preferred.preferred_use_secure_boot
