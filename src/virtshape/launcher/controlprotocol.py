"""Control protocol of launcher processes: requests and responses as JSON lines over the control socket."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.report import GuestOs, Interface, Report


class _Request(Struct, frozen=True, kw_only=True, tag_field="ask", forbid_unknown_fields=True):
    """Base class of all requests; the JSON member `ask` contains the request type."""


class Status(_Request, frozen=True, tag="status"):
    """A request for the guest's report."""


class Watch(_Request, frozen=True, tag="watch"):
    """A request for the guest's report now and after each change, one per line, until the guest has stopped."""


class Stop(_Request, frozen=True, tag="stop"):
    """A request to shut the guest down, and to kill it after `grace` seconds."""

    grace: Annotated[float, Meta(ge=0)] = float(DEFAULT_GRACE_SECONDS)


class Kill(_Request, frozen=True, tag="kill"):
    """A request to kill the guest."""


class Pause(_Request, frozen=True, tag="pause"):
    """A request to pause the guest's CPUs."""


class Unpause(_Request, frozen=True, tag="unpause"):
    """A request to resume the guest's CPUs."""


class Reset(_Request, frozen=True, tag="reset"):
    """A request to reset the guest."""


class SoftReboot(_Request, frozen=True, tag="softreboot"):
    """A request to reboot the guest's operating system cleanly."""


class Connect(_Request, frozen=True, tag="connect"):
    """
    A request to connect to a port of the guest; the response carries the connected socket as a file descriptor.

    The socket belongs to the guest's network namespace, from which only the guest's launcher process can connect.
    """

    port: Annotated[int, Meta(ge=1, le=65535)]
    protocol: Literal["tcp", "udp"] = "tcp"
    interface: str = ""
    """Name of the interface in the instance's spec; if empty, the first suitable interface is used."""


class SetVcpus(_Request, frozen=True, tag="set_vcpus"):
    """A request to set the number of vCPUs of the running guest."""

    count: Annotated[int, Meta(ge=1)]


class SetMemory(_Request, frozen=True, tag="set_memory"):
    """A request to set the memory size of the running guest, in bytes."""

    size: Annotated[int, Meta(ge=1)]


class AttachVolume(_Request, frozen=True, tag="attach_volume"):
    """A request to attach a volume to the running guest; the launch request must contain the volume and its mount."""

    name: str


class DetachVolume(_Request, frozen=True, tag="detach_volume"):
    """A request to detach a volume from the running guest; the report lists it until the guest has released it."""

    name: str


class QueryOs(_Request, frozen=True, tag="osinfo"):
    """A request for information about the operating system from the guest agent."""


class QueryUsers(_Request, frozen=True, tag="users"):
    """A request for the logged-in users from the guest agent."""


class QueryFilesystems(_Request, frozen=True, tag="filesystems"):
    """A request for the mounted file systems from the guest agent."""


class QueryInterfaces(_Request, frozen=True, tag="interfaces"):
    """A request for the network interfaces that the guest agent reports."""


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
    | QueryOs
    | QueryUsers
    | QueryFilesystems
    | QueryInterfaces
)


class User(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A user who is logged in to the guest."""

    name: str
    domain: str = ""
    login_time: float | None = None
    """Time of the login, as a Unix timestamp."""


class Filesystem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file system that is mounted in the guest."""

    name: str
    mount_point: str
    type: str = ""
    total: int | None = None
    """Size in bytes."""
    used: int | None = None
    """Used space in bytes."""
    disks: tuple[Mapping[str, str], ...] = ()
    """The file system's disks; a disk has `serial`, `device` and `target` if the guest agent reports them."""


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The response to a request: an error if the request failed, the guest's report, and the requested data."""

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
    """Decode a request; raise ValueError if the request is invalid."""
    return _requests.decode(line)


def parse_answer(line: bytes) -> Answer:
    """Decode a response; raise ValueError if the response is invalid."""
    return _answers.decode(line)
