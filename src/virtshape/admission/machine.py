"""
Admission of VMs: set defaults, collect all violations, and report all of them in one rejection.

An update that leaves the spec unchanged after defaulting always passes, and so does any update to a VM that is being
deleted.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from virtshape.admission.clusterstate import Admitted, ClusterState
from virtshape.admission.fit import Fit
from virtshape.admission.hostaccess import check_vm_host_access
from virtshape.admission.missing import explain_missing, list_candidates
from virtshape.admission.mutate import mutate_vm
from virtshape.admission.overlay import overlay
from virtshape.admission.persistentfields import keep_persistent_fields, mark_recapture, set_persistent_fields
from virtshape.admission.rules.configured import check_configured
from virtshape.admission.rules.instance import check_guest, check_instance
from virtshape.admission.rules.machine import check_machine, check_machine_without_guest
from virtshape.admission.violation import CheckResult, split_violations
from virtshape.admission.vm import DryRun, describe_unmet, dry_run_vm_in_place, with_default_field
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import Cause, StatusError
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflict import VALUE_INVALID, Conflict
from virtshape.engine.expand import Shape, draft_template
from virtshape.resolve.find import default_layout, find_object, instancetype_spec, namespace_of, preference_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, Role, find_matcher
from virtshape.resolve.reference import NotFoundError

_ADVICE: Final = "correct the name, or create it first"
_DEFER: Final = "Defer"
_ARCHITECTURE: Final = (f"{TEMPLATE_ROOT}.architecture",)


def admit_vm(new: JsonObject, old: JsonObject | None, cluster: ClusterState) -> Admitted:
    """Return the VM to store; raise StatusError with one cause per violation."""
    if _is_unchanged(new, old):
        return Admitted(new, [])
    draft = _draft(new, old, cluster)
    admitted = draft.write(new)
    if draft.before is not None and draft.vm.spec == draft.before.spec:
        return Admitted(admitted, draft.warnings)
    result = _check(admitted, draft, cluster)
    if result.causes:
        refuse(result.causes, draft.warnings + result.warnings)
    return Admitted(admitted, draft.warnings + result.warnings)


def complete_vm(new: JsonObject, old: JsonObject | None, cluster: ClusterState) -> Admitted:
    """Return the VM with defaults, before other webhooks change it. Raise StatusError if that is not possible."""
    if _is_unchanged(new, old):
        return Admitted(new, [])
    draft = _draft(new, old, cluster)
    return Admitted(draft.write(new), draft.warnings)


class _Draft(NamedTuple):
    """A VM during admission: with defaults, as it was sent, and the stored VM that it replaces."""

    vm: VirtualMachine
    given: JsonObject
    before: VirtualMachine | None
    warnings: list[str]

    def write(self, new: JsonObject) -> JsonObject:
        """Return the tree as it was sent, plus the defaults."""
        tree: JsonObject = overlay(new, self.given, to_tree(self.vm))
        return tree


def _is_unchanged(new: JsonObject, old: JsonObject | None) -> bool:
    return old is not None and (bool(new["metadata"].get("deletionTimestamp")) or new["spec"] == old["spec"])


def _draft(new: JsonObject, old: JsonObject | None, cluster: ClusterState) -> _Draft:
    vm = from_tree(new, VirtualMachine)
    before = from_tree(old, VirtualMachine) if old is not None else None
    given = to_tree(vm)
    try:
        return _Draft(vm, given, before, _complete(vm, before, cluster))
    except StatusError as error:
        causes = list(error.causes) or [Cause(VALUE_INVALID, error.message, "spec")]
        refuse([*causes, *split_violations(check_machine(vm)).causes])


def refuse(causes: Iterable[Cause], warnings: Iterable[str] = ()) -> NoReturn:
    """Raise StatusError with these causes and warnings."""
    causes = tuple(dict.fromkeys(causes))
    error = StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes)
    error.warnings = tuple(warnings)
    raise error


class _Found(NamedTuple):
    """The instance type and preference of a VM, and whether each was found."""

    shape: Shape
    has_size: bool
    has_preference: bool

    @property
    def is_complete(self) -> bool:
        """Return True if nothing is missing."""
        return self.has_size and self.has_preference


def _complete(vm: VirtualMachine, before: VirtualMachine | None, cluster: ClusterState) -> list[str]:
    if before is not None:
        keep_persistent_fields(vm, before)
    warnings = mutate_vm(vm, cluster.find, before).warnings
    if before is not None:
        mark_recapture(vm, before)
    else:
        set_persistent_fields(vm, cluster)
    return warnings


def _check(admitted: JsonObject, draft: _Draft, cluster: ClusterState) -> CheckResult:
    """Return the violations of a VM that would be stored as this tree. Consumes the draft."""
    vm, configuration = draft.vm, cluster.configuration
    result = split_violations(check_machine_without_guest(vm))
    found = _find_shape(vm, draft.before, cluster, result)
    if vm.spec.template.spec is None:
        return result
    dry_run = dry_run_vm_in_place(vm, found.shape, configuration, cluster.architecture)
    if not found.has_size and not _is_deferred(cluster):
        dry_run = dry_run._replace(unmet=[one for one in dry_run.unmet if one.fields == _ARCHITECTURE])
    if dry_run.conflicts or dry_run.unmet:
        misfits = _describe_misfits(from_tree(admitted, VirtualMachine), found, dry_run, cluster)
        result.causes.extend(with_default_field(conflict, TEMPLATE_ROOT).cause for conflict in misfits)
    is_sized = found.is_complete and not dry_run.conflicts
    guest = split_violations((check_guest if is_sized else check_instance)(dry_run.spec, TEMPLATE_ROOT))
    if is_sized:
        ruled_out = check_configured(dry_run.spec, TEMPLATE_ROOT, configuration)
        guest.causes.extend(violation.cause for violation in ruled_out)
    unpermitted = check_vm_host_access(vm, found.shape, dry_run.spec, configuration, cluster.explain_host_disk)
    guest.causes.extend(conflict.cause for conflict in unpermitted)
    return CheckResult(result.causes + guest.causes, result.warnings + guest.warnings)


def _find_shape(
    vm: VirtualMachine, before: VirtualMachine | None, cluster: ClusterState, result: CheckResult
) -> _Found:
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    sizing, has_size = _find(vm, before, role, cluster, result)
    liking, has_preference = _find(vm, before, "preference", cluster, result)
    shape = Shape(instancetype_spec(sizing), preference_spec(liking), default_layout(vm))
    return _Found(shape, has_size, has_preference)


def _find(
    vm: VirtualMachine, before: VirtualMachine | None, role: Role, cluster: ClusterState, result: CheckResult
) -> tuple[Model | None, bool]:
    """Return the object named in a role, and whether lookup succeeded; add what is missing to the result."""
    try:
        return find_object(vm, role, cluster.find), True
    except NotFoundError as error:
        if before is None or find_matcher(vm, role) != find_matcher(before, role):
            _report_missing(vm, role, error, cluster, result)
    except StatusError as error:
        causes = error.causes or (Cause(VALUE_INVALID, error.message, f"spec.{role}.revisionName"),)
        result.causes.extend(causes)
    return None, False


def _report_missing(
    vm: VirtualMachine, role: Role, error: NotFoundError, cluster: ClusterState, result: CheckResult
) -> None:
    message = error.message
    if error.reference.kind != "ControllerRevision":
        message = explain_missing(error.reference, role, namespace_of(vm), cluster, _ADVICE)
    if _is_deferred(cluster):
        result.warnings.append(f"{error.field}: {message}; the VM can start after it is created")
    else:
        result.causes.append(Cause("FieldValueNotFound", message, error.field))


def _is_deferred(cluster: ClusterState) -> bool:
    settings = cluster.configuration.instancetype if cluster.configuration else None
    return settings is not None and settings.missing_reference == _DEFER


def _describe_misfits(vm: VirtualMachine, found: _Found, dry_run: DryRun, cluster: ClusterState) -> list[Conflict]:
    """Return all conflicts with the instance type and preference; messages suggest instance types that fit."""
    fit = Fit(draft_template(vm), found.shape.instancetype, found.shape.preference, cluster.architecture)
    uneven = fit.check_spread()
    unmet = dry_run.unmet
    if not unmet and found.is_complete:
        unmet = [describe_unmet(conflict) for conflict in fit.check_requirements()]
    advice = _advise(vm, fit, cluster) if (uneven or unmet) and found.is_complete else ""
    conflicts = [c._replace(message=c.message + advice) if c == uneven else c for c in dry_run.conflicts]
    return conflicts + [conflict._replace(message=conflict.message + advice) for conflict in unmet]


def _advise(vm: VirtualMachine, fit: Fit, cluster: ClusterState) -> str:
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    matcher = find_matcher(vm, role)
    if matcher is None:
        return ""
    group = INSTANCETYPE_GROUP if role == "instancetype" else FLAVOR_GROUP
    return fit.advise(list_candidates(group, namespace_of(vm), cluster), matcher.name or "")
