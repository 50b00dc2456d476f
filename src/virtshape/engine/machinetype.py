"""Machine type of the guest: the preferred type, and the default for each architecture."""

from typing import Final

from virtshape.api.instancetype.preference import MachinePreferences
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import DomainSpec, Machine

DEFAULT_ARCHITECTURE: Final = "amd64"
_MACHINE_TYPES: Final = {"amd64": "q35", "arm64": "virt", "s390x": "s390-ccw-virtio"}


def apply_machine_preferences(domain: DomainSpec, preferred: MachinePreferences) -> None:
    """Fill in the preferred machine type if the VM leaves its type unset."""
    if preferred.preferred_machine_type and (domain.machine is None or not domain.machine.type):
        domain.machine = Machine(type=preferred.preferred_machine_type)


def default_architecture(configuration: KubeVirtConfiguration | None) -> str:
    """Return the configured default architecture, or else the built-in default, for VMs that set no architecture."""
    configured = configuration.architecture_configuration if configuration else None
    return (configured.default_architecture if configured else None) or DEFAULT_ARCHITECTURE


def default_machine_type(architecture: str, configuration: KubeVirtConfiguration | None) -> str:
    """Return the configured machine type for an architecture, or else the built-in default."""
    if configuration is not None:
        if configuration.machine_type:
            return configuration.machine_type
        by_architecture = configuration.architecture_configuration
        chosen = getattr(by_architecture, architecture, None) if by_architecture else None
        if chosen is not None and chosen.machine_type:
            return str(chosen.machine_type)
    return _MACHINE_TYPES.get(architecture, _MACHINE_TYPES[DEFAULT_ARCHITECTURE])
