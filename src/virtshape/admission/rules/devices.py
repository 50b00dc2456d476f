"""Validate models and names of devices other than disks and network interfaces."""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import NOT_SUPPORTED, check_names, check_value, list_members
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.devices import (
    GPU,
    Devices,
    HostDevice,
    Input,
    PanicDevice,
    SoundDevice,
    VideoDevice,
    Watchdog,
)

INPUT_BUSES: Final = ("usb", "virtio")
SOUND_MODELS: Final = ("ich9", "ac97")
VIDEO_TYPES: Final = ("vga", "cirrus", "virtio", "ramfb", "bochs")
PANIC_MODELS: Final = ("hyperv", "isa", "pvpanic")
WATCHDOG_ACTIONS: Final = ("poweroff", "reset", "shutdown")
_WATCHDOGS: Final = list_members(Watchdog)


def check_devices(devices: Devices, at: str) -> Iterator[FieldError]:
    """Check all devices except disks and interfaces; `at` is the field path of the devices."""
    if devices.inputs:
        yield from _check_inputs(devices.inputs, f"{at}.inputs")
    if devices.sound is not None:
        yield from _check_sound(devices.sound, f"{at}.sound")
    if devices.video is not None:
        yield from _check_video(devices.video, f"{at}.video", is_shown=devices.autoattach_graphics_device is not False)
    if devices.panic_devices:
        yield from _check_panic_devices(devices.panic_devices, f"{at}.panicDevices")
    if devices.gpus:
        yield from _check_passthrough("GPU", devices.gpus, f"{at}.gpus")
        yield from _check_displays(devices.gpus, f"{at}.gpus")
    if devices.host_devices:
        yield from _check_passthrough("host device", devices.host_devices, f"{at}.hostDevices")
    if devices.watchdog is not None:
        yield from _check_watchdog(devices.watchdog, f"{at}.watchdog")


def _check_inputs(inputs: Sequence[Input], at: str) -> Iterator[FieldError]:
    yield from check_names("input", inputs, at)
    for index, item in enumerate(inputs):
        if item.bus and item.bus not in INPUT_BUSES:
            message = f"Input device can have only virtio or usb bus, not {item.bus}."
            yield FieldError(f"{at}[{index}].bus", message, rule="unsupported-value")
        if item.type != "tablet":
            message = f"Input device can have only tablet type, not {item.type}."
            yield FieldError(f"{at}[{index}].type", message, rule="unsupported-value")


def _check_sound(sound: SoundDevice, at: str) -> Iterator[FieldError]:
    if sound.model and sound.model not in SOUND_MODELS:
        message = f"Sound device type is not supported. Options: 'ich9' or 'ac97', not {sound.model}"
        yield FieldError(f"{at}.model", message, rule="unsupported-value")
    if not sound.name:
        yield FieldError(f"{at}.name", "Sound device requires a name field.", rule="invalid-value")


def _check_video(video: VideoDevice, at: str, *, is_shown: bool) -> Iterator[FieldError]:
    if video.type and video.type not in VIDEO_TYPES:
        message = f"video model '{video.type}' is not supported on any architecture: use {' or '.join(VIDEO_TYPES)}"
        yield FieldError(f"{at}.type", message, NOT_SUPPORTED, rule="unsupported-value")
    if not is_shown:
        message = "Video configuration is not allowed when autoattachGraphicsDevice is set to false: remove one of them"
        yield FieldError(at, message, rule="impossible-combination")


def _check_panic_devices(devices: Sequence[PanicDevice], at: str) -> Iterator[FieldError]:
    for index, device in enumerate(devices):
        if device.model is not None and device.model not in PANIC_MODELS:
            message = f"invalid PanicDeviceModel({device.model}): use one of {', '.join(PANIC_MODELS)}"
            yield FieldError(f"{at}[{index}].model", message, rule="unsupported-value")


def _check_passthrough(what: str, items: Sequence[GPU | HostDevice], at: str) -> Iterator[FieldError]:
    yield from check_names(what, items, at)
    for index, item in enumerate(items):
        if not item.device_name and not item.claim_name:
            field = f"{at}[{index}].deviceName"
            yield FieldError(
                field,
                f"{field} is required: set the resource name of the {what}, or set claimName",
                rule="invalid-value",
            )


def _check_displays(gpus: Sequence[GPU], at: str) -> Iterator[FieldError]:
    shown = [f"{at}[{index}]" for index, gpu in enumerate(gpus) if _has_ram_framebuffer(gpu)]
    if len(shown) > 1:
        message = f"configuring multiple displays with ramfb is not valid: {' and '.join(shown)} have one"
        yield FieldError(f"{shown[1]}.virtualGPUOptions.display", message, rule="impossible-combination")


def _has_ram_framebuffer(gpu: GPU) -> bool:
    display = gpu.virtual_gpu_options.display if gpu.virtual_gpu_options is not None else None
    if display is None or display.enabled is False:
        return False
    return display.ram_fb is None or display.ram_fb.enabled is not False


def _check_watchdog(watchdog: Watchdog, at: str) -> Iterator[FieldError]:
    if not watchdog.name:
        yield FieldError(f"{at}.name", f"{at}.name must be set", rule="invalid-value")
    if _WATCHDOGS.count_present(watchdog) > 1:
        yield FieldError(at, f"{at} must have exactly one type set", rule="one-of")
    for name, model in (("i6300esb", watchdog.i6300esb), ("diag288", watchdog.diag288)):
        if model is not None:
            yield from check_value(f"{at}.{name}", "action", model.action, WATCHDOG_ACTIONS)
