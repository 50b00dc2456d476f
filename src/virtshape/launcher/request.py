"""
What can be asked of a launcher process over its control socket, and its answers: one JSON text a line each way.

Structs, and how they are read and written.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from virtshape.launcher.report import GuestOs, Interface, Report


class _Asked(Struct, frozen=True, kw_only=True, tag_field="ask", forbid_unknown_fields=True):
    """A request, told apart by its member `ask`."""


class Status(_Asked, frozen=True, tag="status"):
    """Tell how the guest is doing."""


class Watch(_Asked, frozen=True, tag="watch"):
    """Tell how the guest is doing now and after each change, a line each, until it has ended."""


class Stop(_Asked, frozen=True, tag="stop"):
    """Have the guest shut down; end it when it has not after `grace` seconds."""

    grace: Annotated[float, Meta(ge=0)] = 30.0


class Kill(_Asked, frozen=True, tag="kill"):
    """End the guest now."""


class Pause(_Asked, frozen=True, tag="pause"):
    """Halt the guest's CPUs."""


class Unpause(_Asked, frozen=True, tag="unpause"):
    """Have the guest's CPUs go on."""


class Reset(_Asked, frozen=True, tag="reset"):
    """Restart the guest as its reset button would."""


class SoftReboot(_Asked, frozen=True, tag="softreboot"):
    """Have the guest's system restart itself."""


class Connect(_Asked, frozen=True, tag="connect"):
    """
    Connect to a port of the guest; the connected socket comes with the answer, as a descriptor.

    The socket is in the guest's network namespace, which nothing but its launcher process can connect from.
    """

    port: Annotated[int, Meta(ge=1, le=65535)]
    protocol: Literal["tcp", "udp"] = "tcp"
    interface: str = ""
    """As the instance calls it; the first one that can when empty."""


class SetVcpus(_Asked, frozen=True, tag="set_vcpus"):
    """Give the guest so many vCPUs while it runs."""

    count: Annotated[int, Meta(ge=1)]


class SetMemory(_Asked, frozen=True, tag="set_memory"):
    """Give the guest so many bytes of memory while it runs."""

    size: Annotated[int, Meta(ge=1)]


class AskOs(_Asked, frozen=True, tag="osinfo"):
    """Ask the guest's agent what system it is."""


class AskUsers(_Asked, frozen=True, tag="users"):
    """Ask the guest's agent who is logged in."""


class AskFilesystems(_Asked, frozen=True, tag="filesystems"):
    """Ask the guest's agent for its file systems."""


class AskInterfaces(_Asked, frozen=True, tag="interfaces"):
    """Ask the guest's agent for its network interfaces."""


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
    | AskOs
    | AskUsers
    | AskFilesystems
    | AskInterfaces
)


class User(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody who is logged in to the guest."""

    name: str
    domain: str = ""
    login_time: float | None = None
    """Seconds since 1970."""


class Filesystem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file system of the guest."""

    name: str
    mount_point: str
    type: str = ""
    total: int | None = None
    """Bytes."""
    used: int | None = None
    """Bytes."""
    disks: tuple[Mapping[str, str], ...] = ()
    """The drives under it: `serial`, `device` and `target`, as far as the guest knows."""


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a request: how the guest is doing, or why not, and what was asked for."""

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
    """The message as its line."""
    return _encoder.encode(message) + b"\n"


def parse_request(line: bytes) -> Request:
    """Read a line as a request; ValueError says what is wrong with it."""
    return _requests.decode(line)


def parse_answer(line: bytes) -> Answer:
    """Read a line as an answer; ValueError says what is wrong with it."""
    return _answers.decode(line)
