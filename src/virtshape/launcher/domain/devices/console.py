"""Serial consoles, channels and USB redirection of a domain: structs and their XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add


class Serial(Struct, frozen=True):
    """A serial console on a socket, and its log file."""

    socket: str
    log: str | None = None


class Channel(Struct, frozen=True):
    """A virtio channel for a program in the guest, on a socket."""

    name: str
    socket: str


class Redirection(Struct, frozen=True):
    """A USB redirection port on a socket, for a client's device."""

    socket: str


def render_serial(parent: Element, serial: Serial, port: int) -> None:
    """Append the XML elements for a serial console."""
    element = add(parent, "serial", {"type": "unix"})
    add(element, "source", {"mode": "bind", "path": serial.socket})
    if serial.log is not None:
        add(element, "log", {"file": serial.log, "append": "on"})
    add(element, "target", {"port": port})


def render_channel(parent: Element, channel: Channel) -> None:
    """Append the XML element for a channel."""
    element = add(parent, "channel", {"type": "unix"})
    add(element, "source", {"mode": "bind", "path": channel.socket})
    add(element, "target", {"type": "virtio", "name": channel.name})


def render_redirection(parent: Element, redirection: Redirection) -> None:
    """Append the XML element for a USB redirection port."""
    element = add(parent, "redirdev", {"bus": "usb", "type": "unix"})
    add(element, "source", {"mode": "bind", "path": redirection.socket})
