"""Validate the firmware of an expanded guest: bootloader, SMM for Secure Boot, kernel boot."""

from collections.abc import Iterator

from virtshape.admission.rules.paths import check_path
from virtshape.admission.rules.serial import check_serial, is_serial
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.domain import Bootloader, DomainSpec, KernelBoot
from virtshape.api.kubevirt.features import Features
from virtshape.engine.conflict import VALUE_REQUIRED


def check_firmware(domain: DomainSpec, at: str) -> Iterator[Violation]:
    """Check the firmware; `at` is the path of the domain."""
    firmware = domain.firmware
    if firmware is None:
        return
    if firmware.bootloader is not None:
        yield from _check_bootloader(firmware.bootloader, domain.features, at)
    if firmware.kernel_boot is not None:
        yield from _check_kernel(firmware.kernel_boot, f"{at}.firmware.kernelBoot")
    if firmware.serial and not is_serial(firmware.serial):
        yield from check_serial(firmware.serial, f"{at}.firmware.serial", f"{at}.firmware.serial")


def _check_bootloader(loader: Bootloader, features: Features | None, at: str) -> Iterator[Violation]:
    if loader.efi is None:
        return
    field = f"{at}.firmware.bootloader"
    if loader.bios is not None:
        message = f"{field} has both EFI and BIOS configured, but they are mutually exclusive."
        yield Violation("one-of", f"{field}.efi", message)
    if loader.efi.secure_boot is not False and not has_smm(features):
        reason = "SecureBoot requires SMM, which is currently disabled"
        advice = f"set {at}.features.smm, or secureBoot: false"
        message = f"{at} has EFI SecureBoot enabled. {reason}: {advice}"
        yield Violation("impossible-combination", f"{field}.efi.secureBoot", message)


def has_smm(features: Features | None) -> bool:
    """Return True if System Management Mode is enabled."""
    smm = features.smm if features is not None else None
    return smm is not None and smm.enabled is not False


def _check_kernel(boot: KernelBoot, at: str) -> Iterator[Violation]:
    container = boot.container
    if container is None:
        if boot.kernel_args:
            message = "kernel arguments cannot be provided without an external kernel: name one, or remove them"
            yield Violation("impossible-combination", f"{at}.kernelArgs", message)
        return
    if not container.image:
        message = f"{at}.container must be defined with an image"
        yield Violation("invalid-value", f"{at}.container.image", message, VALUE_REQUIRED)
    if not (container.kernel_path or container.initrd_path):
        message = f"{at}.container must be defined with at least one of the following: kernelPath, initrdPath"
        yield Violation("one-of", f"{at}.container", message, VALUE_REQUIRED)
    for name, path in (("kernelPath", container.kernel_path), ("initrdPath", container.initrd_path)):
        if path:
            yield from check_path(path, f"{at}.container.{name}", f"{at}.container.{name}")
