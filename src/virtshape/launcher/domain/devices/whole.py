"""
All devices of a domain.

Structs only.
"""

from msgspec import Struct

from virtshape.launcher.domain.devices.console import Channel, Graphics, Input, Redirection, Serial, Sound, Video
from virtshape.launcher.domain.devices.controller import Controller
from virtshape.launcher.domain.devices.disk import Disk
from virtshape.launcher.domain.devices.filesystem import Filesystem
from virtshape.launcher.domain.devices.hostdevice import HostDevice
from virtshape.launcher.domain.devices.interface import Interface
from virtshape.launcher.domain.devices.platform import Balloon, Panic, Rng, Tpm, Vsock, Watchdog


class Devices(Struct, frozen=True, kw_only=True):
    """Everything that is plugged into the guest."""

    emulator: str
    """The program that runs the guest."""
    disks: tuple[Disk, ...] = ()
    controllers: tuple[Controller, ...] = ()
    filesystems: tuple[Filesystem, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    serials: tuple[Serial, ...] = ()
    channels: tuple[Channel, ...] = ()
    inputs: tuple[Input, ...] = ()
    tpm: Tpm | None = None
    graphics: Graphics | None = None
    sound: Sound | None = None
    video: Video | None = None
    host_devices: tuple[HostDevice, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    watchdog: Watchdog | None = None
    balloon: Balloon | None = None
    rng: Rng | None = None
    panics: tuple[Panic, ...] = ()
    vsock: Vsock | None = None
