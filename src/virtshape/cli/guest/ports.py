"""
Which ports are to be forwarded: `8080`, `8080:80`, `udp/5353:53`.

Pure: reads words.
"""

from typing import NamedTuple

from virtshape.cli.errors import NotUnderstood

PROTOCOLS = ("tcp", "udp")


class Port(NamedTuple):
    """A port of this machine, and the guest's port that it leads to."""

    local: int
    remote: int
    protocol: str = "tcp"


def parse_port(text: str) -> Port:
    """Read `[PROTOCOL/]LOCAL[:REMOTE]`; a local port 0 lets the system choose."""
    protocol, slash, ports = text.rpartition("/")
    protocol = protocol.lower() if slash else "tcp"
    if protocol not in PROTOCOLS:
        raise NotUnderstood(f'"{protocol}" cannot be forwarded', next_step="Forward tcp or udp, as in udp/5353:53")
    numbers = ports.split(":")
    if len(numbers) > 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise _refuse(text)
    local, remote = int(numbers[0]), int(numbers[-1])
    if local > 65535 or not 1 <= remote <= 65535:
        raise _refuse(text)
    return Port(local, remote, protocol)


def _refuse(text: str) -> NotUnderstood:
    words = f'"{text}" names no ports: they are numbers from 1 to 65535'
    return NotUnderstood(words, next_step="For example: 8080, 8080:80 or udp/5353:53")
