"""Validate network interfaces: models, states, bindings, addresses, ports and DHCP options."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address
from typing import Any, Final

from virtshape.admission.rules.checks import NOT_SUPPORTED, check_one_of, list_members
from virtshape.admission.rules.ports import check_port_ranges, check_ports
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.devices import PCI_ADDRESS
from virtshape.api.kubevirt.network import DHCPOptions, Interface, Network

RESERVED_MAC: Final = "02:00:00:00:00:00"
"""MAC address of the in-pod bridge, which the masquerade binding uses."""

_BINDINGS: Final = list_members(
    Interface, "masquerade", "bridge", "sriov", "passt_binding", "binding", "macvtap", "passt", "slirp"
)
_GONE_BINDINGS: Final = {
    "slirp": "Slirp interface support has been discontinued since v1.3: use masquerade or passtBinding",
    "macvtap": "Macvtap network binding has been discontinued since v1.3: use binding with a macvtap plugin",
    "passt": "Passt network binding has been discontinued since v1.3: use passtBinding",
}
_UNPLUGGABLE: Final = frozenset({"sriov", "passtBinding"})
MODELS: Final = ("virtio", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139")
STATES: Final = ("up", "down", "absent")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_MAC: Final = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
_MIN_OPTION, _MAX_OPTION = 224, 254

Bindings = list[tuple[str, Any]]


def check_interface(interface: Interface, network: Network | None, at: str, index: int) -> Iterator[FieldError]:
    """Check one interface and its network; `at` is the field path of the interface list."""
    bindings = _BINDINGS.list_values(interface)
    if bindings:
        yield from _check_bindings(interface, bindings, network, f"{at}[{index}]")
    if interface.model and interface.model not in MODELS:
        reason = f"interface {at}[{index}].name uses model {interface.model} that is not supported"
        message = f"{reason}: use one of {', '.join(MODELS)}"
        yield FieldError(f"{at}[{index}].model", message, NOT_SUPPORTED, rule="unsupported-value")
    if interface.state:
        yield from _check_state(interface, interface.state, bindings, network, f"{at}[{index}].state")
    if not _NAME.fullmatch(interface.name):
        reason = "can only contain alphabetical characters, numbers, dashes (-) or underscores (_)"
        yield FieldError(f"{at}[{index}].name", f"Network interface name {reason}", rule="invalid-value")
    if interface.mac_address or interface.pci_address:
        yield from _check_addresses(interface, f"{at}[{index}]")
    if interface.ports:
        yield from check_ports(interface.ports, f"{at}[{index}].ports")
    if interface.port_ranges:
        yield from check_port_ranges(interface, interface.port_ranges, f"{at}[{index}].portRanges")
    if interface.dhcp_options is not None:
        yield from _check_options(interface.dhcp_options, f"{at}[{index}].dhcpOptions")


def _check_bindings(interface: Interface, bindings: Bindings, network: Network | None, at: str) -> Iterator[FieldError]:
    if len(bindings) > 1:
        yield from check_one_of("interface", interface, _BINDINGS, at, least=0)
    for name, _ in bindings:
        if name in _GONE_BINDINGS:
            yield FieldError(f"{at}.{name}", _GONE_BINDINGS[name], rule="unsupported-value")
    if interface.masquerade is not None:
        if network is None or network.pod is None:
            reason = "Masquerade interface only implemented with pod network"
            yield FieldError(
                f"{at}.name",
                f"{reason}: connect it to the pod network, or use another binding",
                rule="impossible-combination",
            )
        if interface.mac_address == RESERVED_MAC:
            reason = "The requested MAC address is reserved for the in-pod bridge. Please choose another one."
            yield FieldError(f"{at}.macAddress", reason, rule="invalid-value")


def _check_state(
    interface: Interface, state: str, bindings: Bindings, network: Network | None, field: str
) -> Iterator[FieldError]:
    if state not in STATES:
        reason = f"logical {interface.name} interface state value is unsupported: {state}"
        yield FieldError(field, f"{reason}; use one of {', '.join(STATES)}", rule="unsupported-value")
        return
    subject = f'"{interface.name}" interface\'s state "{state}"'
    if state == "absent":
        if interface.bridge is None:
            yield FieldError(field, f"{subject} is supported only for bridge binding", rule="impossible-combination")
        if network is not None and (network.pod is not None or (network.multus is not None and network.multus.default)):
            yield FieldError(field, f"{subject} is not supported on default networks", rule="impossible-combination")
    elif any(name in _UNPLUGGABLE for name, _ in bindings):
        yield FieldError(field, f"{subject} is not supported for its binding type", rule="impossible-combination")


def _check_addresses(interface: Interface, at: str) -> Iterator[FieldError]:
    if interface.mac_address and not _MAC.fullmatch(interface.mac_address):
        message = f"interface {at}.name has malformed MAC address ({interface.mac_address})."
        yield FieldError(f"{at}.macAddress", message, rule="invalid-value")
    if interface.pci_address and not PCI_ADDRESS.fullmatch(interface.pci_address):
        message = f"interface {at}.name has malformed PCI address ({interface.pci_address})."
        yield FieldError(f"{at}.pciAddress", message, rule="invalid-value")


def _check_options(options: DHCPOptions, at: str) -> Iterator[FieldError]:
    for index, server in enumerate(options.ntp_servers or ()):
        try:
            IPv4Address(server)
        except AddressValueError:
            field = f"{at}.ntpServers[{index}]"
            yield FieldError(
                field, f"NTP servers must be a list of valid IPv4 addresses, not {server}", rule="invalid-value"
            )
    numbers = [option.option for option in options.private_options or ()]
    if len(set(numbers)) < len(numbers):
        reason = "Found Duplicates: you have provided duplicate DHCPPrivateOptions"
        yield FieldError(f"{at}.privateOptions", f"{reason}: use each number once", rule="duplicate-name")
    for index, number in enumerate(numbers):
        if not _MIN_OPTION <= number <= _MAX_OPTION:
            reason = f"must be in range {_MIN_OPTION} to {_MAX_OPTION}"
            message = f"provided DHCPPrivateOptions are out of range, {reason}, not {number}"
            yield FieldError(f"{at}.privateOptions[{index}].option", message, rule="invalid-value")
