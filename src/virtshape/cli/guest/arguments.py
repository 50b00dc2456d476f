"""Parse guests and ports on the command line: `vm/web/team`, `jdoe@vmi/web`, `udp/5353:53`."""

from typing import NamedTuple

from virtshape.cli.errors import ArgumentError
from virtshape.cli.guest.instance import parse_kind

PROTOCOLS = ("tcp", "udp")
_RESOURCES = {"vm": "virtualmachines", "vmi": "virtualmachineinstances"}


class GuestRef(NamedTuple):
    """A guest: its kind (`vm` or `vmi`), its name, and its namespace and login user if given."""

    kind: str
    name: str
    namespace: str = ""
    user: str = ""

    @property
    def resource(self) -> str:
        """The resource name in API paths."""
        return _RESOURCES[self.kind]


class Port(NamedTuple):
    """A local port and the guest's port that it is forwarded to."""

    local: int
    remote: int
    protocol: str = "tcp"


def parse_guest(text: str, *, default_kind: str = "") -> GuestRef:
    """Parse `[USER@][TYPE/]NAME[/NAMESPACE]`; the older form NAME.NAMESPACE is accepted too."""
    user, _, path = text.rpartition("@")
    parts = path.split("/")
    if len(parts) == 1 and default_kind:
        parts = [default_kind, *parts]
    if len(parts) == 2 and "." in parts[1]:
        name, _, namespace = parts[1].rpartition(".")
        parts = [parts[0], name, namespace]
    if len(parts) not in (2, 3) or not all(parts):
        message = f'invalid guest "{text}": must be TYPE/NAME or TYPE/NAME/NAMESPACE'
        raise ArgumentError(message, next_step="For example: vmi/web, or vm/web/NAMESPACE")
    kind, name, *rest = parts
    return GuestRef(parse_kind(kind), name, rest[0] if rest else "", user)


def parse_port(text: str) -> Port:
    """Parse `[PROTOCOL/]LOCAL[:REMOTE]`; if the local port is 0, the system chooses a free port."""
    protocol, slash, ports = text.rpartition("/")
    protocol = protocol.lower() if slash else "tcp"
    if protocol not in PROTOCOLS:
        raise ArgumentError(f'invalid protocol "{protocol}": must be tcp or udp', next_step="For example: udp/5353:53")
    numbers = ports.split(":")
    if len(numbers) > 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise _invalid_port(text)
    local, remote = int(numbers[0]), int(numbers[-1])
    if local > 65535 or not 1 <= remote <= 65535:
        raise _invalid_port(text)
    return Port(local, remote, protocol)


def _invalid_port(text: str) -> ArgumentError:
    message = f'invalid port "{text}": must be 1-65535'
    return ArgumentError(message, next_step="For example: 8080, 8080:80 or udp/5353:53")
