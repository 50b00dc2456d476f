"""
Build the VirtualMachineInstance that starts a VM: spec, labels, annotations, owner and finalizer.

Pure functions.
"""

import uuid
from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.api.meta import ObjectMeta
from virtshape.api.ownerreferences import find_controller, make_owner_reference
from virtshape.api.wellknown import VM_NAME_LABEL, VMI_FINALIZER
from virtshape.controllers.vm.start import make_instance
from virtshape.controllers.vm.status import GENERATION_ANNOTATION
from virtshape.engine.expand import Shape
from virtshape.engine.machine import DEFAULT_ARCHITECTURE

_FIRMWARE_UUIDS: Final = uuid.UUID("b1a7f3c4-6d0c-5f0e-9a53-0f2f5f6d8f11")


def build_instance(
    vm: VirtualMachine,
    shape: Shape,
    configuration: KubeVirtConfiguration | None,
    request: VirtualMachineStateChangeRequest | None = None,
) -> VirtualMachineInstance:
    """Build the instance of a VM; it starts paused if the request says so."""
    own = vm.metadata
    metadata, spec = make_instance(vm, shape, configuration, DEFAULT_ARCHITECTURE, firmware_uuid=firmware_uuid(vm))
    if request is not None and (request.data or {}).get("paused") == "true":
        spec.start_strategy = "Paused"
    labels = {**(metadata.labels or {}), VM_NAME_LABEL: own.name or ""}
    annotations = {**(metadata.annotations or {}), GENERATION_ANNOTATION: str(own.generation or 0)}
    return VirtualMachineInstance(
        api_version="kubevirt.io/v1",
        kind="VirtualMachineInstance",
        metadata=ObjectMeta(
            name=own.name,
            namespace=own.namespace,
            labels=labels,
            annotations=annotations,
            owner_references=[make_owner_reference(vm)],
            finalizers=[VMI_FINALIZER],
        ),
        spec=spec,
    )


def adopt(vmi: VirtualMachineInstance, vm: VirtualMachine) -> VirtualMachineInstance:
    """Return the instance with the VM as owner and no start generation."""
    own = vmi.metadata
    owners = [*(own.owner_references or ()), make_owner_reference(vm)]
    annotations = {**(own.annotations or {}), GENERATION_ANNOTATION: "0"}
    return replace(vmi, metadata=replace(own, owner_references=owners, annotations=annotations))


def firmware_uuid(vm: VirtualMachine) -> str:
    """Return a firmware UUID that is the same for all instances of a VM."""
    return str(uuid.uuid5(_FIRMWARE_UUIDS, vm.metadata.uid or ""))


def name_start_revision_of(vmi: VirtualMachineInstance) -> str | None:
    """Return the name of the revision with the spec that the instance was started from."""
    owner = find_controller(vmi.metadata)
    annotations = vmi.metadata.annotations or {}
    generation = annotations.get(GENERATION_ANNOTATION)
    return f"revision-start-vm-{owner.uid}-{generation}" if owner is not None and generation else None
