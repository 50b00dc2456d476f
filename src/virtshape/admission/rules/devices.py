"""
Devices besides disks and interfaces: known models, names of their own.

Pure: yields violations.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import check_names, check_value, list_members
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.devices import GPU, Devices, HostDevice, Watchdog

_INPUT_BUSES: Final = ("usb", "virtio")
_SOUND_MODELS: Final = ("ich9", "ac97")
_VIDEO_TYPES: Final = ("vga", "cirrus", "virtio", "ramfb", "bochs", "qxl", "vmvga", "none")
_PANIC_MODELS: Final = ("hyperv", "isa", "pvpanic", "pseries", "s390")
_WATCHDOG_ACTIONS: Final = ("poweroff", "reset", "shutdown")
_WATCHDOGS: Final = list_members(Watchdog)


def check_devices(devices: Devices, at: str) -> Iterator[Violation]:
    """Whether there are such devices; `at` is where they stand."""
    if devices.inputs:
        yield from check_names("input", devices.inputs, f"{at}.inputs")
        for index, item in enumerate(devices.inputs):
            if item.bus and item.bus not in _INPUT_BUSES:
                message = f"Input device can have only virtio or usb bus, not {item.bus}."
                yield Violation("unsupported-value", f"{at}.inputs[{index}].bus", message)
            if item.type != "tablet":
                message = f"Input device can have only tablet type, not {item.type}."
                yield Violation("unsupported-value", f"{at}.inputs[{index}].type", message)
    if devices.sound is not None:
        yield from check_value(f"{at}.sound", "model", devices.sound.model, _SOUND_MODELS)
        if not devices.sound.name:
            yield Violation("invalid-value", f"{at}.sound.name", "Sound device requires a name field.")
    if devices.video is not None:
        yield from check_value(f"{at}.video", "type", devices.video.type, _VIDEO_TYPES)
    for index, panic in enumerate(devices.panic_devices or ()):
        yield from check_value(f"{at}.panicDevices[{index}]", "model", panic.model, _PANIC_MODELS)
    if devices.gpus:
        yield from _check_passthrough("GPU", devices.gpus, f"{at}.gpus")
    if devices.host_devices:
        yield from _check_passthrough("host device", devices.host_devices, f"{at}.hostDevices")
    if devices.watchdog is not None:
        yield from _check_watchdog(devices.watchdog, f"{at}.watchdog")


def _check_passthrough(what: str, items: Sequence[GPU | HostDevice], at: str) -> Iterator[Violation]:
    yield from check_names(what, items, at)
    for index, item in enumerate(items):
        if not item.device_name and not item.claim_name:
            field = f"{at}[{index}].deviceName"
            yield Violation("invalid-value", field, f"{field} is required: name the {what}, or a claim for it")


def _check_watchdog(watchdog: Watchdog, at: str) -> Iterator[Violation]:
    if not watchdog.name:
        yield Violation("invalid-value", f"{at}.name", f"{at}.name must be set")
    if len(_WATCHDOGS.list_present(watchdog)) > 1:
        yield Violation("one-of", at, f"{at} must have exactly one type set")
    for name, model in (("i6300esb", watchdog.i6300esb), ("diag288", watchdog.diag288)):
        if model is not None:
            yield from check_value(f"{at}.{name}", "action", model.action, _WATCHDOG_ACTIONS)
