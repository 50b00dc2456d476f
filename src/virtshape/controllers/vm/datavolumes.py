"""
Build the DataVolumes of a VM from templates, and find the phases of all volumes of the VM.

The functions only read the VM and the cache.
"""

from typing import Final

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.ownerreferences import make_owner_reference
from virtshape.api.wellknown import CREATED_BY_LABEL
from virtshape.controllers.runtime.cache import Cache
from virtshape.resolve.find import namespace_of

MISSING: Final = "Missing"
USABLE_PHASES: Final = frozenset({"Succeeded", "WaitForFirstConsumer", "PendingPopulation"})


def build_data_volumes(vm: VirtualMachine) -> list[DataVolume]:
    """Build the DataVolumes from the VM's templates, with the VM as their owner."""
    uid = vm.metadata.uid or ""
    made = []
    for template in vm.spec.data_volume_templates or ():
        metadata = template.metadata or ObjectMeta()
        labels = {**(metadata.labels or {}), CREATED_BY_LABEL: uid}
        owned = replace(
            metadata, namespace=namespace_of(vm), labels=labels, owner_references=[make_owner_reference(vm)]
        )
        made.append(
            DataVolume(api_version="cdi.kubevirt.io/v1beta1", kind="DataVolume", metadata=owned, spec=template.spec)
        )
    return made


def list_volume_phases(vm: VirtualMachine, cache: Cache) -> list[str]:
    """Return the phases of the VM's DataVolumes and claims, as DataVolume phases."""
    template = vm.spec.template.spec
    phases = []
    for volume in (template.volumes if template else None) or ():
        if volume.data_volume is not None:
            phases.append(find_data_volume_phase(volume.data_volume.name, namespace_of(vm), cache))
        elif volume.persistent_volume_claim is not None:
            phases.append(find_claim_phase(volume.persistent_volume_claim.claim_name, namespace_of(vm), cache))
    return phases


def find_data_volume_phase(name: str, namespace: str, cache: Cache) -> str:
    """Return the phase of a DataVolume, or of its claim if the DataVolume does not exist."""
    found = cache.find(DataVolume, name, namespace)
    if found is None:  # a DataVolume may be deleted after its claim was populated
        return find_claim_phase(name, namespace, cache)
    return (found.status.phase if found.status else None) or "Pending"


def find_claim_phase(name: str, namespace: str, cache: Cache) -> str:
    """Return the phase of a claim as a DataVolume phase, or `MISSING`."""
    claim = cache.find(PersistentVolumeClaim, name, namespace)
    if claim is None:
        return MISSING
    bound = claim.status is not None and claim.status.phase == "Bound"
    return "Succeeded" if bound else "WaitForFirstConsumer"


def list_volume_names(vm: VirtualMachine) -> list[str]:
    """Return the names of the DataVolumes and claims that the VM uses or has templates for."""
    template = vm.spec.template.spec
    names = [one.metadata.name for one in vm.spec.data_volume_templates or () if one.metadata and one.metadata.name]
    for volume in (template.volumes if template else None) or ():
        if volume.data_volume is not None:
            names.append(volume.data_volume.name)
        elif volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
    return names
