"""
Networks and the interfaces on them: each has one of its name, and is one thing.

Pure: yields violations.
"""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from virtshape.admission.rules.checks import check_names, check_one_of, check_partners, check_value, list_members
from virtshape.admission.rules.disks import PCI_ADDRESS
from virtshape.admission.violation import DEPRECATED, Violation
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import DHCPOptions, Interface, Network, Port

_SOURCES: Final = list_members(Network)
_BINDINGS: Final = list_members(
    Interface, "masquerade", "bridge", "sriov", "passt_binding", "binding", "macvtap", "passt", "slirp"
)
_GONE_BINDINGS: Final = {
    "slirp": "masquerade or passtBinding",
    "macvtap": "binding with a macvtap plugin",
    "passt": "passtBinding",
}
_MODELS: Final = ("virtio", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139")
_STATES: Final = ("up", "down", "absent")
_PROTOCOLS: Final = ("TCP", "UDP")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_MAC: Final = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
_MOST_PORTS: Final = 65535


def check_networks(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Whether interfaces and networks belong together."""
    networks, interfaces = spec.networks or (), spec.domain.devices.interfaces or ()
    if not (networks or interfaces):
        return
    at_networks, at_interfaces = f"{root}.networks", f"{root}.domain.devices.interfaces"
    named = yield from check_names("network", networks, at_networks)
    connected = yield from check_names("interface", interfaces, at_interfaces)
    yield from check_partners("interface", interfaces, at_interfaces, "network", named)
    yield from check_partners("network", networks, at_networks, "interface", connected)
    by_name = {network.name: network for network in networks}
    for index, network in enumerate(networks):
        yield from check_one_of("network", network, _SOURCES, f"{at_networks}[{index}]", least=1)
        if network.multus is not None and not network.multus.network_name:
            field = f"{at_networks}[{index}].multus.networkName"
            yield Violation("invalid-value", field, "CNI delegating plugin must have a networkName")
    if sum(network.pod is not None for network in networks) > 1:
        message = f"{at_networks}: more than one interface is connected to a pod network: keep one"
        yield Violation("impossible-combination", at_interfaces, message)
    for index, interface in enumerate(interfaces):
        yield from _check_interface(interface, by_name.get(interface.name), f"{at_interfaces}[{index}]")


def _check_interface(interface: Interface, network: Network | None, at: str) -> Iterator[Violation]:
    bindings = _BINDINGS.list_values(interface)
    if len(bindings) > 1:
        yield from check_one_of("interface", interface, _BINDINGS, at, least=0)
    yield from check_value(at, "model", interface.model, _MODELS)
    yield from check_value(at, "state", interface.state, _STATES)
    if not _NAME.fullmatch(interface.name):
        words = "can only contain alphabetical characters, numbers, dashes (-) or underscores (_)"
        yield Violation("invalid-value", f"{at}.name", f"Network interface name {words}")
    if interface.masquerade is not None and (network is None or network.pod is None):
        message = "Masquerade interface only implemented with pod network: give its network pod, or bind it otherwise"
        yield Violation("impossible-combination", f"{at}.name", message)
    for binding, _ in bindings:
        if binding in _GONE_BINDINGS:
            message = f"the binding {binding} is deprecated and no longer works: use {_GONE_BINDINGS[binding]}"
            yield Violation(DEPRECATED, f"{at}.{binding}", message)
    if interface.mac_address and not _MAC.fullmatch(interface.mac_address):
        message = f"interface {at}.name has malformed MAC address ({interface.mac_address})."
        yield Violation("invalid-value", f"{at}.macAddress", message)
    if interface.pci_address and not PCI_ADDRESS.fullmatch(interface.pci_address):
        message = f"interface {at}.name has malformed PCI address ({interface.pci_address})."
        yield Violation("invalid-value", f"{at}.pciAddress", message)
    if interface.ports:
        yield from _check_ports(interface.ports, f"{at}.ports")
    if interface.dhcp_options is not None:
        yield from _check_time_servers(interface.dhcp_options, f"{at}.dhcpOptions")


def _check_ports(ports: list[Port], at: str) -> Iterator[Violation]:
    named: set[str] = set()
    for index, port in enumerate(ports):
        if not 0 < port.port <= _MOST_PORTS:
            message = "Port field must be in range 0 < x < 65536."
            yield Violation("invalid-value", f"{at}[{index}].port", message)
        yield from check_value(f"{at}[{index}]", "protocol", port.protocol, _PROTOCOLS)
        if port.name:
            if port.name in named:
                message = f"Duplicate name of the port: {port.name}"
                yield Violation("duplicate-name", f"{at}[{index}].name", message)
            named.add(port.name)


def _check_time_servers(options: DHCPOptions, at: str) -> Iterator[Violation]:
    for index, server in enumerate(options.ntp_servers or ()):
        try:
            IPv4Address(server)
        except AddressValueError:
            field = f"{at}.ntpServers[{index}]"
            yield Violation("invalid-value", field, f"NTP servers must be a list of valid IPv4 addresses, not {server}")
