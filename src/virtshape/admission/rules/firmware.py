"""
Firmware of a guest that is all there: one bootloader, SMM for SecureBoot, a kernel for kernel arguments.

Pure: yields violations.
"""

from collections.abc import Iterator

from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.domain import DomainSpec, KernelBoot


def check_firmware(domain: DomainSpec, at: str) -> Iterator[Violation]:
    """Whether the guest can boot as it is asked to; `at` is where the domain stands."""
    firmware = domain.firmware
    if firmware is None:
        return
    loader = firmware.bootloader
    if loader is not None and loader.efi is not None:
        if loader.bios is not None:
            message = f"{at}.firmware.bootloader has both EFI and BIOS configured, but they are mutually exclusive."
            yield Violation("one-of", f"{at}.firmware.bootloader.efi", message)
        if loader.efi.secure_boot is not False and not _has_smm(domain):
            field = f"{at}.firmware.bootloader.efi.secureBoot"
            words = "SecureBoot requires SMM, which is currently disabled"
            advice = f"set {at}.features.smm, or secureBoot: false"
            yield Violation("impossible-combination", field, f"{at} has EFI SecureBoot enabled. {words}: {advice}")
    if firmware.kernel_boot is not None:
        yield from _check_kernel(firmware.kernel_boot, f"{at}.firmware.kernelBoot")


def _has_smm(domain: DomainSpec) -> bool:
    smm = domain.features.smm if domain.features else None
    return smm is not None and smm.enabled is not False


def _check_kernel(boot: KernelBoot, at: str) -> Iterator[Violation]:
    container = boot.container
    if container is None:
        if boot.kernel_args:
            message = f"{at}: kernel arguments cannot be provided without an external kernel"
            yield Violation("impossible-combination", f"{at}.kernelArgs", message)
        return
    if not container.image:
        yield Violation("invalid-value", f"{at}.container.image", f"{at}.container.image must be specified")
    paths = {"kernelPath": container.kernel_path, "initrdPath": container.initrd_path}
    if not any(paths.values()):
        message = f"{at}.container must have at least one of kernelPath and initrdPath"
        yield Violation("one-of", f"{at}.container", message)
    for name, path in paths.items():
        if path and not path.startswith("/"):
            field = f"{at}.container.{name}"
            yield Violation("invalid-value", field, f"{field} must be an absolute path to a file")
