"""Network interfaces: the default interface, and the preferred model and binding."""

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import DevicePreferences
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Interface, InterfaceBridge, InterfaceMasquerade, Network, PodNetwork

_ADVICE = "add an interface to the VM, or set configuration.network.defaultNetworkInterface to masquerade"
_RULE = "impossible-combination"
_BINDINGS = ("bridge", "slirp", "masquerade", "sriov", "macvtap", "passt", "passt_binding", "binding")


def apply_default_interface(
    spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None
) -> FieldError | None:
    """
    Connect a VM without networks and interfaces to the pod network, unless `autoattachPodInterface` is false.

    Return an error if the configured default binding cannot be used.
    """
    devices = spec.domain.devices
    if devices.autoattach_pod_interface is False or spec.networks or devices.interfaces:
        return None
    network = configuration.network if configuration else None
    binding = (network.default_network_interface if network else None) or "bridge"
    if binding == "bridge":
        if network is not None and network.permit_bridge_interface_on_pod_network is False:
            return FieldError("", f"bridge interface is not enabled in kubevirt-config: {_ADVICE}", rule=_RULE)
        interface = Interface(name="default", bridge=InterfaceBridge())
    elif binding == "masquerade":
        interface = Interface(name="default", masquerade=InterfaceMasquerade())
    elif binding == "slirp":
        return FieldError("", "slirp interface is deprecated as of v1.3")
    else:
        message = f"configuration.network.defaultNetworkInterface: {binding} is not supported; use bridge or masquerade"
        return FieldError("", message, rule=_RULE)
    devices.interfaces = [interface]
    spec.networks = [Network(name="default", pod=PodNetwork())]
    return None


def apply_interface_preferences(spec: VirtualMachineInstanceSpec, preferred: DevicePreferences) -> None:
    """Fill in the preferred model of each interface, and the preferred binding of interfaces on the pod network."""
    for interface in spec.domain.devices.interfaces or ():
        interface.model = interface.model or preferred.preferred_interface_model
        if preferred.preferred_interface_masquerade is not None and _is_unbound_on_pod(interface, spec.networks):
            interface.masquerade = preferred.preferred_interface_masquerade


def _is_unbound_on_pod(interface: Interface, networks: list[Network] | None) -> bool:
    if any(getattr(interface, binding) is not None for binding in _BINDINGS):
        return False
    network = next((network for network in networks or () if network.name == interface.name), None)
    return network is not None and network.pod is not None
