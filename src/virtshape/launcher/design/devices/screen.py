"""
Screen, input and sound: what a person at the guest sees, moves and hears.

Pure: no I/O, no clock, no logging.
"""

from typing import Final

from virtshape.launcher.design.devices.brief import DEVICES, Brief
from virtshape.launcher.domain.devices.console import Graphics, Input, Sound, Video

_VIDEO_MEMORY: Final = 16384
_WITH_MEMORY: Final = ("vga", "cirrus", "vmvga", "qxl")
_WITHOUT_HEADS: Final = ("none", "ramfb")


def design_graphics(brief: Brief) -> Graphics | None:
    """A screen, unless the guest has none."""
    return Graphics(brief.locate("vnc.sock")) if brief.has_screen else None


def design_video(brief: Brief) -> Video | None:
    """The graphics card that is asked for, or the one that the guest's firmware copes with best."""
    if not brief.has_screen:
        return None
    asked = brief.devices.video.type if brief.devices.video else None
    known = brief.host.video_models
    if asked and known and asked not in known:
        brief.refuse(f"{DEVICES}.video.type", f"this host has no {asked}: use one of {', '.join(sorted(known))}")
    model = asked or _choose_video(brief)
    return Video(
        model=model,
        heads=None if model in _WITHOUT_HEADS else 1,
        vram=_VIDEO_MEMORY if model in _WITH_MEMORY else None,
    )


def _choose_video(brief: Brief) -> str:
    if brief.architecture != "amd64":
        return "virtio"
    firmware = brief.spec.domain.firmware
    bootloader = firmware.bootloader if firmware is not None else None
    return "bochs" if bootloader is not None and bootloader.efi is not None else "vga"


def design_inputs(brief: Brief) -> tuple[Input, ...]:
    """The tablets that are asked for, and what a screen needs on machines that bring no keyboard."""
    inputs = [
        Input(type="tablet", bus="virtio" if item.bus == "virtio" else "usb", name=item.name)
        for item in brief.devices.inputs or ()
    ]
    wanted = brief.devices.autoattach_input_device or (brief.architecture == "arm64" and brief.has_screen)
    if not inputs and wanted:
        inputs.append(Input(type="tablet", bus="virtio" if brief.architecture == "s390x" else "usb"))
    if brief.has_screen and brief.architecture != "amd64":
        inputs.append(Input(type="keyboard", bus="virtio" if brief.architecture == "s390x" else "usb"))
    return tuple(inputs)


def design_sound(brief: Brief) -> Sound | None:
    """The sound card that is asked for."""
    sound = brief.devices.sound
    return Sound(sound.name, sound.model or "ich9") if sound is not None else None
