"""The plan of a guest: everything a launcher process needs to run it, after preparation."""

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
    """Domain name."""
    xml: str
    paused: bool = False
    """Start with the CPUs paused."""
    grace: float = DEFAULT_GRACE
    """Grace period in seconds when this process is terminated."""
    checks: Checks = Checks()
    """Readiness and liveness probes."""
    logins: tuple[Login, ...] = ()
    """Keys and passwords that the guest agent sets."""
    accelerator: Literal["kvm", "tcg"] = "tcg"
    notes: tuple[Note, ...] = ()
    addresses: Mapping[str, tuple[str, ...]] = {}
    """Addresses that user-mode networking assigns, by interface name."""
    netdevs: Mapping[str, str] = {}
    """QEMU netdev ids of interfaces whose ports can be forwarded, by interface name."""
    port_address: str = LOOPBACK
    """Host address of named ports."""
    forwards: Mapping[str, tuple[Forward, ...]] = {}
    """Ports that may be forwarded, by interface name; an interface that is absent allows all."""
