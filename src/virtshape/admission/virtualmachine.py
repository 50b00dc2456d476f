"""
Evaluation of VMs for the API server, the webhook and lint: set defaults, and collect all violations.

An update that leaves the spec unchanged after defaulting passes, unless it requests that revisions are captured again;
such an update is checked, but sets no defaults. Any update to a VM that is being deleted passes.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from virtshape.admission.checkresult import DEFERRED, Evaluation, require_valid
from virtshape.admission.clusterstate import CONFIGURATION, Admitted, ClusterState, Steps, read_configuration
from virtshape.admission.hostaccess import check_vm_host_access
from virtshape.admission.instancetypefit import Fit
from virtshape.admission.missing import list_candidates
from virtshape.admission.persistentfields import keep_persistent_fields, mark_recapture, set_persistent_fields
from virtshape.admission.rules.clusterconfiguration import check_configured
from virtshape.admission.rules.virtualmachine import check_vm_without_guest
from virtshape.admission.rules.vmi import check_guest, check_instance
from virtshape.admission.submission import Submission
from virtshape.admission.trialexpansion import DryRun, describe_unmet, dry_run_vm_in_place, with_default_field
from virtshape.admission.vmdefaults import resolve_matchers, search_defaults
from virtshape.admission.vminputs import UNRESOLVED, Found, References, ValidationInputs, gather_validation_inputs
from virtshape.admission.writeback import overlay
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import RECAPTURE_ANNOTATION
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.expand import Shape, draft_template
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.find import default_layout, instancetype_spec, namespace_of, preference_spec
from virtshape.resolve.matcher import (
    FLAVOR_GROUP,
    INSTANCETYPE_GROUP,
    Role,
    find_matcher,
    list_new_recaptures,
    list_recaptured,
)
from virtshape.resolve.reference import NotFoundError

_DEFER: Final = "Defer"
_ARCHITECTURE: Final = (f"{TEMPLATE_ROOT}.architecture",)


def evaluate_vm(submission: Submission, cluster: ClusterState) -> Steps[Evaluation]:
    """Return the VM to store, with defaults, and all its violations."""
    if _is_unchanged(submission):
        return Evaluation(submission.new, [])
    if submission.has_same_spec:
        return (yield from evaluate_completed_vm(submission, cluster))
    completed = yield from _complete(submission, cluster)
    if completed.is_unchanged:
        return Evaluation(completed.tree, completed.warnings)
    return (yield from _evaluate(completed, cluster))


def complete_vm(submission: Submission, cluster: ClusterState) -> Steps[Admitted]:
    """Return the VM with defaults, before other webhooks change it. Raise StatusError if defaults cannot be set."""
    if submission.has_same_spec or _is_unchanged(submission):
        return Admitted(submission.new, [])
    completed = yield from _complete(submission, cluster)
    if completed.references.error is not None:
        evaluation = yield from _evaluate(completed, cluster)
        require_valid(evaluation.violations)
    return Admitted(completed.tree, require_valid(completed.warnings))


def evaluate_completed_vm(submission: Submission, cluster: ClusterState) -> Steps[Evaluation]:
    """Check a VM whose defaults are set; return it unchanged, with all its violations."""
    if _is_unchanged(submission):
        return Evaluation(submission.new, [])
    vm: VirtualMachine = submission.take()
    before: VirtualMachine | None = submission.decode_old()
    if before is not None and vm.spec == before.spec and not list_new_recaptures(vm, before):
        return Evaluation(submission.new, [])
    # Resolved again, because another webhook may have changed the matchers.
    references = yield from resolve_matchers(vm, before)
    completed = _Completed(vm, before, submission.new, references.warnings, references, None)
    return (yield from _evaluate(completed, cluster))


def _is_unchanged(submission: Submission) -> bool:
    if submission.old is None:
        return False
    if submission.new["metadata"].get("deletionTimestamp"):
        return True
    return submission.has_same_spec and _find_recapture(submission.new) in (None, _find_recapture(submission.old))


def _find_recapture(tree: JsonObject) -> str | None:
    annotations: JsonObject = tree["metadata"].get("annotations") or {}
    return annotations.get(RECAPTURE_ANNOTATION)


class _Completed(NamedTuple):
    """
    A VM with its defaults, the VM that it replaces, and the JSON to store.

    `preference` is None until it is looked up.
    """

    vm: VirtualMachine
    before: VirtualMachine | None
    tree: JsonObject
    warnings: list[FieldError]
    references: References
    preference: Found | None

    @property
    def is_unchanged(self) -> bool:
        """Return True for an update that leaves the spec unchanged and does not request new revisions."""
        if self.before is None or self.references.error is not None or self.vm.spec != self.before.spec:
            return False
        return not list_new_recaptures(self.vm, self.before)


def _complete(submission: Submission, cluster: ClusterState) -> Steps[_Completed]:
    vm: VirtualMachine = submission.take()
    before: VirtualMachine | None = submission.decode_old()
    given = to_tree(vm) if submission.stored else None
    if before is not None:
        keep_persistent_fields(vm, before)
    mutated = yield from search_defaults(vm, before)
    preference: Found | None = mutated.preference
    if before is None:
        set_persistent_fields(vm, read_configuration((yield CONFIGURATION)), cluster)
    else:
        marked = list_recaptured(vm)
        mark_recapture(vm, before)
        if list_recaptured(vm) != marked:  # look the preference up again, because the VM will use another revision
            preference = None
    tree: JsonObject = overlay(submission.new, given, to_tree(vm)) if submission.stored else submission.new
    return _Completed(vm, before, tree, mutated.warnings, mutated.references, preference)


def _evaluate(completed: _Completed, cluster: ClusterState) -> Steps[Evaluation]:
    """Gather the objects that the VM refers to, and check the VM, which is expanded in place."""
    vm, before, tree, warnings, references, preference = completed
    inputs = yield from gather_validation_inputs(vm, before, cluster.known, references, preference)
    unresolved = references.error.causes if references.error is not None else ()
    return Evaluation(tree, [*warnings, *unresolved, *check_vm(vm, tree, inputs, cluster)])


class _Resolved(NamedTuple):
    """The instance type and preference of a VM, and whether each was found."""

    shape: Shape
    has_size: bool
    has_preference: bool

    @property
    def is_complete(self) -> bool:
        """Return True if all objects that the VM refers to were found."""
        return self.has_size and self.has_preference


def check_vm(
    vm: VirtualMachine, tree: JsonObject, inputs: ValidationInputs, cluster: ClusterState
) -> Iterator[FieldError]:
    """Yield all violations of a VM; `tree` is the VM as it would be stored. The VM is expanded in place."""
    configuration = inputs.configuration
    yield from check_vm_without_guest(vm)
    yield from _check_references(vm, inputs)
    if vm.spec.template.spec is None:
        return
    found = _resolve(vm, inputs)
    dry_run = dry_run_vm_in_place(vm, found.shape, configuration, default_architecture(configuration))
    if not found.has_size and not _is_deferred(configuration):
        dry_run = dry_run._replace(unmet=[one for one in dry_run.unmet if one.fields == _ARCHITECTURE])
    if dry_run.conflicts or dry_run.unmet:
        misfits = _describe_misfits(from_tree(tree, VirtualMachine), found, dry_run, configuration, cluster)
        yield from (with_default_field(conflict, TEMPLATE_ROOT) for conflict in misfits)
    if found.is_complete and not dry_run.conflicts:
        yield from check_guest(dry_run.spec, TEMPLATE_ROOT)
        yield from check_configured(dry_run.spec, TEMPLATE_ROOT, configuration)
    else:
        yield from check_instance(dry_run.spec, TEMPLATE_ROOT)
    yield from check_vm_host_access(
        vm, found.shape, dry_run.spec, configuration, lambda path: cluster.explain_host_disk(path, configuration)
    )
    yield from dry_run.warnings


def _resolve(vm: VirtualMachine, inputs: ValidationInputs) -> _Resolved:
    """Return the VM's instance type and preference, and whether each was found."""
    shape = Shape(
        instancetype_spec(inputs.sizing.object), preference_spec(inputs.preference.object), default_layout(vm)
    )
    return _Resolved(shape, inputs.sizing.error is None, inputs.preference.error is None)


def _check_references(vm: VirtualMachine, inputs: ValidationInputs) -> Iterator[FieldError]:
    """Yield a violation if the instance type, flavor or preference is missing, unusable or no longer active."""
    is_deferred = _is_deferred(inputs.configuration)
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    yield from _check_found(role, inputs.sizing, is_deferred)
    yield from _check_found("preference", inputs.preference, is_deferred)


def _check_found(role: Role, found: Found, is_deferred: bool) -> Iterator[FieldError]:
    error = found.error
    if found.outdated is not None:
        yield found.outdated
    if error is None or found is UNRESOLVED:
        return
    if not isinstance(error, NotFoundError):
        yield from error.causes or (FieldError(f"spec.{role}.revisionName", error.message, rule="invalid-revision"),)
    elif found.explanation and is_deferred:
        message = f"{error.field}: {found.explanation}; the VM can start once the object exists"
        yield FieldError(error.field, message, rule=DEFERRED)
    elif found.explanation:
        yield error.causes[0]._replace(message=found.explanation)


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
    """Return all conflicts with the instance type and preference, with suggestions of instance types that fit."""
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
