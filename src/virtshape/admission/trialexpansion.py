"""Dry run of a VM: expand the VM, and collect all conflicts, or all unmet requirements if there are no conflicts."""

from typing import NamedTuple

from virtshape.admission.checkresult import MEMORY_NOT_SET, WARNINGS
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.cpu import check_vcpus_spread
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.expand import Shape, draft_template, shape_draft
from virtshape.engine.memory import check_memory_given, is_open
from virtshape.engine.requirements import check_requirements
from virtshape.engine.sizingpolicy import check_asked_size


class DryRun(NamedTuple):
    """The result of a dry run; `spec` is fully expanded only if there are no conflicts."""

    conflicts: list[FieldError]
    unmet: list[FieldError]
    spec: VirtualMachineInstanceSpec
    warnings: list[FieldError]


def dry_run_vm_in_place(
    vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None, architecture: str
) -> DryRun:
    """
    Expand the VM, and return the result with its conflicts or unmet requirements.

    The template of the VM must not be used afterwards.
    """
    draft = draft_template(vm)
    domain = draft.spec.domain
    own_vcpus = domain.cpu.guest if domain.cpu else None
    given = shape.instancetype.cpu if shape.instancetype else None
    uneven = check_vcpus_spread(domain.cpu, TEMPLATE_ROOT, given, shape.preference)
    conflicts = [uneven] if uneven else []
    conflicts += check_asked_size(domain, shape.instancetype, TEMPLATE_ROOT)
    is_named = vm.spec.instancetype is not None or vm.spec.flavor is not None
    own = check_own_memory(domain, shape.instancetype, is_named=is_named)
    warnings = [one for one in own if one.rule in WARNINGS]
    conflicts += shape_draft(draft, shape, configuration)
    conflicts += [one for one in own if one not in warnings]
    if conflicts:
        return DryRun(conflicts, [], draft.spec, warnings)
    apply_defaults(draft.spec, configuration, architecture)
    unmet = check_requirements(shape.instancetype, shape.preference, draft.spec, own_vcpus)
    return DryRun([], [describe_unmet(conflict) for conflict in unmet], draft.spec, warnings)


def check_own_memory(
    domain: DomainSpec, instancetype: VirtualMachineInstancetypeSpec | None, *, is_named: bool
) -> list[FieldError]:
    """
    Check the memory of a VM that has no instance type, or whose instance type sets memory to 0.

    Missing memory is a warning, because KubeVirt accepts such VMs.
    """
    given = instancetype.memory if instancetype else None
    if is_named and (given is None or given.guest is None or not is_open(given)):
        return []  # missing memory is reported when the instance type is applied
    problem = check_memory_given(domain, TEMPLATE_ROOT, None)
    if problem is not None and problem.reason == VALUE_REQUIRED:
        message = f"{problem.message}; until then the VM cannot start"
        problem = problem._replace(message=message, rule=MEMORY_NOT_SET)
    return [problem] if problem else []


def with_default_field(conflict: FieldError, root: str) -> FieldError:
    """
    Return the conflict; if the conflict has no field, set the field to the path of the interfaces.

    Only conflicts of the default interface have no field.
    """
    return conflict if conflict.field else conflict._replace(field=f"{root}.domain.devices.interfaces")


def describe_unmet(conflict: FieldError) -> FieldError:
    """Return the conflict with KubeVirt's prefix for unmet requirements in its message."""
    return conflict._replace(message=f"failure checking preference requirements: {conflict.message}")
