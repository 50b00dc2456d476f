"""Design graphics, video, input and sound devices."""

from typing import Final

from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.graphics import Graphics, Input, Sound, Video
from virtshape.launcher.layout import VNC_SOCKET

_VIDEO_MEMORY: Final = 16384
_WITH_MEMORY: Final = ("vga", "cirrus", "vmvga", "qxl")
_WITHOUT_HEADS: Final = ("none", "ramfb")


def design_graphics(context: DesignContext) -> Graphics | None:
    """Return the VNC server, unless graphics are disabled."""
    return Graphics(context.locate(VNC_SOCKET)) if context.has_screen else None


def design_video(context: DesignContext) -> Video | None:
    """Return the requested graphics card, or the default for the architecture and firmware; None without graphics."""
    if not context.has_screen:
        return None
    asked = context.devices.video.type if context.devices.video else None
    known = context.host.video_models
    if asked and known and asked not in known:
        context.refuse(f"{DEVICES}.video.type", f"this host has no {asked}: use one of {', '.join(sorted(known))}")
    model = asked or _choose_video(context)
    return Video(
        model=model,
        heads=None if model in _WITHOUT_HEADS else 1,
        vram=_VIDEO_MEMORY if model in _WITH_MEMORY else None,
    )


def _choose_video(context: DesignContext) -> str:
    if context.architecture != "amd64":
        return "virtio"
    firmware = context.spec.domain.firmware
    bootloader = firmware.bootloader if firmware is not None else None
    return "bochs" if bootloader is not None and bootloader.efi is not None else "vga"


def design_inputs(context: DesignContext) -> tuple[Input, ...]:
    """Return the requested tablets, else a default one if needed, and a keyboard if the architecture has no PS/2."""
    inputs = [
        Input(type="tablet", bus="virtio" if item.bus == "virtio" else "usb", name=item.name)
        for item in context.devices.inputs or ()
    ]
    wanted = context.devices.autoattach_input_device or (context.architecture == "arm64" and context.has_screen)
    if not inputs and wanted:
        inputs.append(Input(type="tablet", bus="virtio" if context.architecture == "s390x" else "usb"))
    if context.has_screen and context.architecture != "amd64":
        inputs.append(Input(type="keyboard", bus="virtio" if context.architecture == "s390x" else "usb"))
    return tuple(inputs)


def design_sound(context: DesignContext) -> Sound | None:
    """Return the sound card, if requested."""
    sound = context.devices.sound
    return Sound(sound.name, sound.model or "ich9") if sound is not None else None
