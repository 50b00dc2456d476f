"""Graphics (VNC), video, input and sound devices of a domain: structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import add_alias
from virtshape.launcher.domain.xml import add


class Graphics(Struct, frozen=True):
    """The VNC server, on a socket."""

    socket: str


class Video(Struct, frozen=True, kw_only=True):
    """The graphics card."""

    model: str
    heads: int | None = None
    vram: int | None = None
    """Video memory in KiB."""


class Input(Struct, frozen=True, kw_only=True):
    """A tablet or a keyboard."""

    type: Literal["tablet", "keyboard"]
    bus: Literal["usb", "virtio"]
    name: str | None = None


class Sound(Struct, frozen=True):
    """A sound card."""

    name: str
    model: str


def render_graphics(parent: Element, graphics: Graphics) -> None:
    """Append the XML element for the VNC server."""
    element = add(parent, "graphics", {"type": "vnc"})
    add(element, "listen", {"type": "socket", "socket": graphics.socket})


def render_video(parent: Element, video: Video) -> None:
    """Append the XML element for the graphics card."""
    model = {"type": video.model, "heads": video.heads, "vram": video.vram}
    add(add(parent, "video"), "model", model)


def render_input(parent: Element, device: Input) -> None:
    """Append the XML element for an input device."""
    model = "virtio" if device.bus == "virtio" else None
    element = add(parent, "input", {"type": device.type, "bus": device.bus, "model": model})
    if device.name is not None:
        add_alias(element, device.name)


def render_sound(parent: Element, sound: Sound) -> None:
    """Append the XML element for the sound card."""
    add_alias(add(parent, "sound", {"model": sound.model}), sound.name)
