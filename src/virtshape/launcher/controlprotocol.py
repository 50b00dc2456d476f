"""Control protocol of launcher processes: requests and responses as JSON lines over the control socket."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.report import GuestOs, Interface, Report


class _Asked(Struct, frozen=True, kw_only=True, tag_field="ask", forbid_unknown_fields=True):
    """Base of all requests; the member `ask` names the request."""


class Status(_Asked, frozen=True, tag="status"):
    """Return the guest's report."""


class Watch(_Asked, frozen=True, tag="watch"):
    """Return the guest's report now and after each change, one per line, until the guest has ended."""


class Stop(_Asked, frozen=True, tag="stop"):
    """Shut the guest down; kill it after `grace` seconds."""

    grace: Annotated[float, Meta(ge=0)] = float(DEFAULT_GRACE_SECONDS)


class Kill(_Asked, frozen=True, tag="kill"):
    """Kill the guest."""


class Pause(_Asked, frozen=True, tag="pause"):
    """Pause the guest's CPUs."""


class Unpause(_Asked, frozen=True, tag="unpause"):
    """Resume the guest's CPUs."""


class Reset(_Asked, frozen=True, tag="reset"):
    """Reset the guest."""


class SoftReboot(_Asked, frozen=True, tag="softreboot"):
    """Ask the guest's operating system to reboot."""


class Connect(_Asked, frozen=True, tag="connect"):
    """
    Connect to a port of the guest; the response carries the connected socket as a file descriptor.

    The socket belongs to the guest's network namespace, from which only the guest's launcher process can connect.
    """

    port: Annotated[int, Meta(ge=1, le=65535)]
    protocol: Literal["tcp", "udp"] = "tcp"
    interface: str = ""
    """Name of the interface in the instance's spec; if empty, the first suitable interface is used."""


class SetVcpus(_Asked, frozen=True, tag="set_vcpus"):
    """Set the number of vCPUs of the running guest."""

    count: Annotated[int, Meta(ge=1)]


class SetMemory(_Asked, frozen=True, tag="set_memory"):
    """Set the memory size of the running guest, in bytes."""

    size: Annotated[int, Meta(ge=1)]


class AttachVolume(_Asked, frozen=True, tag="attach_volume"):
    """Attach the disk of a volume to the running guest; the launch request must contain the volume and its mount."""

    name: str


class DetachVolume(_Asked, frozen=True, tag="detach_volume"):
    """Ask the running guest to release a disk; the report lists the disk until the guest has done so."""

    name: str


class AskOs(_Asked, frozen=True, tag="osinfo"):
    """Ask the guest agent for information about the operating system."""


class AskUsers(_Asked, frozen=True, tag="users"):
    """Ask the guest agent for logged-in users."""


class AskFilesystems(_Asked, frozen=True, tag="filesystems"):
    """Ask the guest agent for mounted file systems."""


class AskInterfaces(_Asked, frozen=True, tag="interfaces"):
    """Ask the guest agent for network interfaces."""


Request = (
    Status
    | Watch
    | Stop
    | Kill
    | Pause
    | Unpause
    | Reset
    | SoftReboot
    | Connect
    | SetVcpus
    | SetMemory
    | AttachVolume
    | DetachVolume
    | AskOs
    | AskUsers
    | AskFilesystems
    | AskInterfaces
)


class User(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A user who is logged in to the guest."""

    name: str
    domain: str = ""
    login_time: float | None = None
    """Time of the login, in seconds since 1970."""


class Filesystem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file system of the guest."""

    name: str
    mount_point: str
    type: str = ""
    total: int | None = None
    """Size in bytes."""
    used: int | None = None
    """Used space in bytes."""
    disks: tuple[Mapping[str, str], ...] = ()
    """The file system's disks, with `serial`, `device` and `target` if the guest agent reports them."""


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The response to a request: an error, or the report and the requested data."""

    error: str = ""
    report: Report | None = None
    os: GuestOs | None = None
    users: tuple[User, ...] | None = None
    filesystems: tuple[Filesystem, ...] | None = None
    interfaces: tuple[Interface, ...] | None = None


_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_answers = msgspec.json.Decoder(Answer)


def format_line(message: Request | Answer) -> bytes:
    """Encode a message as a line of JSON."""
    return _encoder.encode(message) + b"\n"


def parse_request(line: bytes) -> Request:
    """Decode a request; raise ValueError if it is invalid."""
    return _requests.decode(line)


def parse_answer(line: bytes) -> Answer:
    """Decode a response; raise ValueError if it is invalid."""
    return _answers.decode(line)
