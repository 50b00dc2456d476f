"""
Admits VMs: completes them, then finds everything that stands against them, and refuses for all of it at once.

A change that leaves the spec alone, once it is completed, always passes, and so does any change to a VM that is being
deleted.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from virtshape.admission.fit import Fit
from virtshape.admission.hostaccess import check_vm_host_access
from virtshape.admission.lasting import fix_lasting, keep_lasting, mark_recapture
from virtshape.admission.missing import explain_missing, list_candidates
from virtshape.admission.mutate import mutate_vm
from virtshape.admission.overlay import overlay
from virtshape.admission.rules.configured import check_configured
from virtshape.admission.rules.instance import check_guest, check_instance
from virtshape.admission.rules.machine import check_machine, check_machine_alone
from virtshape.admission.violation import Verdict, split
from virtshape.admission.vm import Trial, describe_unmet, place, use_up
from virtshape.admission.world import Admitted, Tree, World
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
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


def admit_vm(new: Tree, old: Tree | None, world: World) -> Admitted:
    """The VM to store; StatusError with a cause for each violation if it may not be."""
    if _is_settled(new, old):
        return Admitted(new, [])
    draft = _draft(new, old, world)
    admitted = draft.write(new)
    if draft.before is not None and draft.vm.spec == draft.before.spec:
        return Admitted(admitted, draft.warnings)
    verdict = _judge(admitted, draft, world)
    if verdict.causes:
        refuse(verdict.causes, draft.warnings + verdict.warnings)
    return Admitted(admitted, draft.warnings + verdict.warnings)


def complete_vm(new: Tree, old: Tree | None, world: World) -> Admitted:
    """The VM completed, before others have had their say in it; StatusError if it cannot be."""
    if _is_settled(new, old):
        return Admitted(new, [])
    draft = _draft(new, old, world)
    return Admitted(draft.write(new), draft.warnings)


class _Draft(NamedTuple):
    """A VM on its way in: completed, as it was before that, and what it replaces."""

    vm: VirtualMachine
    given: Tree
    before: VirtualMachine | None
    warnings: list[str]

    def write(self, new: Tree) -> Tree:
        """The tree that it was read from, with what completion has added."""
        tree: Tree = overlay(new, self.given, to_tree(self.vm))
        return tree


def _is_settled(new: Tree, old: Tree | None) -> bool:
    return old is not None and (bool(new["metadata"].get("deletionTimestamp")) or new["spec"] == old["spec"])


def _draft(new: Tree, old: Tree | None, world: World) -> _Draft:
    vm = from_tree(new, VirtualMachine)
    before = from_tree(old, VirtualMachine) if old is not None else None
    given = to_tree(vm)
    try:
        return _Draft(vm, given, before, _complete(vm, before, world))
    except StatusError as error:
        causes = list(error.causes) or [Cause(VALUE_INVALID, error.message, "spec")]
        refuse([*causes, *split(check_machine(vm)).causes])


def refuse(causes: Iterable[Cause], warnings: Iterable[str] = ()) -> NoReturn:
    """Refuse an object for all these causes; its author is still warned."""
    causes = tuple(dict.fromkeys(causes))
    error = StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes)
    error.warnings = tuple(warnings)
    raise error


class _Found(NamedTuple):
    """What the VM names in its two roles, and whether these are there."""

    shape: Shape
    has_size: bool
    has_preference: bool

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return self.has_size and self.has_preference


def _complete(vm: VirtualMachine, before: VirtualMachine | None, world: World) -> list[str]:
    if before is not None:
        keep_lasting(vm, before)
    warnings = mutate_vm(vm, world.find, before).warnings
    if before is not None:
        mark_recapture(vm, before)
    else:
        fix_lasting(vm, world)
    return warnings


def _judge(admitted: Tree, draft: _Draft, world: World) -> Verdict:
    """What stands against a VM that would be stored as this tree; its draft is used up."""
    vm, configuration = draft.vm, world.configuration
    verdict = split(check_machine_alone(vm))
    found = _find_shape(vm, draft.before, world, verdict)
    if vm.spec.template.spec is None:
        return verdict
    trial = use_up(vm, found.shape, configuration, world.architecture)
    if not found.has_size and not _is_deferred(world):
        trial = trial._replace(unmet=[one for one in trial.unmet if one.fields == _ARCHITECTURE])
    if trial.conflicts or trial.unmet:
        misfits = _tell_misfits(from_tree(admitted, VirtualMachine), found, trial, world)
        verdict.causes.extend(place(conflict, TEMPLATE_ROOT).cause for conflict in misfits)
    is_sized = found.is_complete and not trial.conflicts
    guest = split((check_guest if is_sized else check_instance)(trial.spec, TEMPLATE_ROOT))
    if is_sized:
        ruled_out = check_configured(trial.spec, TEMPLATE_ROOT, configuration)
        guest.causes.extend(violation.cause for violation in ruled_out)
    unpermitted = check_vm_host_access(vm, found.shape, trial.spec, configuration, world.explain_host_disk)
    guest.causes.extend(conflict.cause for conflict in unpermitted)
    return Verdict(verdict.causes + guest.causes, verdict.warnings + guest.warnings)


def _find_shape(vm: VirtualMachine, before: VirtualMachine | None, world: World, verdict: Verdict) -> _Found:
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    sizing, has_size = _find(vm, before, role, world, verdict)
    liking, has_preference = _find(vm, before, "preference", world, verdict)
    shape = Shape(instancetype_spec(sizing), preference_spec(liking), default_layout(vm))
    return _Found(shape, has_size, has_preference)


def _find(
    vm: VirtualMachine, before: VirtualMachine | None, role: Role, world: World, verdict: Verdict
) -> tuple[Model | None, bool]:
    """The object named in a role, and whether that is all; what is missing is told in the verdict."""
    try:
        return find_object(vm, role, world.find), True
    except NotFoundError as error:
        if before is None or find_matcher(vm, role) != find_matcher(before, role):
            _tell_missing(vm, role, error, world, verdict)
    except StatusError as error:
        causes = error.causes or (Cause(VALUE_INVALID, error.message, f"spec.{role}.revisionName"),)
        verdict.causes.extend(causes)
    return None, False


def _tell_missing(vm: VirtualMachine, role: Role, error: NotFoundError, world: World, verdict: Verdict) -> None:
    message = error.message
    if error.reference.kind != "ControllerRevision":
        message = explain_missing(error.reference, role, namespace_of(vm), world, _ADVICE)
    if _is_deferred(world):
        verdict.warnings.append(f"{error.field}: {message}; the VM can start once it is there")
    else:
        verdict.causes.append(Cause("FieldValueNotFound", message, error.field))


def _is_deferred(world: World) -> bool:
    settings = world.configuration.instancetype if world.configuration else None
    return settings is not None and settings.missing_reference == _DEFER


def _tell_misfits(vm: VirtualMachine, found: _Found, trial: Trial, world: World) -> list[Conflict]:
    """All that stands against the VM with this shape, and instance types that would do."""
    fit = Fit(draft_template(vm), found.shape.instancetype, found.shape.preference, world.architecture)
    uneven = fit.check_spread()
    unmet = trial.unmet
    if not unmet and found.is_complete:
        unmet = [describe_unmet(conflict) for conflict in fit.check_requirements()]
    advice = _advise(vm, fit, world) if (uneven or unmet) and found.is_complete else ""
    conflicts = [c._replace(message=c.message + advice) if c == uneven else c for c in trial.conflicts]
    return conflicts + [conflict._replace(message=conflict.message + advice) for conflict in unmet]


def _advise(vm: VirtualMachine, fit: Fit, world: World) -> str:
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    matcher = find_matcher(vm, role)
    if matcher is None:
        return ""
    group = INSTANCETYPE_GROUP if role == "instancetype" else FLAVOR_GROUP
    return fit.advise(list_candidates(group, namespace_of(vm), world), matcher.name or "")
