"""Report of a launcher process about its guest. Each report is complete and replaces the previous report."""

from typing import Literal

from msgspec import Struct

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


class Note(Struct, frozen=True):
    """A field of an instance that this host does not implement exactly as requested."""

    field: str
    """Field path, for example `spec.domain.devices.interfaces[0]`."""
    text: str
    """Message, shown after the field path and a colon."""


class Refusal(Struct, frozen=True):
    """A field of an instance that this host cannot support."""

    field: str
    """Field path, for example `spec.domain.cpu.model`."""
    reason: str
    """Message, shown after the field path and a colon."""


class Interface(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A network interface of the guest."""

    name: str = ""
    """Name in the instance's spec; empty if only the guest knows the interface."""
    guest_name: str = ""
    """Name in the guest, if its agent reports it."""
    mac: str = ""
    addresses: tuple[str, ...] = ()
    queues: int = 1
    link_up: bool = True
    from_agent: bool = False
    """Whether the guest agent reported the interface."""


class Volume(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A volume of the instance as the guest sees it."""

    name: str
    target: str = ""
    """Device name, for example `vda`."""
    size: int = 0
    """Size in bytes, as seen by the guest."""


class OpenPort(Struct, frozen=True, kw_only=True):
    """A host port that is forwarded to the guest."""

    interface: str
    """Name of the interface in the instance's spec."""
    protocol: Literal["tcp", "udp"]
    port: int
    """Port of the guest."""
    here: int
    """Port of the host."""


class GuestOs(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The guest's operating system, as reported by its agent."""

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
    """The state of a guest."""

    state: State = "starting"
    reason: Reason = ""
    message: str = ""
    """Why the guest is paused or has ended."""
    refusals: tuple[Refusal, ...] = ()
    """Fields that this host cannot support; the guest was not started."""
    notes: tuple[Note, ...] = ()
    """Fields that this host does not implement exactly as requested."""
    interfaces: tuple[Interface, ...] = ()
    volumes: tuple[Volume, ...] = ()
    ports: tuple[OpenPort, ...] = ()
    """Ports listed in the instance's spec."""
    agent: bool = False
    """Whether the guest's agent is connected."""
    unready: str = ""
    """Why the running guest is not ready; empty if it is ready or has no readiness probe."""
    unresponsive: str = ""
    """Why QEMU or the launcher process does not respond; empty while both respond."""
    logins: str | None = None
    """Why keys and passwords could not be set; empty if all were set, None before the first attempt."""
    os: GuestOs | None = None
    machine: str = ""
    """The guest's machine type."""
    accelerator: Literal["", "kvm", "tcg"] = ""
    launcher_pid: int | None = None
    qemu_pid: int | None = None
    exit_code: int | None = None
    """QEMU's exit code; negative for a signal, None while it runs or if unknown."""

    @property
    def final(self) -> bool:
        """Return True if the guest has stopped."""
        return self.state in ("succeeded", "failed")
