"""
Decide which addresses imports may connect to: public addresses, and networks that the administrator allows.

Hosts are resolved first, and the connection goes to exactly the address that was checked. Connecting to the checked
address prevents DNS rebinding.
"""

import socket
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from virtshape.launcher.images.errors import TransferError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SPECIAL_IPV4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
"""IANA's special-purpose, multicast and reserved blocks; the lists in `ipaddress` depend on the Python version."""
_METADATA_IPV4: Final = IPv4Address("168.63.129.16")
"""Public address at which every VM in Azure reaches the services of its host."""
_PUBLIC_IPV6: Final = IPv6Network("2000::/3")
_SPECIAL_IPV6: Final = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16")
)
_NAT64: Final = IPv6Network("64:ff9b::/96")


class ForbiddenAddressError(TransferError):
    """Imports are not permitted to connect to this address."""


def connect(host: str, port: int, timeout: float | None, allowed: tuple[str, ...]) -> socket.socket:
    """Connect to the first permitted address of a host that accepts the connection."""
    failure: OSError | None = None
    for family, kind, protocol, _, place in _list_permitted(host, port, allowed):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(place)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure if failure is not None else OSError(f"{host} has no address")


def require_allowed_host(host: str, port: int, allowed: tuple[str, ...]) -> None:
    """Raise ForbiddenAddressError if a host behind a proxy has a forbidden address; ignore hosts without addresses."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return
    refused = [one for one in found if not is_permitted(_read(str(one[4][0])), allowed)]
    if refused:  # one forbidden address is enough, because the proxy chooses the address
        raise _refuse(refused)


def _list_permitted(
    host: str, port: int, allowed: tuple[str, ...]
) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    permitted = [one for one in found if is_permitted(_read(str(one[4][0])), allowed)]
    if not permitted:
        raise _refuse(found)
    return [(*one[:4], tuple(one[4])) for one in permitted]


def _refuse(found: Iterable[tuple[Any, ...]]) -> ForbiddenAddressError:
    refused = ", ".join(sorted({str(_read(str(one[4][0]))) for one in found}))
    return ForbiddenAddressError(
        f"imports may not connect to {refused}, which is not a public address: an administrator can allow its "
        "network with imports.allowedNetworks in config.yaml"
    )


def is_permitted(address: Address, allowed: tuple[str, ...] = ()) -> bool:
    """Return True if imports may connect to an address."""
    target: Address = _find_embedded(address) or address
    if any(address in network or target in network for network in _parse_networks(allowed)):
        return True
    if isinstance(target, IPv4Address):
        return target != _METADATA_IPV4 and not any(target in network for network in _SPECIAL_IPV4)
    return target in _PUBLIC_IPV6 and not any(target in network for network in _SPECIAL_IPV6)


def _find_embedded(address: Address) -> IPv4Address | None:
    """Return the IPv4 address in an IPv4-mapped or NAT64 address, or None."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def _read(text: str) -> Address:
    return ip_address(text.partition("%")[0])


@lru_cache(maxsize=16)
def _parse_networks(allowed: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(parse_network(text) for text in allowed)


def parse_network(text: str) -> Network:
    """Parse a network such as `10.1.0.0/16`, or a single address; raise ValueError if it is invalid."""
    return ip_network(text)
