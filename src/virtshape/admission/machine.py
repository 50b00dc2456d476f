"""
Admission of VMs: set defaults, collect all violations, and report all of them in one rejection.

An update that leaves the spec unchanged after defaulting always passes, and so does any update to a VM that is being
deleted.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from virtshape.admission.clusterstate import CONFIGURATION, Admitted, ClusterState, Steps, read_configuration
from virtshape.admission.fit import Fit
from virtshape.admission.hostaccess import check_vm_host_access
from virtshape.admission.missing import list_candidates
from virtshape.admission.mutate import mutate_vm, require_valid_matchers
from virtshape.admission.overlay import overlay
from virtshape.admission.persistentfields import keep_persistent_fields, mark_recapture, set_persistent_fields
from virtshape.admission.rules.configured import check_configured
from virtshape.admission.rules.instance import check_guest, check_instance
from virtshape.admission.rules.machine import check_machine, check_machine_without_guest
from virtshape.admission.submission import Submission
from virtshape.admission.violation import CheckResult, split_violations
from virtshape.admission.vm import DryRun, describe_unmet, dry_run_vm_in_place, with_default_field
from virtshape.admission.vminputs import Found, ValidationInputs, gather_validation_inputs
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.expand import Shape, draft_template
from virtshape.engine.machine import default_architecture
from virtshape.resolve.find import default_layout, instancetype_spec, namespace_of, preference_spec
from virtshape.resolve.infer import asks_for_inference, search_matchers
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, Role, find_matcher, list_recaptured
from virtshape.resolve.reference import NotFoundError

_DEFER: Final = "Defer"
_ARCHITECTURE: Final = (f"{TEMPLATE_ROOT}.architecture",)


def admit_vm(submission: Submission, cluster: ClusterState) -> Steps[Admitted]:
    """Return the VM to store; raise StatusError with one cause per violation."""
    if _is_unchanged(submission):
        return Admitted(submission.new, [])
    completed = yield from _complete(submission, cluster)
    vm, before = completed.vm, completed.before
    if before is not None and vm.spec == before.spec:
        return Admitted(completed.tree, completed.warnings)
    inputs = yield from gather_validation_inputs(vm, before, cluster.known, completed.preference)
    result = _check(vm, completed.tree, inputs, cluster)
    return Admitted(completed.tree, _require_valid(result, completed.warnings))


def complete_vm(submission: Submission, cluster: ClusterState) -> Steps[Admitted]:
    """Return the VM with defaults, before other webhooks change it. Raise StatusError if that is not possible."""
    if _is_unchanged(submission):
        return Admitted(submission.new, [])
    completed = yield from _complete(submission, cluster)
    return Admitted(completed.tree, completed.warnings)


def validate_vm(submission: Submission, cluster: ClusterState) -> Steps[Admitted]:
    """Return the VM unchanged; it has its defaults already. Raise StatusError with one cause per violation."""
    if _is_unchanged(submission):
        return Admitted(submission.new, [])
    vm: VirtualMachine = submission.take()
    before: VirtualMachine | None = submission.decode_old()
    if before is not None and vm.spec == before.spec:
        return Admitted(submission.new, [])
    warnings: list[str] = []
    try:
        require_valid_matchers(vm, before)
        if asks_for_inference(vm):  # another webhook has asked for it after ours
            warnings = yield from search_matchers(vm)
    except StatusError as error:
        _refuse_unresolved(vm, error)
    inputs = yield from gather_validation_inputs(vm, before, cluster.known)
    result = _check(vm, submission.new, inputs, cluster)
    return Admitted(submission.new, _require_valid(result, warnings))


def _is_unchanged(submission: Submission) -> bool:
    if submission.old is None:
        return False
    return bool(submission.new["metadata"].get("deletionTimestamp")) or submission.has_same_spec


class _Completed(NamedTuple):
    """A VM with defaults, the VM that it replaces, the tree to store, and the preference, if it applies further."""

    vm: VirtualMachine
    before: VirtualMachine | None
    tree: JsonObject
    warnings: list[str]
    preference: Found | None


def _complete(submission: Submission, cluster: ClusterState) -> Steps[_Completed]:
    vm: VirtualMachine = submission.take()
    before: VirtualMachine | None = submission.decode_old()
    given = to_tree(vm)
    if before is not None:
        keep_persistent_fields(vm, before)
    try:
        mutated = yield from mutate_vm(vm, before)
    except StatusError as error:
        _refuse_unresolved(vm, error)
    preference: Found | None = mutated.preference
    if before is None:
        set_persistent_fields(vm, read_configuration((yield CONFIGURATION)), cluster)
    else:
        marked = list_recaptured(vm)
        mark_recapture(vm, before)
        if list_recaptured(vm) != marked:  # the VM will use another revision
            preference = None
    tree: JsonObject = overlay(submission.new, given, to_tree(vm))
    return _Completed(vm, before, tree, mutated.warnings, preference)


def _refuse_unresolved(vm: VirtualMachine, error: StatusError) -> NoReturn:
    """Raise StatusError for a VM whose matchers cannot be resolved, with all other violations of the VM."""
    causes = list(error.causes) or [FieldError("spec", error.message)]
    refuse([*causes, *split_violations(check_machine(vm)).causes])


def _require_valid(result: CheckResult, warnings: list[str]) -> list[str]:
    """Return all warnings; raise StatusError if there are causes."""
    if result.causes:
        refuse(result.causes, warnings + result.warnings)
    return warnings + result.warnings


def refuse(causes: Iterable[FieldError], warnings: Iterable[str] = ()) -> NoReturn:
    """Raise StatusError with these causes and warnings."""
    causes = tuple(dict.fromkeys(causes))
    error = StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes)
    error.warnings = tuple(warnings)
    raise error


class _Resolved(NamedTuple):
    """The instance type and preference of a VM, and whether each was found."""

    shape: Shape
    has_size: bool
    has_preference: bool

    @property
    def is_complete(self) -> bool:
        """Return True if nothing is missing."""
        return self.has_size and self.has_preference


def _check(vm: VirtualMachine, tree: JsonObject, inputs: ValidationInputs, cluster: ClusterState) -> CheckResult:
    """Return the violations of a VM that would be stored as this tree. Consumes the VM."""
    configuration = inputs.configuration
    result = split_violations(check_machine_without_guest(vm))
    found = _resolve(vm, inputs, result)
    if vm.spec.template.spec is None:
        return result
    dry_run = dry_run_vm_in_place(vm, found.shape, configuration, default_architecture(configuration))
    if not found.has_size and not _is_deferred(configuration):
        dry_run = dry_run._replace(unmet=[one for one in dry_run.unmet if one.fields == _ARCHITECTURE])
    if dry_run.conflicts or dry_run.unmet:
        misfits = _describe_misfits(from_tree(tree, VirtualMachine), found, dry_run, configuration, cluster)
        result.causes.extend(with_default_field(conflict, TEMPLATE_ROOT) for conflict in misfits)
    is_sized = found.is_complete and not dry_run.conflicts
    guest = split_violations((check_guest if is_sized else check_instance)(dry_run.spec, TEMPLATE_ROOT))
    if is_sized:
        ruled_out = check_configured(dry_run.spec, TEMPLATE_ROOT, configuration)
        guest.causes.extend(ruled_out)
    unpermitted = check_vm_host_access(
        vm, found.shape, dry_run.spec, configuration, lambda path: cluster.explain_host_disk(path, configuration)
    )
    guest.causes.extend(unpermitted)
    return CheckResult(result.causes + guest.causes, result.warnings + guest.warnings)


def _resolve(vm: VirtualMachine, inputs: ValidationInputs, result: CheckResult) -> _Resolved:
    """Return the VM's instance type and preference; add what is missing or unusable to the result."""
    is_deferred = _is_deferred(inputs.configuration)
    _report_unusable("instancetype" if vm.spec.flavor is None else "flavor", inputs.sizing, is_deferred, result)
    _report_unusable("preference", inputs.preference, is_deferred, result)
    shape = Shape(
        instancetype_spec(inputs.sizing.object), preference_spec(inputs.preference.object), default_layout(vm)
    )
    return _Resolved(shape, inputs.sizing.error is None, inputs.preference.error is None)


def _report_unusable(role: Role, found: Found, is_deferred: bool, result: CheckResult) -> None:
    error = found.error
    if error is None:
        return
    if not isinstance(error, NotFoundError):
        result.causes.extend(error.causes or (FieldError(f"spec.{role}.revisionName", error.message),))
    elif found.explanation and is_deferred:
        result.warnings.append(f"{error.field}: {found.explanation}; the VM can start after it is created")
    elif found.explanation:
        result.causes.append(FieldError(error.field, found.explanation, "FieldValueNotFound"))


def _is_deferred(configuration: KubeVirtConfiguration | None) -> bool:
    settings = configuration.instancetype if configuration else None
    return settings is not None and settings.missing_reference == _DEFER


def _describe_misfits(
    vm: VirtualMachine,
    found: _Resolved,
    dry_run: DryRun,
    configuration: KubeVirtConfiguration | None,
    cluster: ClusterState,
) -> list[FieldError]:
    """Return all conflicts with the instance type and preference; messages suggest instance types that fit."""
    architecture = default_architecture(configuration)
    fit = Fit(draft_template(vm), found.shape.instancetype, found.shape.preference, architecture)
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
    return fit.advise(list_candidates(group, namespace_of(vm), cluster.known), matcher.name or "")
