"""Validate networks and their interfaces: matching names, one source, one default network."""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import check_names, check_one_of, check_partners, list_members
from virtshape.admission.rules.interfaces import check_interface
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Interface, Network

_SOURCES: Final = list_members(Network)
_MAX_ACPI_INDEX: Final = 16 * 1024 - 1


def check_networks(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check the networks and interfaces of a guest; `root` is the field path of the guest's spec."""
    networks, interfaces = spec.networks or (), spec.domain.devices.interfaces or ()
    if not (networks or interfaces):
        return
    at_networks, at_interfaces = f"{root}.networks", f"{root}.domain.devices.interfaces"
    named = yield from check_names("network", networks, at_networks)
    connected = yield from check_names("interface", interfaces, at_interfaces)
    yield from check_partners("interface", interfaces, at_interfaces, "network", named)
    yield from check_partners("network", networks, at_networks, "interface", connected)
    for index, network in enumerate(networks):
        if _SOURCES.count_present(network) != 1:
            yield from check_one_of("network", network, _SOURCES, f"{at_networks}[{index}]", least=1)
        if network.multus is not None and not network.multus.network_name:
            field = f"{at_networks}[{index}].multus.networkName"
            yield FieldError(
                field, "CNI delegating plugin must have a networkName", VALUE_REQUIRED, rule="invalid-value"
            )
    if len(networks) > 1:
        yield from _check_sole(networks, at_networks, at_interfaces)
    by_name = {network.name: network for network in networks}
    for index, interface in enumerate(interfaces):
        yield from check_interface(interface, by_name.get(interface.name), at_interfaces, index)
    if any(interface.acpi_index for interface in interfaces):
        yield from _check_acpi_indexes(interfaces, at_interfaces)


def _check_sole(networks: Sequence[Network], at: str, at_interfaces: str) -> Iterator[FieldError]:
    """Check that at most one network is the default."""
    pods = sum(network.pod is not None for network in networks)
    defaults = sum(network.multus is not None and bool(network.multus.default) for network in networks)
    if pods > 1:
        message = f"more than one interface is connected to a pod network in {at_interfaces}: keep one"
        yield FieldError(at_interfaces, message, rule="impossible-combination")
    if defaults > 1:
        yield FieldError(at, "Multus CNI should only have one default network: keep one", rule="impossible-combination")
    if pods and defaults:
        reason = "Pod network cannot be defined when Multus default network is defined"
        yield FieldError(at, f"{reason}: keep one of them", rule="impossible-combination")


def _check_acpi_indexes(interfaces: Sequence[Interface], at: str) -> Iterator[FieldError]:
    seen: dict[int, str] = {}
    for index, interface in enumerate(interfaces):
        number, field = interface.acpi_index, f"{at}[{index}].acpiIndex"
        if not number:
            continue
        if not 0 < number <= _MAX_ACPI_INDEX:
            yield FieldError(field, f"{field} '{number}': must be from 1 to {_MAX_ACPI_INDEX}", rule="invalid-value")
        elif number in seen:
            yield FieldError(
                field, f"{field} '{number}' is also used by {seen[number]}: change one of them", rule="duplicate-name"
            )
        seen.setdefault(number, field)
