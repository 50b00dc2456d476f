"""
Check VMs against their references: conflicts, memory, vCPUs and the preference's requirements.

Reports everything at once: requirements are checked as if the VM's conflicts were resolved.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.fit import Fit
from virtshape.admission.hostaccess import check_vm_host_access
from virtshape.admission.vm import dry_run_vm
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflict import instancetype_conflict
from virtshape.engine.cpu import check_own_vcpus
from virtshape.engine.draft import Draft
from virtshape.engine.expand import Shape, draft_template
from virtshape.engine.hostaccess import explain_host_disks
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.references import UNKNOWN, check_own_matchers, check_reference
from virtshape.resolve.find import default_layout, instancetype_role, instancetype_spec, namespace_of, preference_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, Role, find_matcher

_ANNOTATIONS: Final = "annotations."
_SPELLED: Final = {"dedicatedCPUPlacement": "dedicatedCpuPlacement"}


def check_fit(vm: VirtualMachine, context: LintContext, architecture: str) -> Iterator[FieldError]:
    """Check whether the VM can start with its instance type and preference; infers matchers in the VM passed in."""
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    invalid = yield from check_own_matchers(vm)
    sizing = UNKNOWN if role in invalid else (yield from check_reference(vm, role, context))
    preferred = UNKNOWN if "preference" in invalid else (yield from check_reference(vm, "preference", context))
    if vm.spec.template.spec is None:
        return
    if context.configuration is not None:
        given = tuple(None if isinstance(one, str) else one for one in (sizing, preferred))
        shape = Shape(instancetype_spec(given[0]), preference_spec(given[1]), default_layout(vm))
        yield from _check_host_access(vm, shape, context.configuration, architecture)
    draft = draft_template(vm)
    if isinstance(sizing, str):
        yield from _check_own_vcpus(draft, VirtualMachineInstancetypeSpec())
        return
    instancetype = instancetype_spec(sizing)
    yield from _check_own_vcpus(draft, instancetype)
    fit = Fit(draft, instancetype, None, architecture)
    yield from map(_describe_conflict, fit.check_sizes())
    preference = None if isinstance(preferred, str) else preference_spec(preferred)
    if preference is not None:
        yield from _check_preference(vm, fit._replace(preference=preference), context)


def _check_host_access(
    vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration, architecture: str
) -> Iterator[FieldError]:
    spec = dry_run_vm(vm, shape, configuration, architecture).spec
    for conflict in check_vm_host_access(vm, shape, spec, configuration, explain_host_disks(configuration)):
        yield FieldError(conflict.fields[0], conflict.message, rule="host-access")


def _check_own_vcpus(draft: Draft, instancetype: VirtualMachineInstancetypeSpec | None) -> Iterator[FieldError]:
    cpu = draft.spec.domain.cpu
    for conflict in check_own_vcpus(cpu, TEMPLATE_ROOT, instancetype) if cpu else ():
        yield FieldError(conflict.fields[0], conflict.message, rule="own-vcpus")


def _describe_conflict(conflict: FieldError) -> FieldError:
    field = _real_path(conflict.fields[0])
    if conflict != instancetype_conflict(*conflict.fields):
        return FieldError(field, conflict.message, rule="no-memory")
    advice = "remove it from the VM, or choose another instance type"
    return FieldError(field, f"{conflict.message}: {advice}", rule="instancetype-conflict")


def _real_path(field: str) -> str:
    """Return the path of a conflict in the VM, where it differs from the path in the conflict."""
    if field.startswith(_ANNOTATIONS):
        return f"spec.template.metadata.annotations[{field.removeprefix(_ANNOTATIONS)}]"
    parent, dot, name = field.rpartition(".")
    return f"{parent}{dot}{_SPELLED.get(name, name)}"


def _check_preference(vm: VirtualMachine, fit: Fit, context: LintContext) -> Iterator[FieldError]:
    uneven, unmet = fit.check_spread(), fit.check_requirements()
    if not uneven and not unmet:
        return
    role = instancetype_role(vm)
    advice = _advise(vm, fit, context)
    if uneven:
        yield FieldError(_place_size(uneven, role), f"{uneven.message}{advice}", rule="indivisible-spread")
    for conflict in unmet:
        message = f"failure checking preference requirements: {conflict.message}{advice}"
        yield FieldError(_place_size(conflict, role), message, rule="unmet-requirement")


def _place_size(conflict: FieldError, role: Role) -> str:
    """Return the VM's field that sets the insufficient size."""
    field = conflict.fields[0]
    return f"spec.{role}" if field.startswith(("instancetype.", "spec.instancetype")) else field


def _advise(vm: VirtualMachine, fit: Fit, context: LintContext) -> str:
    """Return a suggestion of sufficient instance types; empty if the VM sets its own size."""
    matcher = find_matcher(vm, instancetype_role(vm))
    if matcher is None:
        return ""
    group = INSTANCETYPE_GROUP if vm.spec.flavor is None else FLAVOR_GROUP
    return fit.advise(context.list_candidates(group, namespace_of(vm)), matcher.name or "")
