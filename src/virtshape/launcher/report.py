"""
How a guest is doing, as its launcher process tells it.

Plain facts; each report is whole, and takes the place of the one before.
"""

from typing import Literal

from msgspec import Struct

from virtshape.launcher.note import Note
from virtshape.launcher.refusal import Refusal

State = Literal["starting", "running", "paused", "succeeded", "failed"]
Reason = Literal[
    "",
    "NotPossibleHere",
    "VolumesNotReady",
    "NotStarted",
    "PausedByUser",
    "IOError",
    "Watchdog",
    "GuestShutDown",
    "GuestPanicked",
    "GracePeriodExpired",
    "Killed",
    "NotAlive",
    "QemuKilled",
    "QemuFailed",
    "LauncherLost",
]


class Interface(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A network interface of the guest."""

    name: str = ""
    """As the instance calls it; empty for one that only the guest knows."""
    guest_name: str = ""
    """As the guest calls it, where its agent says so."""
    mac: str = ""
    addresses: tuple[str, ...] = ()
    queues: int = 1
    link_up: bool = True
    from_agent: bool = False
    """Whether the guest's agent told of it."""


class Volume(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A volume of the instance as the guest has it."""

    name: str
    target: str = ""
    """The drive, such as `vda`."""
    size: int = 0
    """Bytes that the guest sees."""


class OpenPort(Struct, frozen=True, kw_only=True):
    """A port of the machine's loopback address that leads to one of the guest."""

    interface: str
    """As the instance calls it."""
    protocol: Literal["tcp", "udp"]
    port: int
    """The guest's."""
    here: int
    """The machine's."""


class GuestOs(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The system that runs in the guest, in its agent's words."""

    id: str = ""
    name: str = ""
    pretty_name: str = ""
    version: str = ""
    version_id: str = ""
    kernel_release: str = ""
    kernel_version: str = ""
    machine: str = ""
    hostname: str = ""
    timezone: str = ""


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that is known of a guest."""

    state: State = "starting"
    reason: Reason = ""
    message: str = ""
    """Plain words for people: why it is paused or has ended."""
    refusals: tuple[Refusal, ...] = ()
    """What this machine cannot honour; the guest was not started then."""
    notes: tuple[Note, ...] = ()
    """What stands in for something this machine does not have."""
    interfaces: tuple[Interface, ...] = ()
    volumes: tuple[Volume, ...] = ()
    ports: tuple[OpenPort, ...] = ()
    """Those that the instance names."""
    agent: bool = False
    """Whether the guest's agent is connected."""
    unready: str = ""
    """Why others cannot count on the guest yet although it runs, if it is asked that."""
    logins: str | None = None
    """Why keys and passwords are not in the guest; empty once they are, None if nobody has tried."""
    os: GuestOs | None = None
    machine: str = ""
    """The machine type that the guest has."""
    accelerator: Literal["", "kvm", "tcg"] = ""
    launcher_pid: int | None = None
    qemu_pid: int | None = None
    exit_code: int | None = None
    """QEMU's; negative for the signal that ended it, None while it runs and where nobody could see it end."""

    @property
    def final(self) -> bool:
        """Whether the guest has ended, for good."""
        return self.state in ("succeeded", "failed")
