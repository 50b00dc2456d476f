"""Validate launch security: one technology, supported by the architecture, and compatible with other fields."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import list_members
from virtshape.admission.rules.firmware import has_smm
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import EFI, LaunchSecurity
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

_FORBIDDEN: Final = "FieldValueForbidden"
_RULE: Final = "impossible-combination"
_TECHNOLOGIES: Final = list_members(LaunchSecurity)
_SECURE_EXECUTION: Final = "s390x"


def check_launch_security(
    spec: VirtualMachineInstanceSpec, security: LaunchSecurity, root: str
) -> Iterator[FieldError]:
    """Check the launch security of an expanded guest; `root` is the field path of the guest's spec."""
    field = f"{root}.domain.launchSecurity"
    architecture = spec.architecture or DEFAULT_ARCHITECTURE
    chosen = _TECHNOLOGIES.list_present(security)
    if architecture != DEFAULT_ARCHITECTURE:
        if chosen or architecture != _SECURE_EXECUTION:
            name = ", ".join(chosen).upper() or "launchSecurity"
            yield FieldError(
                field, f"{name} is only available on {DEFAULT_ARCHITECTURE}, not on {architecture}", rule=_RULE
            )
    elif len(chosen) != 1:
        reason = f"it has {' and '.join(chosen)}" if chosen else f"add {' or '.join(_TECHNOLOGIES.names)}"
        message = f"One and only one launchSecurity type can be set: {reason}"
        yield FieldError(field, message, _FORBIDDEN, rule="one-of")
    else:
        yield from _check_combinations(spec, security, chosen[0].upper(), field)


def _check_combinations(
    spec: VirtualMachineInstanceSpec, security: LaunchSecurity, name: str, field: str
) -> Iterator[FieldError]:
    domain = spec.domain
    if security.tdx is not None and has_smm(domain.features):
        yield FieldError(field, "TDX does not work along with SMM: remove features.smm", rule=_RULE)
    loader = domain.firmware.bootloader if domain.firmware is not None else None
    if loader is None or loader.efi is None:
        yield FieldError(field, f"{name} requires OVMF (UEFI): set firmware.bootloader.efi", rule=_RULE)
    else:
        yield from _check_efi(loader.efi, security, name, field)
    if security.sev is not None and security.sev.attestation is not None and spec.start_strategy != "Paused":
        yield FieldError(field, "SEV attestation requires VMI StartStrategy 'Paused'", rule=_RULE)
    for interface in domain.devices.interfaces or ():
        if interface.boot_order is not None:
            message = f"{name} does not work with bootable NICs: {interface.name}; remove its bootOrder"
            yield FieldError(field, message, rule=_RULE)


def _check_efi(efi: EFI, security: LaunchSecurity, name: str, field: str) -> Iterator[FieldError]:
    if security.tdx is None and efi.secure_boot is not False:
        yield FieldError(field, f"{name} does not work along with SecureBoot: set efi.secureBoot to false", rule=_RULE)
    if security.sev is None and efi.persistent:
        yield FieldError(
            field, f"{name} does not work along with Persistent EFI variables: remove efi.persistent", rule=_RULE
        )
