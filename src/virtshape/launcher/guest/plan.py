"""
What a launcher process has to know to run its guest, once everything is decided and prepared.

Plain facts.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from virtshape.launcher.check import Checks
from virtshape.launcher.domain.devices.interface import Forward
from virtshape.launcher.host import LOOPBACK
from virtshape.launcher.login import Login
from virtshape.launcher.note import Note

DEFAULT_GRACE: Final = 30.0


class Plan(Struct, frozen=True, kw_only=True):
    """A guest that is ready to start."""

    name: str
    """Of the domain."""
    xml: str
    paused: bool = False
    """Whether it is to start with its CPUs halted."""
    grace: float = DEFAULT_GRACE
    """Seconds that it gets to shut down when this process is told to end."""
    checks: Checks = Checks()
    """How it is found out whether the guest is well."""
    logins: tuple[Login, ...] = ()
    """Keys and passwords that the guest's agent is to bring in."""
    accelerator: Literal["kvm", "tcg"] = "tcg"
    notes: tuple[Note, ...] = ()
    addresses: Mapping[str, tuple[str, ...]] = {}
    """What user-mode networking hands out, by the name of the interface."""
    netdevs: Mapping[str, str] = {}
    """The interfaces whose ports can be opened, and what QEMU's monitor calls their host side."""
    port_address: str = LOOPBACK
    """Where the ports that the instance names are opened."""
    forwards: Mapping[str, tuple[Forward, ...]] = {}
    """The ports of these interfaces that are to be open; no others can be. Interfaces that are absent have no limit."""
