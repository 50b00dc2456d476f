"""Validate devices, buses, firmware and CPU models against the guest's architecture."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import NOT_SUPPORTED, list_members
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.devices import Devices, Disk
from virtshape.api.kubevirt.domain import Bootloader
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec

_VIDEO_TYPES: Final = {"arm64": ("virtio", "ramfb"), "s390x": ("virtio",)}
_ARM_BUSES: Final = (None, "", "virtio", "scsi")
_ARM_CPU: Final = "host-passthrough"
_TARGETS: Final = list_members(Disk, "disk", "cdrom", "lun")
_RULE: Final = "unsupported-value"


def check_architecture(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check an expanded guest against its architecture; `root` is the field path of the guest's spec."""
    match spec.architecture:
        case "arm64":
            yield from _check_video(spec, root, "arm64")
            yield from _check_arm(spec, root)
        case "s390x":
            yield from _check_video(spec, root, "s390x")
            yield from _check_s390x(spec, root)
        case _:
            watchdog = spec.domain.devices.watchdog
            if watchdog is not None and watchdog.diag288 is not None and watchdog.i6300esb is None:
                message = "amd64 only supports I6300ESB watchdog device: use i6300esb in place of diag288"
                yield FieldError(f"{root}.domain.devices.watchdog", message, NOT_SUPPORTED, rule=_RULE)


def _check_video(spec: VirtualMachineInstanceSpec, root: str, architecture: str) -> Iterator[FieldError]:
    video, types = spec.domain.devices.video, _VIDEO_TYPES[architecture]
    if video is not None and video.type and video.type not in types:
        reason = f"video model '{video.type}' is not supported on {architecture} architecture"
        message = f"{reason}: use {' or '.join(types)}"
        yield FieldError(f"{root}.domain.devices.video.type", message, NOT_SUPPORTED, rule=_RULE)


def _check_arm(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    domain, cpu = spec.domain, spec.domain.cpu
    if domain.firmware is not None and domain.firmware.bootloader is not None:
        yield from _check_arm_boot(domain.firmware.bootloader, f"{root}.domain.firmware.bootloader")
    if cpu is not None and cpu.model and cpu.model != _ARM_CPU:
        message = f"currently, {_ARM_CPU} is the only model supported on Arm64, not {cpu.model}"
        yield FieldError(f"{root}.domain.cpu.model", message, NOT_SUPPORTED, rule=_RULE)
    if cpu is not None and cpu.dedicated_cpu_placement and (cpu.threads or 1) > 1:
        reason = f"threads must not be greater than 1 at {root}.domain.cpu.threads (got {cpu.threads})"
        field = f"{root}.architecture"
        yield FieldError(field, f"{reason} when {field} is arm64", rule="impossible-combination")
    yield from _check_arm_devices(domain.devices, f"{root}.domain.devices")


def _check_arm_boot(loader: Bootloader, at: str) -> Iterator[FieldError]:
    if loader.bios is not None:
        message = "Arm64 does not support bios boot, please change to uefi boot"
        yield FieldError(f"{at}.bios", message, NOT_SUPPORTED, rule=_RULE)
    if loader.efi is not None and loader.efi.secure_boot is not False:
        message = "UEFI secure boot is currently not supported on aarch64 Arch: set secureBoot to false"
        yield FieldError(f"{at}.efi.secureBoot", message, NOT_SUPPORTED, rule=_RULE)


def _check_arm_devices(devices: Devices, at: str) -> Iterator[FieldError]:
    for index, disk in enumerate(devices.disks or ()):
        for name, target in _TARGETS.list_values(disk):
            if target.bus not in _ARM_BUSES:
                message = f"Arm64 not support this disk bus type, please use virtio or scsi, not {target.bus}"
                yield FieldError(f"{at}.disks[{index}].{name}.bus", message, NOT_SUPPORTED, rule=_RULE)
    if devices.watchdog is not None:
        message = "Arm64 not support Watchdog device: remove it"
        yield FieldError(f"{at}.watchdog", message, NOT_SUPPORTED, rule=_RULE)
    if devices.sound is not None:
        yield FieldError(f"{at}.sound", "Arm64 not support sound device: remove it", NOT_SUPPORTED, rule=_RULE)


def _check_s390x(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    devices, memory = spec.domain.devices, spec.domain.memory
    watchdog = devices.watchdog
    if watchdog is not None and watchdog.i6300esb is not None and watchdog.diag288 is None:
        message = "s390x only supports Diag288 watchdog device: use diag288 in place of i6300esb"
        yield FieldError(f"{root}.domain.devices.watchdog", message, NOT_SUPPORTED, rule=_RULE)
    if devices.panic_devices:
        message = "custom panic devices are not supported on s390x architecture: remove them"
        yield FieldError(f"{root}.domain.devices.panicDevices", message, rule=_RULE)
    if memory is not None and memory.max_guest is not None:
        message = "Memory hotplug is only available for x86_64 and arm64 VMs: remove maxGuest"
        yield FieldError(f"{root}.domain.memory.maxGuest", message, rule="impossible-combination")
