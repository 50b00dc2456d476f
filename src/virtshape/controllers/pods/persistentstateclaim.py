"""
Build the claim for a VM's TPM state and firmware variables, with the label that KubeVirt uses.

The functions are pure. The VM owns the claim; if there is no VM, the instance owns it.
"""

import hashlib
from typing import Final

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.claimspec import PersistentVolumeClaimSpec, VolumeResourceRequirements
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.api.ownerreferences import find_controller, make_owner_reference
from virtshape.api.quantity import Quantity
from virtshape.controllers.pods.naming import shorten_label

STATE_LABEL: Final = "persistent-state-for"
SIZE: Final = Quantity("10Mi")
_MAX_NAME_LENGTH: Final = 253


def has_state(spec: VirtualMachineInstanceSpec) -> bool:
    """Return True if the guest has a persistent TPM or persistent EFI variables."""
    firmware, tpm = spec.domain.firmware, spec.domain.devices.tpm
    efi = firmware.bootloader.efi if firmware is not None and firmware.bootloader is not None else None
    return bool((tpm is not None and tpm.persistent) or (efi is not None and efi.persistent))


def name_state_claim(vmi: VirtualMachineInstance) -> str:
    """Return the name of the claim, with a hash of the VM's UID, so that all instances of a VM use the same claim."""
    owner = _get_owner(vmi)
    mark = hashlib.sha256(owner.uid.encode()).hexdigest()[:10]
    room = _MAX_NAME_LENGTH - len(STATE_LABEL) - len(mark) - 2
    return f"{STATE_LABEL}-{owner.name[:room].rstrip('-.')}-{mark}"


def build_state_claim(
    vmi: VirtualMachineInstance, configuration: KubeVirtConfiguration | None
) -> PersistentVolumeClaim:
    """Build the claim, with the configured storage class or else with the default class."""
    owner = _get_owner(vmi)
    return PersistentVolumeClaim(
        api_version="v1",
        kind="PersistentVolumeClaim",
        metadata=ObjectMeta(
            name=name_state_claim(vmi),
            namespace=vmi.metadata.namespace,
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
    """Return True if the claim belongs to the instance's VM, or to the instance if there is no VM."""
    found = find_controller(claim.metadata)
    return found is not None and found.uid == _get_owner(vmi).uid


def _get_owner(vmi: VirtualMachineInstance) -> OwnerReference:
    return find_controller(vmi.metadata) or make_owner_reference(vmi)
