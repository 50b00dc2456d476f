"""
Fields that are stored in a VM because they must not change during its lifetime, such as the firmware UUID.

The functions modify the VM in place, so pass a copy.
"""

from typing import Final

from msgspec.structs import replace

from virtshape.admission.clusterstate import ClusterState
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import Firmware, Machine, ResourceRequirements
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.wellknown import RECAPTURE_ANNOTATION
from virtshape.engine.machinetype import default_architecture, default_machine_type
from virtshape.resolve.matcher import (
    Role,
    find_full_kind,
    find_matcher,
    find_status_ref,
    list_recaptured,
)

PCI_TOPOLOGY_ANNOTATION: Final = "kubevirt.io/pci-topology-version"
PCI_TOPOLOGY: Final = "v3"
_ROLES: Final[tuple[Role, ...]] = ("instancetype", "flavor", "preference")


def keep_persistent_fields(vm: VirtualMachine, before: VirtualMachine) -> None:
    """Copy persistent fields from the old VM if the new VM omits them, so that the virtual hardware does not change."""
    spec, old = vm.spec.template.spec, before.spec.template.spec
    if spec is None or old is None:
        return
    spec.architecture = spec.architecture or old.architecture
    machine, old_machine = spec.domain.machine, old.domain.machine
    if (machine is None or not machine.type) and old_machine is not None:
        spec.domain.machine = old_machine
    if old.domain.firmware is not None and (old.domain.firmware.uuid or old.domain.firmware.serial):
        firmware = spec.domain.firmware = spec.domain.firmware or Firmware()
        firmware.uuid = firmware.uuid or old.domain.firmware.uuid
        firmware.serial = firmware.serial or old.domain.firmware.serial
    metadata = before.spec.template.metadata
    topology = (metadata.annotations or {}).get(PCI_TOPOLOGY_ANNOTATION) if metadata else None
    if topology is not None:
        _annotate_template(vm, topology)


def set_persistent_fields(
    vm: VirtualMachine, configuration: KubeVirtConfiguration | None, cluster: ClusterState
) -> None:
    """Set the persistent fields of a new VM that neither the user nor the preference has set."""
    spec = vm.spec.template.spec
    if spec is None:
        return
    domain = spec.domain
    spec.architecture = spec.architecture or default_architecture(configuration)
    if domain.machine is None or not domain.machine.type:
        domain.machine = Machine(type=default_machine_type(spec.architecture, configuration))
    firmware = domain.firmware = domain.firmware or Firmware()
    firmware.uuid = firmware.uuid or cluster.make_uid()
    firmware.serial = firmware.serial or cluster.make_uid()
    domain.resources = domain.resources or ResourceRequirements()
    _annotate_template(vm, PCI_TOPOLOGY)


def _annotate_template(vm: VirtualMachine, topology: str) -> None:
    metadata = vm.spec.template.metadata = vm.spec.template.metadata or ObjectMeta()
    metadata.annotations = {PCI_TOPOLOGY_ANNOTATION: topology, **(metadata.annotations or {})}


def mark_recapture(vm: VirtualMachine, before: VirtualMachine) -> None:
    """Add the roles whose revision the update removes, or whose referenced object it changes, to the annotation."""
    marked = list_recaptured(vm)
    released = [role for role in _ROLES if _is_released(vm, before, role)]
    if any(role not in marked for role in released):
        roles = [role for role in _ROLES if role in marked or role in released]
        annotations = {**(vm.metadata.annotations or {}), RECAPTURE_ANNOTATION: ",".join(roles)}
        vm.metadata = replace(vm.metadata, annotations=annotations)


def _is_released(vm: VirtualMachine, before: VirtualMachine, role: Role) -> bool:
    matcher, old, ref = find_matcher(vm, role), find_matcher(before, role), find_status_ref(before, role)
    if matcher is None or old is None or matcher.revision_name:
        return False
    if old.revision_name:
        return True
    renamed = matcher.name != old.name or find_full_kind(matcher, role) != find_full_kind(old, role)
    return renamed and ref is not None and ref.controller_revision_ref is not None
