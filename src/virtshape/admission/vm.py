"""Dry run of a VM with its instance type and preference: all conflicts and unmet requirements at once."""

from typing import NamedTuple

from virtshape.api.codec import duplicate
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.cpu import check_vcpus_spread
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.expand import Shape, draft_template, shape_draft
from virtshape.engine.memory import check_memory_given
from virtshape.engine.requirements import check_requirements


class DryRun(NamedTuple):
    """Result of a dry run: conflicts, unmet requirements, and the instance spec (complete only without conflicts)."""

    conflicts: list[FieldError]
    unmet: list[FieldError]
    spec: VirtualMachineInstanceSpec


def dry_run_vm(
    vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None, architecture: str
) -> DryRun:
    """Expand a copy of the VM."""
    return dry_run_vm_in_place(duplicate(vm), shape, configuration, architecture)


def dry_run_vm_in_place(
    vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None, architecture: str
) -> DryRun:
    """Expand the VM itself, which must not be used afterwards."""
    draft = draft_template(vm)
    domain = draft.spec.domain
    own_vcpus = domain.cpu.guest if domain.cpu else None
    given = shape.instancetype.cpu if shape.instancetype else None
    uneven = check_vcpus_spread(domain.cpu, TEMPLATE_ROOT, given, shape.preference)
    conflicts = [uneven] if uneven else []
    conflicts += shape_draft(draft, shape, configuration)
    if vm.spec.instancetype is None and vm.spec.flavor is None:
        no_memory = check_memory_given(domain, TEMPLATE_ROOT, None)
        conflicts += [no_memory] if no_memory else []
    if conflicts:
        return DryRun(conflicts, [], draft.spec)
    apply_defaults(draft.spec, configuration, architecture)
    unmet = check_requirements(shape.instancetype, shape.preference, draft.spec, own_vcpus)
    return DryRun([], [describe_unmet(conflict) for conflict in unmet], draft.spec)


def with_default_field(conflict: FieldError, root: str) -> FieldError:
    """Return the conflict with a field; only a missing default interface has none."""
    return conflict if conflict.field else conflict._replace(field=f"{root}.domain.devices.interfaces")


def describe_unmet(conflict: FieldError) -> FieldError:
    """Return the conflict with KubeVirt's message for an unmet requirement."""
    return conflict._replace(message=f"failure checking preference requirements: {conflict.message}")
