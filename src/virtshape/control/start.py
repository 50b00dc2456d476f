"""
What the VM controller makes of a VM when it starts: the VMI, shaped by instance type and preference.

Disks, network and defaults come at the VMI's own admission.
"""

import copy

from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.engine.apply import apply
from virtshape.engine.conflict import causes
from virtshape.engine.expand import Shape, draft_template
from virtshape.resolve.matcher import KINDS, Role, find_full_kind, find_matcher

_ANNOTATIONS: dict[Role, str] = {
    "instancetype": "instancetype-name",
    "preference": "preference-name",
    "flavor": "flavor-name",
}


def shape_instance(vm: VirtualMachine, shape: Shape) -> tuple[ObjectMeta, VirtualMachineInstanceSpec]:
    """The metadata and spec of the VMI that starts the VM."""
    draft = draft_template(copy.deepcopy(vm))
    annotate_names(vm, draft.metadata)
    conflicts = apply(draft, shape.instancetype, shape.preference, root="spec", layout=shape.layout)
    if conflicts:
        fields = ", ".join(field for conflict in conflicts for field in conflict.fields)
        words = f"VMI conflicts with instancetype spec in fields: [{fields}]"
        raise StatusError(422, "Invalid", words, causes(conflicts))
    return draft.metadata, draft.spec


def annotate_names(vm: VirtualMachine, metadata: ObjectMeta) -> None:
    """Note on the VMI what its VM names."""
    for role, suffix in _ANNOTATIONS.items():
        matcher = find_matcher(vm, role)
        kind = find_full_kind(matcher, role) if matcher else None
        if matcher is None or kind is None:
            continue
        prefix = "cluster-" if kind == KINDS[role].cluster else ""
        metadata.annotations = {**(metadata.annotations or {}), f"kubevirt.io/{prefix}{suffix}": matcher.name or ""}
