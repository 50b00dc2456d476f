"""Conflicts between a VM and its instance type, and the message that lists all of them."""

from collections.abc import Sequence

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.annotations import check_annotations
from virtshape.engine.cpu import check_cpu
from virtshape.engine.devices import check_passthrough
from virtshape.engine.draft import Draft
from virtshape.engine.iothreads import check_io_threads
from virtshape.engine.launchsecurity import check_launch_security
from virtshape.engine.memory import check_memory, check_memory_given
from virtshape.engine.placement import check_placement


def check_conflicts(draft: Draft, instancetype: VirtualMachineInstancetypeSpec, root: str) -> list[FieldError]:
    """Return an error for each VM field that conflicts with the instance type, and for missing or invalid memory."""
    spec = draft.spec
    domain = spec.domain
    clashes = check_placement(spec, instancetype)
    clashes += check_cpu(domain, instancetype.cpu)
    clashes += check_memory(domain, instancetype.memory)
    clashes += check_io_threads(domain, instancetype)
    clashes += check_launch_security(domain, instancetype)
    clashes += check_passthrough(domain.devices, instancetype)
    annotations = check_annotations(draft.metadata, instancetype.annotations)
    missing = check_memory_given(domain, root, instancetype.memory)
    if not (clashes or annotations or missing):
        return []
    conflicts = [instancetype_conflict(f"{root}.{field}") for field in clashes]
    conflicts += map(instancetype_conflict, annotations)
    return [*conflicts, missing] if missing else conflicts


def instancetype_conflict(*fields: str) -> FieldError:
    """Return one error for fields that conflict with the VM's instance type."""
    paths = ", ".join(fields)
    return FieldError(paths, f"VM field(s) {paths} conflicts with selected instance type", rule="instancetype-conflict")


def describe_conflicts(conflicts: Sequence[FieldError]) -> str:
    """Return one message for all conflicts; fields that conflict with the instance type share one sentence."""
    clashing, others = split_conflicts(conflicts)
    return "; ".join([instancetype_conflict(*clashing).message, *others] if clashing else others)


def split_conflicts(conflicts: Sequence[FieldError]) -> tuple[list[str], list[str]]:
    """Return the fields that conflict with the instance type, and the messages of all other conflicts."""
    clashing = [c for c in conflicts if c.message == instancetype_conflict(*c.fields).message]
    return [field for c in clashing for field in c.fields], [c.message for c in conflicts if c not in clashing]
