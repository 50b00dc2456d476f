"""Validate firmware: bootloader, SMM for Secure Boot, kernel boot and ACPI tables (Windows licenses)."""

from collections.abc import Iterator, Sequence

from virtshape.admission.rules.checks import check_path, check_serial, is_serial
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.domain import ACPI, Bootloader, DomainSpec, KernelBoot
from virtshape.api.kubevirt.features import Features
from virtshape.api.kubevirt.volume import Volume


def check_firmware(domain: DomainSpec, at: str) -> Iterator[FieldError]:
    """Check the boot loader, kernel boot and serial number; `at` is the field path of the domain."""
    firmware = domain.firmware
    if firmware is None:
        return
    if firmware.bootloader is not None:
        yield from _check_bootloader(firmware.bootloader, domain.features, at)
    if firmware.kernel_boot is not None:
        yield from _check_kernel(firmware.kernel_boot, f"{at}.firmware.kernelBoot")
    if firmware.serial and not is_serial(firmware.serial):
        yield from check_serial(firmware.serial, f"{at}.firmware.serial", f"{at}.firmware.serial")


def _check_bootloader(loader: Bootloader, features: Features | None, at: str) -> Iterator[FieldError]:
    if loader.efi is None:
        return
    field = f"{at}.firmware.bootloader"
    if loader.bios is not None:
        message = f"{field} has both EFI and BIOS configured, but they are mutually exclusive."
        yield FieldError(f"{field}.efi", message, rule="one-of")
    if loader.efi.secure_boot is not False and not has_smm(features):
        reason = "SecureBoot requires SMM, which is currently disabled"
        advice = f"set {at}.features.smm, or secureBoot: false"
        message = f"{at} has EFI SecureBoot enabled. {reason}: {advice}"
        yield FieldError(f"{field}.efi.secureBoot", message, rule="impossible-combination")


def has_smm(features: Features | None) -> bool:
    """Return True if System Management Mode is enabled."""
    smm = features.smm if features is not None else None
    return smm is not None and smm.enabled is not False


def _check_kernel(boot: KernelBoot, at: str) -> Iterator[FieldError]:
    container = boot.container
    if container is None:
        if boot.kernel_args:
            message = "kernel arguments cannot be provided without an external kernel: add a kernel, or remove them"
            yield FieldError(f"{at}.kernelArgs", message, rule="impossible-combination")
        return
    if not container.image:
        message = f"{at}.container must be defined with an image"
        yield FieldError(f"{at}.container.image", message, VALUE_REQUIRED, rule="invalid-value")
    if not (container.kernel_path or container.initrd_path):
        message = f"{at}.container must be defined with at least one of the following: kernelPath, initrdPath"
        yield FieldError(f"{at}.container", message, VALUE_REQUIRED, rule="one-of")
    for name, path in (("kernelPath", container.kernel_path), ("initrdPath", container.initrd_path)):
        if path:
            yield from check_path(path, f"{at}.container.{name}", f"{at}.container.{name}")


def check_acpi_tables(acpi: ACPI, volumes: Sequence[Volume], at: str) -> Iterator[FieldError]:
    """Check that the ACPI settings refer to volumes with Secrets; `at` is the field path of these settings."""
    if not acpi.slic_name_ref and not acpi.msdm_name_ref:
        message = "ACPI was set but no SLIC nor MSDM volume reference was set: add slicNameRef or msdmNameRef"
        yield FieldError(at, message, rule="one-of")
    by_name = {volume.name: volume for volume in volumes}
    for name, reference in (("slicNameRef", acpi.slic_name_ref), ("msdmNameRef", acpi.msdm_name_ref)):
        if not reference:
            continue
        volume = by_name.get(reference)
        if volume is None:
            message = f"{at} does not have a matching Volume: there is no {reference}"
            yield FieldError(f"{at}.{name}", message, rule="missing-volume")
        elif volume.secret is None:
            message = f"{at} refers to Volume of unsupported type: {reference} must have a secret"
            yield FieldError(f"{at}.{name}", message, rule="impossible-combination")
