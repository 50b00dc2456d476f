"""
DNS relay for guests on hosts whose resolver has a local address, such as 127.0.0.53.

The guest's network namespace cannot reach that address. The relay listens inside the namespace and forwards DNS queries
over UDP, and nothing else, to the host's resolver.
"""

import contextlib
import ipaddress
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from typing import Final

from virtshape.launcher.netns.blockedaddresses import Address
from virtshape.launcher.threads import NotePublisher, start_thread

RESOLVERS: Final = Path("/etc/resolv.conf")
DNS_PORT: Final = 53
MAX_PENDING: Final = 512
"""Maximum number of pending queries; the oldest are dropped."""
_MAX_MESSAGE_BYTES: Final = 65535
_HEADER: Final = 12
_RELAYED: Final = "nameserver 127.0.0.1\n"


def find_local_resolver(own: Collection[Address], path: Path = RESOLVERS) -> Address | None:
    """Return the address of the host's first name server if it is local, else None."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.split()
        if len(fields) > 1 and fields[0] == "nameserver":
            with contextlib.suppress(ValueError):
                address = ipaddress.ip_address(fields[1].partition("%")[0])
                return address if address.is_loopback or address in own else None
    return None


class Relay:
    """Forwards DNS queries to a resolver; created outside of the namespace, opened inside."""

    def __init__(self, resolver: Address, port: int = DNS_PORT) -> None:
        family = socket.AF_INET if resolver.version == 4 else socket.AF_INET6
        self._upstream = socket.socket(family, socket.SOCK_DGRAM)
        self._upstream.connect((str(resolver), port))
        self._pending: OrderedDict[int, tuple[bytes, tuple[str, int]]] = OrderedDict()
        self._lock = threading.Lock()
        self._inside = self._upstream

    def open(self, directory: Path) -> Path:
        """Listen inside the namespace; return the resolv.conf to mount there."""
        self._inside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._inside.bind(("127.0.0.1", DNS_PORT))
        path = directory / "resolv.conf"
        path.write_text(_RELAYED)
        return path

    @property
    def pending(self) -> int:
        """The number of pending queries."""
        return len(self._pending)

    def start(self, notes: NotePublisher | None = None) -> None:
        """Start the relay's two threads."""
        field = "spec.domain.devices.interfaces"
        start_thread(self._send_queries, "relaying DNS queries", field=field, notes=notes)
        start_thread(self._send_answers, "relaying DNS answers", field=field, notes=notes)

    def _send_queries(self) -> None:
        while True:
            query, client = self._inside.recvfrom(_MAX_MESSAGE_BYTES)
            if len(query) < _HEADER:
                continue
            number = secrets.randbelow(1 << 16)
            with self._lock:
                self._pending[number] = query[:2], client
                self._pending.move_to_end(number)
                while len(self._pending) > MAX_PENDING:
                    self._pending.popitem(last=False)
            with contextlib.suppress(OSError):  # the resolver is not listening
                self._upstream.send(number.to_bytes(2, "big") + query[2:])

    def _send_answers(self) -> None:
        while True:
            try:
                answer = self._upstream.recv(_MAX_MESSAGE_BYTES)
            except OSError:  # the resolver refused an earlier query
                continue
            with self._lock:
                asked = self._pending.pop(int.from_bytes(answer[:2], "big"), None)
            if asked is not None:
                with contextlib.suppress(OSError):
                    self._inside.sendto(asked[0] + answer[2:], asked[1])
