"""Measure the memory of a server, and open raw connections for tests of misbehaving clients."""

import contextlib
import ssl
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit

from tests.support.memory import MIB, read_memory
from tests.support.upprocess import TIMEOUT, System

_RESET_PEAK = "5"


class Growth:
    """The peak growth of a process's resident memory; set when the measured block ends."""

    bytes = 0

    @property
    def mib(self) -> float:
        return self.bytes / MIB


@contextlib.contextmanager
def measure_growth(system: System, pause_seconds: float = 1.0) -> Iterator[Growth]:
    """Measure the peak growth of the server's resident memory within the block."""
    with measure_process_growth(system.process.pid) as growth:
        yield growth
        time.sleep(pause_seconds)
        assert system.request("GET", "/version")[0] == 200, "the server does not respond"


@contextlib.contextmanager
def measure_process_growth(pid: int) -> Iterator[Growth]:
    """Measure the peak growth of a process's resident memory within the block."""
    growth, before = Growth(), read_memory(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
    yield growth
    growth.bytes = read_memory(pid, "VmHWM") - before


class RawConnection:
    """A TLS connection for requests that no client library would send."""

    def __init__(self, system: System) -> None:
        address = urlsplit(system.url)
        trust = ssl.create_default_context(cadata=b64decode(system.config["certificate-authority-data"]).decode())
        plain = create_connection((str(address.hostname), int(address.port or 0)), timeout=TIMEOUT)
        self.socket = trust.wrap_socket(plain, server_hostname=address.hostname)
        self._token = system.config["token"].encode()

    def format(self, method: bytes, path: bytes, *headers: bytes, body: bytes = b"") -> bytes:
        """Return a request with the admin's credentials."""
        lines = [b"%b %b HTTP/1.1" % (method, path), b"host: x", b"authorization: Bearer " + self._token, *headers]
        if body:
            lines.append(b"content-length: %d" % len(body))
        return b"\r\n".join([*lines, b"", body])

    def send_until_blocked(self, data: bytes, seconds: float = 3.0) -> int:
        """Send data until the server stops reading; return the number of bytes sent."""
        return send_until_blocked(self.socket, data, seconds)

    def read_slowly(self, pause_seconds: float, pause_after: int) -> bytes:
        """Read until the connection is closed; pause once after `pause_after` bytes."""
        data = bytearray()
        paused = False
        while piece := self.socket.recv(64 * 1024):
            data += piece
            if not paused and len(data) > pause_after:
                paused = True
                time.sleep(pause_seconds)
        return bytes(data)

    def close(self) -> None:
        self.socket.close()


def send_until_blocked(connection: ssl.SSLSocket, data: bytes, seconds: float = 3.0) -> int:
    """Send data until the server stops reading; return the number of bytes sent."""
    connection.settimeout(seconds)
    sent = 0
    with contextlib.suppress(TimeoutError, ssl.SSLWantWriteError, ConnectionError):
        while sent < len(data):
            sent += connection.send(data[sent : sent + 64 * 1024])
    connection.settimeout(TIMEOUT)
    return sent
