"""The preferred storage class for a VM's dataVolumeTemplates."""

from virtshape.api.instancetype.preference import VolumePreferences
from virtshape.api.kubevirt.virtualmachine import VirtualMachine


def apply_storage_class(vm: VirtualMachine, preferred: VolumePreferences) -> None:
    """Fill in the preferred storage class of each dataVolumeTemplate that leaves it unset; `""` counts as set."""
    if not preferred.preferred_storage_class_name:
        return
    for template in vm.spec.data_volume_templates or ():
        for claim in (template.spec.pvc, template.spec.storage):
            if claim is not None and claim.storage_class_name is None:
                claim.storage_class_name = preferred.preferred_storage_class_name
