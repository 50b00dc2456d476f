"""
Build metadata and spec of the VMI that starts a VM, with instance type and preference applied.

Never modifies its arguments and shares no data with them.
"""

from virtshape.api.codec import duplicate
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.engine.conflict import Conflict, causes, split_conflicts
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.expand import Shape, draft_template, shape_draft
from virtshape.engine.instance import apply_instance_defaults
from virtshape.engine.machine import DEFAULT_ARCHITECTURE
from virtshape.resolve.matcher import KINDS, Role, find_full_kind, find_matcher

ROOT = "spec"
_ANNOTATIONS: dict[Role, str] = {
    "instancetype": "instancetype-name",
    "preference": "preference-name",
    "flavor": "flavor-name",
}


def make_instance(
    vm: VirtualMachine,
    shape: Shape,
    configuration: KubeVirtConfiguration | None = None,
    architecture: str = DEFAULT_ARCHITECTURE,
    *,
    firmware_uuid: str,
) -> tuple[ObjectMeta, VirtualMachineInstanceSpec]:
    """Return metadata and spec of the VMI, including all defaults that admission would set."""
    draft = draft_template(duplicate(vm))
    annotate_names(vm, draft.metadata)
    refuse_conflicts(shape_draft(draft, duplicate(shape), configuration, ROOT))
    apply_defaults(draft.spec, configuration, architecture)
    apply_instance_defaults(draft.spec, configuration, firmware_uuid=firmware_uuid)
    return draft.metadata, draft.spec


def refuse_conflicts(conflicts: list[Conflict]) -> None:
    """Raise StatusError with all conflicts, if there are any."""
    if not conflicts:
        return
    clashing, others = split_conflicts(conflicts)
    sentences = [f"VMI conflicts with instancetype spec in fields: [{', '.join(clashing)}]"] if clashing else []
    raise StatusError(422, "Invalid", "; ".join([*sentences, *others]), causes(conflicts))


def annotate_names(vm: VirtualMachine, metadata: ObjectMeta) -> None:
    """Annotate the VMI with the names of the instance type and preference of its VM."""
    for role, suffix in _ANNOTATIONS.items():
        matcher = find_matcher(vm, role)
        kind = find_full_kind(matcher, role) if matcher else None
        if matcher is None or kind is None:
            continue
        prefix = "cluster-" if kind == KINDS[role].cluster else ""
        metadata.annotations = {**(metadata.annotations or {}), f"kubevirt.io/{prefix}{suffix}": matcher.name or ""}
