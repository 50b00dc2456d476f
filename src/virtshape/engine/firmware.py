"""
Firmware: BIOS or EFI, with or without Secure Boot, as a preference asks and the VM does not say.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.preference import FirmwarePreferences
from virtshape.api.kubevirt.domain import BIOS, EFI, Bootloader, Firmware
from virtshape.engine.draft import Draft


def apply_firmware_preferences(draft: Draft, preferred: FirmwarePreferences) -> None:
    """Fill in what the VM leaves open; a BIOS is never joined by an EFI, nor the other way round."""
    domain = draft.spec.domain
    if domain.firmware is None:
        draft.put(domain, "firmware", Firmware())
    firmware = domain.firmware
    assert firmware is not None
    if firmware.bootloader is None:
        draft.put(firmware, "bootloader", Bootloader())
    bootloader = firmware.bootloader
    assert bootloader is not None
    _apply_bios(draft, bootloader, preferred)
    _apply_efi(draft, bootloader, preferred)


def _apply_bios(draft: Draft, bootloader: Bootloader, preferred: FirmwarePreferences) -> None:
    if preferred.preferred_use_bios and bootloader.bios is None and bootloader.efi is None:
        draft.put(bootloader, "bios", BIOS())
    if preferred.preferred_use_bios_serial is not None and bootloader.bios is not None:
        draft.offer(bootloader.bios, "use_serial", preferred.preferred_use_bios_serial)


def _apply_efi(draft: Draft, bootloader: Bootloader, preferred: FirmwarePreferences) -> None:
    if bootloader.bios is None and bootloader.efi is None:
        if preferred.preferred_efi is not None:
            draft.put(bootloader, "efi", preferred.preferred_efi)
            return  # the deprecated fields have no say beside it
        if preferred.preferred_use_efi:
            draft.put(bootloader, "efi", EFI())
    if bootloader.efi is not None:
        draft.offer(bootloader.efi, "secure_boot", preferred.preferred_use_secure_boot)
