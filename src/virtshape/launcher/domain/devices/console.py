"""
What a person works with: screen, input, sound, serial line, and the sockets that lead to them.

Structs only.
"""

from typing import Literal

from msgspec import Struct


class Serial(Struct, frozen=True):
    """A serial line on a socket, and the file that keeps what it printed."""

    socket: str
    log: str | None = None


class Channel(Struct, frozen=True):
    """A line of its own for a program in the guest, on a socket."""

    name: str
    socket: str


class Redirection(Struct, frozen=True):
    """A USB port of the guest on a socket, for a client to plug a device in."""

    socket: str


class Graphics(Struct, frozen=True):
    """The guest's screen by VNC, on a socket."""

    socket: str


class Video(Struct, frozen=True, kw_only=True):
    """The graphics card."""

    model: str
    heads: int | None = None
    vram: int | None = None
    """KiB."""


class Input(Struct, frozen=True, kw_only=True):
    """A tablet or a keyboard."""

    type: Literal["tablet", "keyboard"]
    bus: Literal["usb", "virtio"]
    name: str | None = None


class Sound(Struct, frozen=True):
    """A sound card."""

    name: str
    model: str
