"""Validate guests against the KubeVirt configuration: machine types, and bridges on the pod network."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

_MACHINES: Final = {"amd64": ("q35*", "pc-q35*"), "arm64": ("virt*",), "s390x": ("s390-ccw-virtio*",)}


def check_configured(
    spec: VirtualMachineInstanceSpec, root: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    """Check an expanded guest against the configuration; `root` is the field path of the guest's spec."""
    machine = spec.domain.machine
    if machine is not None and machine.type:
        patterns = _list_machines(spec.architecture or DEFAULT_ARCHITECTURE, configuration)
        if patterns and not _is_machine(machine.type, patterns):
            field = f"{root}.domain.machine.type"
            message = f"{field} is not supported: {machine.type} (allowed values: [{' '.join(patterns)}])"
            yield FieldError(field, message, rule="unsupported-value")
    network = configuration.network if configuration is not None else None
    if network is not None and network.permit_bridge_interface_on_pod_network is False:
        yield from _check_bridges(spec, root)


def _list_machines(architecture: str, configuration: KubeVirtConfiguration | None) -> tuple[str, ...]:
    """Return the patterns of machine types that are allowed for an architecture; none for an unknown architecture."""
    if configuration is not None:
        if configuration.emulated_machines:
            return tuple(configuration.emulated_machines)
        by_architecture = configuration.architecture_configuration
        chosen = getattr(by_architecture, architecture, None) if by_architecture is not None else None
        if chosen is not None and chosen.emulated_machines:
            return tuple(chosen.emulated_machines)
    return _MACHINES.get(architecture, ())


@lru_cache(maxsize=1024)
def _is_machine(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check_bridges(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    pods = {network.name for network in spec.networks or () if network.pod is not None}
    for index, interface in enumerate(spec.domain.devices.interfaces or ()):
        if interface.bridge is not None and interface.name in pods:
            field = f"{root}.domain.devices.interfaces[{index}].name"
            reason = "Bridge on pod network configuration is not enabled under kubevirt-config"
            yield FieldError(field, f"{reason}: use masquerade", rule="impossible-combination")
