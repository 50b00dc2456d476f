"""
Find preferences with impossible values: every VM that gets such a value from the preference is rejected.

KubeVirt accepts such preferences, so admission only warns about them. The preference is applied to a guest that has one
device of each kind. The rules for guests check the result, and guest fields in errors are translated to preference
fields.
"""

import re
from collections.abc import Iterator
from typing import Final

from virtshape.admission.checkresult import IMPOSSIBLE
from virtshape.admission.rules.clusterconfiguration import check_configured
from virtshape.admission.rules.names import is_subdomain
from virtshape.admission.rules.vmi import ARCHITECTURES, check_guest
from virtshape.api.codec import from_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import FirmwarePreferences, VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.validation.names import check_qualified_name
from virtshape.engine.apply import apply_preference
from virtshape.engine.draft import Draft

_ROOT: Final = "spec"
_GUEST: Final[JsonObject] = {
    "domain": {
        "cpu": {"sockets": 1, "cores": 1, "threads": 1},
        "memory": {"guest": "1Gi"},
        "devices": {
            "disks": [{"name": "disk", "disk": {}}, {"name": "cdrom", "cdrom": {}}, {"name": "lun", "lun": {}}],
            "interfaces": [{"name": "default"}],
        },
    },
    "networks": [{"name": "default", "pod": {}}],
    "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("disk", "cdrom", "lun")],
}
_FIELDS: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"^spec\.domain\.devices\.disks\[0\]\.disk\.bus", "spec.devices.preferredDiskBus"),
        (r"^spec\.domain\.devices\.disks\[0\]\.cache", "spec.devices.preferredDiskCache"),
        (r"^spec\.domain\.devices\.disks\[0\]\.io", "spec.devices.preferredDiskIO"),
        (r"^spec\.domain\.devices\.disks\[0\]\.blockSize", "spec.devices.preferredDiskBlockSize"),
        (r"^spec\.domain\.devices\.disks\[1\]\.cdrom\.bus", "spec.devices.preferredCdromBus"),
        (r"^spec\.domain\.devices\.disks\[2\]\.lun\.bus", "spec.devices.preferredLunBus"),
        (r"^spec\.domain\.devices\.interfaces\[0\]\.model", "spec.devices.preferredInterfaceModel"),
        (r"^spec\.domain\.devices\.inputs\[0\]\.bus", "spec.devices.preferredInputBus"),
        (r"^spec\.domain\.devices\.inputs\[0\]\.type", "spec.devices.preferredInputType"),
        (r"^spec\.domain\.devices\.sound(\.model)?", "spec.devices.preferredSoundModel"),
        (r"^spec\.domain\.devices\.video(\.type)?", "spec.devices.preferredVideoType"),
        (r"^spec\.domain\.devices\.panicDevices(\[0\]\.model)?", "spec.devices.preferredPanicDeviceModel"),
        (r"^spec\.domain\.cpu\.features", "spec.cpu.preferredCPUFeatures"),
        (r"^spec\.domain\.features\.hyperv", "spec.features.preferredHyperv"),
        (r"^spec\.domain\.firmware\.bootloader\.bios", "spec.firmware.preferredUseBios"),
        (r"^spec\.domain\.firmware\.bootloader\.efi", "spec.firmware.preferredEfi"),
        (r"^spec\.domain\.launchSecurity", "spec.preferredLaunchSecurity"),
        (r"^spec\.domain\.machine\.type", "spec.machine.preferredMachineType"),
        (r"^spec\.domain\.clock\.timer", "spec.clock.preferredTimer"),
        (r"^spec\.domain\.clock", "spec.clock.preferredClockOffset"),
        (r"^spec\.architecture", "spec.preferredArchitecture"),
        (r"^spec\.subdomain", "spec.preferredSubdomain"),
        (r"^spec\.terminationGracePeriodSeconds", "spec.preferredTerminationGracePeriodSeconds"),
    )
)
"""Patterns for guest fields, each with the preference field that sets the guest field."""


def check_possible(
    preference: VirtualMachinePreferenceSpec, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    """Yield an error for each value or combination in the preference that no guest can have or that has no effect."""
    found = [*_check_guests(preference, configuration), *_check_firmware(preference), *_check_others(preference)]
    for field, message in dict.fromkeys(found):
        yield FieldError(field, message, rule=IMPOSSIBLE)


def _check_guests(
    preference: VirtualMachinePreferenceSpec, configuration: KubeVirtConfiguration | None
) -> Iterator[tuple[str, str]]:
    """Yield the field and message of each violation if the preference is impossible on all architectures it allows."""
    required = _required_architecture(preference)
    stated = preference.preferred_architecture or (required if required in ARCHITECTURES else "")
    by_architecture = [
        list(_check_guest(preference, architecture, configuration))
        for architecture in ([stated] if stated else ARCHITECTURES)
    ]
    if all(by_architecture):
        for error in by_architecture[0]:
            field = _translate(error.field, preference)
            yield field, f"{field}: VMs that leave this to the preference are rejected: {error.message}"


def _check_guest(
    preference: VirtualMachinePreferenceSpec, architecture: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    guest = from_tree(_build_guest(preference, architecture), VirtualMachineInstanceSpec)
    apply_preference(Draft(ObjectMeta(), guest), preference)
    yield from check_guest(guest, _ROOT)
    yield from check_configured(guest, _ROOT, configuration)


def _build_guest(preference: VirtualMachinePreferenceSpec, architecture: str) -> JsonObject:
    """Return a guest with the devices and settings that the preference depends on but cannot add."""
    preferred, domain = preference.devices, _GUEST["domain"]
    devices = dict(domain["devices"])
    if preferred is not None and (preferred.preferred_input_bus or preferred.preferred_input_type):
        devices["inputs"] = [{"name": "input", "type": "" if preferred.preferred_input_type else "tablet"}]
    if preferred is not None and preferred.preferred_sound_model:
        devices["sound"] = {"name": "sound"}
    guest = {**_GUEST, "architecture": architecture, "domain": {**domain, "devices": devices}}
    if preference.preferred_launch_security is not None:
        guest["startStrategy"] = "Paused"
        if preference.firmware is None:
            guest["domain"]["firmware"] = {"bootloader": {"efi": {"secureBoot": False}}}
    return guest


def _translate(field: str, preference: VirtualMachinePreferenceSpec) -> str:
    """Return the preference field that sets a guest field, or `spec` if no single field sets it."""
    translated = next(
        (pattern.sub(replacement, field, 1) for pattern, replacement in _FIELDS if pattern.match(field)), _ROOT
    )
    firmware = preference.firmware
    if translated.startswith("spec.firmware.preferredEfi") and firmware is not None and firmware.preferred_efi is None:
        return (
            "spec.firmware.preferredUseSecureBoot"
            if firmware.preferred_use_secure_boot
            else ("spec.firmware.preferredUseEfi")
        )
    return translated


def _check_firmware(preference: VirtualMachinePreferenceSpec) -> Iterator[tuple[str, str]]:
    """Yield the field and a message for each firmware preference that is never applied."""
    firmware = preference.firmware or FirmwarePreferences()
    at = "spec.firmware"
    if firmware.preferred_use_bios_serial and not firmware.preferred_use_bios:
        field = f"{at}.preferredUseBiosSerial"
        yield field, f"{field} has no effect without a BIOS: add preferredUseBios: true"
    has_efi = firmware.preferred_efi is not None or firmware.preferred_use_efi
    if firmware.preferred_use_secure_boot and not has_efi:
        field = f"{at}.preferredUseSecureBoot"
        yield (
            field,
            f"{field} has no effect without EFI: use preferredEfi: {{}} and features.preferredSmm: {{}} instead",
        )
    if firmware.preferred_use_bios and has_efi:
        field = f"{at}.preferredUseBios"
        yield field, f"{field} overrides EFI, so the EFI settings have no effect: keep one of them"


def _check_others(preference: VirtualMachinePreferenceSpec) -> Iterator[tuple[str, str]]:
    """Check architecture, storage class and annotations; yield the field and a message for each problem."""
    required = _required_architecture(preference)
    if required and required not in ARCHITECTURES:
        field = "spec.requirements.architecture"
        yield (
            field,
            f"{field} is {required}, which is not a supported architecture: use one of {', '.join(ARCHITECTURES)}",
        )
    elif required and preference.preferred_architecture not in (None, "", required):
        field = "spec.preferredArchitecture"
        yield (
            field,
            f"{field} {preference.preferred_architecture} contradicts spec.requirements.architecture {required}",
        )
    storage_class = preference.volumes.preferred_storage_class_name if preference.volumes else None
    if storage_class and not is_subdomain(storage_class):
        field = "spec.volumes.preferredStorageClassName"
        yield field, f"{field} {storage_class!r} cannot be the name of a storage class"
    for key in preference.annotations or ():
        for problem in check_qualified_name(key.lower()):
            yield "spec.annotations", f"spec.annotations: {key!r} cannot be the key of an annotation: {problem}"


def _required_architecture(preference: VirtualMachinePreferenceSpec) -> str:
    return (preference.requirements.architecture if preference.requirements else None) or ""
