"""Changes to common fields of a preference, such as buses, models, firmware, machine type and topology."""

from typing import Final, NamedTuple

from virtshape.api.instancetype.preference import (
    ClockOffset,
    ClockPreferences,
    CPUPreferences,
    DevicePreferences,
    FeaturePreferences,
    FirmwarePreferences,
    MachinePreferences,
    VirtualMachinePreferenceSpec,
    VolumePreferences,
)
from virtshape.api.kubevirt.domain import EFI
from virtshape.api.kubevirt.features import ClockOffsetUTC, FeatureState
from virtshape.api.model import Model

BIOS: Final = "bios"
SECURE_BOOT: Final = "secure-boot"
FIRMWARE: Final = (BIOS, "efi", SECURE_BOOT)


class PreferenceChanges(NamedTuple):
    """New values for a preference; None leaves the old value unchanged, and an empty string removes it."""

    disk_bus: str | None = None
    cdrom_bus: str | None = None
    interface_model: str | None = None
    firmware: str | None = None
    """Firmware: `bios`, `efi` (without secure boot) or `secure-boot`."""
    machine_type: str | None = None
    cpu_topology: str | None = None
    timezone: str | None = None
    """A time zone such as Europe/Oslo, or UTC."""
    storage_class: str | None = None


NO_CHANGES: Final = PreferenceChanges()


def apply_changes(spec: VirtualMachinePreferenceSpec, changes: PreferenceChanges) -> None:
    """Apply the changes to the spec of a preference, in place."""
    _set(spec, "devices", DevicePreferences, "preferred_disk_bus", changes.disk_bus)
    _set(spec, "devices", DevicePreferences, "preferred_cdrom_bus", changes.cdrom_bus)
    _set(spec, "devices", DevicePreferences, "preferred_interface_model", changes.interface_model)
    _set(spec, "machine", MachinePreferences, "preferred_machine_type", changes.machine_type)
    _set(spec, "cpu", CPUPreferences, "preferred_cpu_topology", changes.cpu_topology)
    _set(spec, "volumes", VolumePreferences, "preferred_storage_class_name", changes.storage_class)
    if changes.timezone is not None:
        spec.clock = spec.clock or ClockPreferences()
        spec.clock.preferred_clock_offset = _build_offset(changes.timezone)
    if changes.firmware is not None:
        _apply_firmware(spec, changes.firmware)


def _set(spec: VirtualMachinePreferenceSpec, section: str, kind: type[Model], field: str, value: str | None) -> None:
    if value is not None:
        part = getattr(spec, section) or kind()
        setattr(part, field, value or None)
        setattr(spec, section, part)


def _build_offset(timezone: str) -> ClockOffset | None:
    match timezone:
        case "":
            return None
        case "UTC":
            return ClockOffset(utc=ClockOffsetUTC())
        case _:
            return ClockOffset(timezone=timezone)


def _apply_firmware(spec: VirtualMachinePreferenceSpec, firmware: str) -> None:
    """
    Replace the preferred firmware, or remove it if `firmware` is empty.

    With BIOS, the preference for serial output is preserved; with EFI, `persistent` is. Secure Boot also adds SMM.
    """
    old = spec.firmware or FirmwarePreferences()
    new = FirmwarePreferences()
    if firmware == BIOS:
        new.preferred_use_bios = True
        new.preferred_use_bios_serial = old.preferred_use_bios_serial
    elif firmware:
        persistent = old.preferred_efi.persistent if old.preferred_efi else None
        new.preferred_efi = EFI(secure_boot=firmware == SECURE_BOOT, persistent=persistent)
    if firmware == SECURE_BOOT:  # Secure Boot needs system management mode
        spec.features = spec.features or FeaturePreferences()
        spec.features.preferred_smm = FeatureState()
    spec.firmware = new
