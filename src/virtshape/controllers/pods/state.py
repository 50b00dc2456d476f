"""
The claim that keeps a VM's TPM and firmware variables from pod to pod: KubeVirt's by label, the VM's own by name.

Pure. It goes with the VM, or with an instance that has none.
"""

import hashlib
from typing import Final

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.volume import PersistentVolumeClaimSpec, VolumeResourceRequirements
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.api.quantity import Quantity
from virtshape.controllers.pods.naming import shorten_label
from virtshape.controllers.runtime.ownerreferences import find_controller, make_owner_reference

STATE_LABEL: Final = "persistent-state-for"
SIZE: Final = Quantity("10Mi")
_LONGEST_NAME: Final = 253


def has_state(spec: VirtualMachineInstanceSpec) -> bool:
    """Whether the guest keeps anything beside its disks."""
    firmware, tpm = spec.domain.firmware, spec.domain.devices.tpm
    efi = firmware.bootloader.efi if firmware is not None and firmware.bootloader is not None else None
    return bool((tpm is not None and tpm.persistent) or (efi is not None and efi.persistent))


def name_state_claim(vmi: VirtualMachineInstance) -> str:
    """The name of the claim: the same for every instance of a VM, and that of no VM of the same name after it."""
    owner = _find_owner(vmi)
    mark = hashlib.sha256(owner.uid.encode()).hexdigest()[:10]
    room = _LONGEST_NAME - len(STATE_LABEL) - len(mark) - 2
    return f"{STATE_LABEL}-{owner.name[:room].rstrip('-.')}-{mark}"


def build_state_claim(
    vmi: VirtualMachineInstance, configuration: KubeVirtConfiguration | None
) -> PersistentVolumeClaim:
    """The claim, of the class that is configured, else of the cluster's default one."""
    owner = _find_owner(vmi)
    return PersistentVolumeClaim(
        api_version="v1",
        kind="PersistentVolumeClaim",
        metadata=ObjectMeta(
            name=name_state_claim(vmi),
            namespace=(vmi.metadata or ObjectMeta()).namespace,
            labels={STATE_LABEL: shorten_label(owner.name)},
            owner_references=[owner],
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=VolumeResourceRequirements(requests={"storage": SIZE}),
            storage_class_name=(configuration.vm_state_storage_class if configuration else None) or None,
        ),
    )


def is_state_claim_of(claim: PersistentVolumeClaim, vmi: VirtualMachineInstance) -> bool:
    """Whether the claim was made for the instance's VM."""
    found = find_controller(claim.metadata)
    return found is not None and found.uid == _find_owner(vmi).uid


def _find_owner(vmi: VirtualMachineInstance) -> OwnerReference:
    return find_controller(vmi.metadata) or make_owner_reference(vmi)
