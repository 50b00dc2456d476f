"""
Build the VirtualMachineInstance that starts a VM, with instance type and preference applied.

The functions do not modify the VM or the instance that they are given.
"""

import uuid
from typing import Final

from msgspec.structs import replace

from virtshape.api.codec import duplicate
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.api.meta import ObjectMeta
from virtshape.api.ownerreferences import find_controller, make_owner_reference
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBSERVED_VERSIONS, START_REVISION_PREFIX, VM_NAME_LABEL, VMI_FINALIZER
from virtshape.controllers.vm.revisionobjects import list_status_revisions
from virtshape.controllers.vm.status import GENERATION_ANNOTATION
from virtshape.engine.conflicts import split_conflicts
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.expand import Shape, draft_template, shape_draft
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE, default_architecture
from virtshape.engine.vmidefaults import apply_instance_defaults
from virtshape.resolve.matcher import KINDS, Role, find_full_kind, find_matcher

ROOT = "spec"
_ANNOTATIONS: dict[Role, str] = {
    "instancetype": "instancetype-name",
    "preference": "preference-name",
    "flavor": "flavor-name",
}

REVISIONS_ANNOTATION: Final = "virtshape.io/revisions"
"""An instance's annotation with the revisions it was started from, if only the VM's status names them."""
_FIRMWARE_UUIDS: Final = uuid.UUID("b1a7f3c4-6d0c-5f0e-9a53-0f2f5f6d8f11")


def build_instance(
    vm: VirtualMachine,
    shape: Shape,
    configuration: KubeVirtConfiguration | None,
    request: VirtualMachineStateChangeRequest | None = None,
) -> VirtualMachineInstance:
    """Build the instance of a VM; the instance starts paused if the start request asks for that."""
    own = vm.metadata
    architecture = default_architecture(configuration)
    metadata, spec = make_instance(vm, shape, configuration, architecture, firmware_uuid=firmware_uuid(vm))
    if request is not None and (request.data or {}).get("paused") == "true":
        spec.start_strategy = "Paused"
    labels = {**(metadata.labels or {}), VM_NAME_LABEL: own.name or ""}
    annotations = {**(metadata.annotations or {}), **OBSERVED_VERSIONS, GENERATION_ANNOTATION: str(own.generation or 0)}
    revisions = list_status_revisions(vm)
    if revisions:
        annotations[REVISIONS_ANNOTATION] = ",".join(revisions)
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
    """Return the instance with the VM as its owner and 0 as its start generation."""
    own = vmi.metadata
    owners = [*(own.owner_references or ()), make_owner_reference(vm)]
    annotations = {**(own.annotations or {}), GENERATION_ANNOTATION: "0"}
    return replace(vmi, metadata=replace(own, owner_references=owners, annotations=annotations))


def firmware_uuid(vm: VirtualMachine) -> str:
    """Return a firmware UUID that is the same for all instances of a VM."""
    return str(uuid.uuid5(_FIRMWARE_UUIDS, vm.metadata.uid or ""))


def has_other_revisions(vmi: VirtualMachineInstance, vm: VirtualMachine) -> bool:
    """Return True if the VM's status names other revisions than those that the instance was started from."""
    started = (vmi.metadata.annotations or {}).get(REVISIONS_ANNOTATION)
    revisions = list_status_revisions(vm) if started else []
    return bool(revisions) and started != ",".join(revisions)


def name_start_revision_of(vmi: VirtualMachineInstance) -> str | None:
    """Return the name of the revision with the spec that the instance was started from, or None if it is unknown."""
    owner = find_controller(vmi.metadata)
    annotations = vmi.metadata.annotations or {}
    generation = annotations.get(GENERATION_ANNOTATION)
    return f"{START_REVISION_PREFIX}{owner.uid}-{generation}" if owner is not None and generation else None


def make_instance(
    vm: VirtualMachine,
    shape: Shape,
    configuration: KubeVirtConfiguration | None = None,
    architecture: str = DEFAULT_ARCHITECTURE,
    *,
    firmware_uuid: str,
) -> tuple[ObjectMeta, VirtualMachineInstanceSpec]:
    """Return metadata and spec of the VMI, with the defaults that admission sets; raise StatusError on conflicts."""
    draft = draft_template(duplicate(vm))
    annotate_names(vm, draft.metadata)
    refuse_conflicts(shape_draft(draft, duplicate(shape), configuration, ROOT))
    apply_defaults(draft.spec, configuration, architecture)
    apply_instance_defaults(draft.spec, configuration, firmware_uuid=firmware_uuid)
    return draft.metadata, draft.spec


def refuse_conflicts(conflicts: list[FieldError]) -> None:
    """Raise StatusError with all conflicts, if there are any."""
    if not conflicts:
        return
    clashing, others = split_conflicts(conflicts)
    sentences = [f"VMI conflicts with instancetype spec in fields: [{', '.join(clashing)}]"] if clashing else []
    raise StatusError(422, "Invalid", "; ".join([*sentences, *others]), conflicts)


def annotate_names(vm: VirtualMachine, metadata: ObjectMeta) -> None:
    """Add the names of the VM's instance type or flavor and its preference to the metadata as annotations, in place."""
    for role, suffix in _ANNOTATIONS.items():
        matcher = find_matcher(vm, role)
        kind = find_full_kind(matcher, role) if matcher else None
        if matcher is None or kind is None:
            continue
        prefix = "cluster-" if kind == KINDS[role].cluster else ""
        metadata.annotations = {**(metadata.annotations or {}), f"kubevirt.io/{prefix}{suffix}": matcher.name or ""}


def rename_sources(vm: VirtualMachine, metadata: ObjectMeta) -> ObjectMeta:
    """Return the metadata of a running instance with the current names of the VM's instance type and preference."""
    names = {f"kubevirt.io/{prefix}{suffix}" for prefix in ("", "cluster-") for suffix in _ANNOTATIONS.values()}
    kept = {key: value for key, value in (metadata.annotations or {}).items() if key not in names}
    renamed = replace(metadata, annotations=kept)
    annotate_names(vm, renamed)
    return renamed
