"""
The addresses that a guest cannot reach: the host's addresses, and metadata services of cloud providers.

Prohibit routes in the guest's network namespace block these addresses.
"""

import contextlib
import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA_SERVICES: Final = tuple(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google Cloud, OpenStack and others
        "169.254.170.2",  # AWS: credentials of ECS tasks
        "169.254.170.23",  # AWS: EKS Pod Identity
        "fd00:ec2::254",  # AWS: instance metadata
        "fd00:ec2::23",  # AWS: EKS Pod Identity
        "fd20:ce::254",  # Google Cloud
        "100.100.100.200",  # Alibaba Cloud
        "192.0.0.192",  # Oracle Cloud
        "168.63.129.16",  # Azure, host agent
    )
)
"""Metadata services of cloud providers, which would expose the host's credentials to guests."""
_RTM_NEWROUTE, _REQUEST_ACK_CREATE = 24, 0x1 | 0x4 | 0x400
_RT_TABLE_MAIN, _RTPROT_STATIC, _RT_SCOPE_UNIVERSE, _RTN_PROHIBIT, _RTA_DST = 254, 4, 0, 8, 1


def list_blocked_addresses(addresses: Iterable[Address]) -> list[Address]:
    """Return the addresses that a guest must not reach: the host's own, and metadata services."""
    return [*(one for one in addresses if not one.is_link_local), *METADATA_SERVICES]


def list_addresses() -> list[Address]:
    """Return the addresses of all network devices in this process's namespace, without loopback."""
    found: set[Address] = set()
    with contextlib.suppress(OSError):
        found.update(parse_fib_trie(Path("/proc/self/net/fib_trie").read_text()))
    with contextlib.suppress(OSError):  # no IPv6
        lines = Path("/proc/self/net/if_inet6").read_text().splitlines()
        found.update(ipaddress.IPv6Address(bytes.fromhex(line.split()[0])) for line in lines)
    return sorted((one for one in found if not one.is_loopback), key=lambda one: (one.version, one.packed))


def parse_fib_trie(text: str) -> Iterator[Address]:
    """Yield the host's IPv4 addresses from /proc/net/fib_trie."""
    address = ""
    for line in text.splitlines():
        fields = line.split()
        if fields[:1] == ["|--"]:
            address = fields[1]
        elif fields[:3] == ["/32", "host", "LOCAL"]:
            yield ipaddress.IPv4Address(address)


def block_address(address: Address) -> None:
    """Make an address unreachable from this process's network namespace, with a prohibit route."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    destination = address.packed
    fixed = (family, address.max_prefixlen, 0, 0, _RT_TABLE_MAIN, _RTPROT_STATIC, _RT_SCOPE_UNIVERSE, _RTN_PROHIBIT, 0)
    body = struct.pack("=BBBBBBBBI", *fixed) + struct.pack("=HH", 4 + len(destination), _RTA_DST) + destination
    header = struct.pack("=IHHII", 16 + len(body), _RTM_NEWROUTE, _REQUEST_ACK_CREATE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as handle:
        handle.send(header + body)
        (code,) = struct.unpack_from("=i", handle.recv(4096), 16)
    if code and -code not in (errno.EEXIST, errno.EAFNOSUPPORT, errno.EOPNOTSUPP):
        raise OSError(-code, os.strerror(-code), str(address))
