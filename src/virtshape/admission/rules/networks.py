"""
Networks and the interfaces on them: each has one of its name, and is one thing.

Pure: yields violations.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_names, check_one_of, check_partners, list_members
from virtshape.admission.violation import DEPRECATED, Violation
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Interface, Network

_SOURCES: Final = list_members(Network)
_BINDINGS: Final = list_members(
    Interface, "masquerade", "bridge", "sriov", "passt_binding", "binding", "macvtap", "passt", "slirp"
)
_GONE_BINDINGS: Final = {
    "slirp": "masquerade or passtBinding",
    "macvtap": "binding with a macvtap plugin",
    "passt": "passtBinding",
}


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
    for index, interface in enumerate(interfaces):
        yield from _check_interface(interface, by_name.get(interface.name), f"{at_interfaces}[{index}]")


def _check_interface(interface: Interface, network: Network | None, at: str) -> Iterator[Violation]:
    yield from check_one_of("interface", interface, _BINDINGS, at, least=0)
    if interface.masquerade is not None and (network is None or network.pod is None):
        message = (
            "Masquerade interface only implemented with pod network: give its network pod, or take another binding"
        )
        yield Violation("impossible-combination", f"{at}.name", message)
    for binding, instead in _GONE_BINDINGS.items():
        if getattr(interface, binding) is not None:
            message = f"the binding {binding} is deprecated and no longer works: use {instead}"
            yield Violation(DEPRECATED, f"{at}.{binding}", message)
