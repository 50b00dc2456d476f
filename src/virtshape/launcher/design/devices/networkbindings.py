"""
Network bindings: how an interface is connected on a single host.

A cluster's bindings are replaced by user-mode networking, or by a tap device if the host has a bridge for the network.
"""

import hashlib
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.network import Interface, Network, PodNetwork
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.domain.devices.interface import Subnet

_DEFAULT_RANGE: Final = "10.0.2.0/24"
_MAX_PREFIX_LENGTH: Final = 27
_IPV6_PREFIX: Final = 64
_GUEST_OFFSET: Final = 0x020F
"""Offset of the guest's address in the address range of user-mode networking; bits outside the range are cut off."""
_GONE: Final = {
    "slirp": "is no longer supported: use masquerade",
    "passt": "is no longer supported: use passtBinding",
    "macvtap": "is no longer supported: use bridge",
}


class Connection(Struct, frozen=True, kw_only=True):
    """The host side of an interface."""

    kind: Literal["user", "tap"] = "user"
    device: str | None = None
    bridge: str | None = None
    subnets: tuple[Subnet, ...] = ()
    guest_address: str | None = None


def connect(context: DesignContext, interface: Interface, at: str) -> Connection | None:
    """Return the connection to the interface's network, or None after reporting why it is not possible."""
    if _refuse_binding(context, interface, at):
        return None
    for index, network in enumerate(context.spec.networks or ()):
        if network.name == interface.name:
            return _connect_to(context, interface, network, at, f"spec.networks[{index}]")
    context.refuse(f"{at}.name", f"there is no network {interface.name!r}")
    return None


def _refuse_binding(context: DesignContext, interface: Interface, at: str) -> bool:
    for name, reason in _GONE.items():
        if getattr(interface, name) is not None:
            context.refuse(f"{at}.{name}", reason)
            return True
    if interface.binding is not None:
        context.refuse(f"{at}.binding", f"this host has no network binding {interface.binding.name!r}")
        return True
    return False


def _connect_to(
    context: DesignContext, interface: Interface, network: Network, at: str, at_network: str
) -> Connection | None:
    if network.resource_claim is not None:
        context.refuse(f"{at_network}.resourceClaim", "resource claims are not supported on this host")
        return None
    bridge = None if interface.masquerade is not None else find_bridge(context, network)
    if bridge is not None:
        return Connection(kind="tap", device=name_tap(context.vmi, interface.name), bridge=bridge)
    if network.multus is not None:
        reason = "it needs a bridge, and permission to create tap devices"
        context.refuse(f"{at_network}.multus", f"this host has no network {network.multus.network_name!r}: {reason}")
        return None
    if interface.masquerade is None:
        name = "passtBinding" if interface.passt_binding is not None else "bridge"
        text = "user-mode networking is used instead: the guest has a private address behind the host"
        context.note(f"{at}.{name}", text)
    return _connect_by_user_mode(context, network.pod or PodNetwork(), f"{at_network}.pod")


def find_bridge(context: DesignContext, network: Network) -> str | None:
    """Return the host bridge for a network, or None if there is none or guests cannot have tap devices."""
    if not context.host.tap:
        return None
    return context.host.bridges.get(network.multus.network_name if network.multus is not None else "pod")


def name_tap(vmi: VirtualMachineInstance, interface: str) -> str:
    """Return the name of an interface's tap device: stable, and short enough for the kernel."""
    uid = vmi.metadata.uid or ""
    return f"vs{hashlib.sha256(f'{uid}/{interface}'.encode()).hexdigest()[:12]}"


def _connect_by_user_mode(context: DesignContext, pod: PodNetwork, at: str) -> Connection:
    own = IPv4Network(pod.vm_network_cidr or _DEFAULT_RANGE, strict=False)
    if own.prefixlen > _MAX_PREFIX_LENGTH:
        context.refuse(f"{at}.vmNetworkCIDR", f"user-mode networking needs a range of /{_MAX_PREFIX_LENGTH} or larger")
    subnets = [Subnet("ipv4", str(own.network_address), own.prefixlen)]
    if pod.vm_ipv6_network_cidr:
        other = IPv6Network(pod.vm_ipv6_network_cidr, strict=False)
        if other.prefixlen != _IPV6_PREFIX:
            context.refuse(f"{at}.vmIPv6NetworkCIDR", f"user-mode networking needs a range of /{_IPV6_PREFIX}")
        subnets.append(Subnet("ipv6", str(other.network_address), other.prefixlen))
    guest = IPv4Address(int(own.network_address) | _GUEST_OFFSET & int(own.hostmask))
    return Connection(subnets=tuple(subnets), guest_address=str(guest))
