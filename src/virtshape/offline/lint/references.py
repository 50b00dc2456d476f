"""
Check the references of VMs: their instance type, flavor and preference must exist or be inferred.

Replaces matchers that request inference by the inferred ones, in the VM passed in.
"""

from collections.abc import Generator
from typing import Final, Literal

from msgspec.structs import replace

from virtshape.admission.matcher import ROLES, check_matchers
from virtshape.api.conversion import PayloadError
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.machine import FlavorMatcher, VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.offline.lint.context import LintContext
from virtshape.resolve.find import find_object, namespace_of
from virtshape.resolve.infer import IGNORE, infer_matchers
from virtshape.resolve.matcher import Matcher, Role, find_matcher
from virtshape.resolve.reference import NotFoundError

UNKNOWN: Final = "unknown"
"""An object that the VM refers to and that cannot be determined from the files."""
Found = Model | Literal["unknown"] | None
Issues = Generator[FieldError, None, Found]

_LABELS: Final[dict[Role, str]] = {"instancetype": "instance type", "preference": "preference", "flavor": "flavor"}


def check_own_matchers(vm: VirtualMachine) -> Generator[FieldError, None, set[Role]]:
    """Yield issues of contradictory matchers; return the roles that cannot be resolved."""
    invalid: set[Role] = set()
    for cause in check_matchers(vm):
        yield FieldError(cause.field, cause.message, rule="invalid-matcher")
        invalid.update(role for role in ROLES if cause.field.startswith(f"spec.{role}"))
    if vm.spec.flavor is not None and vm.spec.instancetype is not None:
        invalid.update(("flavor", "instancetype"))
    return invalid


def check_reference(vm: VirtualMachine, role: Role, context: LintContext) -> Issues:
    """Yield issues of a reference; return the object it refers to."""
    matcher = find_matcher(vm, role)
    if matcher is None:
        return None
    volume = None if isinstance(matcher, FlavorMatcher) else matcher.infer_from_volume
    if volume and not (yield from _check_inference(vm, role, matcher, context)):
        return UNKNOWN
    inferred = find_matcher(vm, role)
    if inferred is None:
        return None
    origin = f" (inferred from volume {volume})" if volume else ""
    return (yield from _check_found(vm, role, inferred, context, origin))


def _check_inference(
    vm: VirtualMachine, role: Role, matcher: Matcher, context: LintContext
) -> Generator[FieldError, None, bool]:
    """Replace the matcher by the one inferred from its volume; return False if that cannot be determined."""
    other = "preference" if role == "instancetype" else "instancetype"
    alone = replace(vm, spec=replace(vm.spec, **{other: None}))
    field = f"spec.{role}.inferFromVolume"
    memory = _describe_memory(vm)
    try:
        warnings = infer_matchers(alone, context.find)
    except NotFoundError as error:
        missing = context.describe_missing(error.reference).replace(" not found", " not found in the files", 1)
        message = f"the {_LABELS[role]} cannot be inferred from the files: {missing}"
        ignores = getattr(matcher, "infer_from_volume_failure_policy", None) == IGNORE
        if ignores and role == "instancetype":
            message += f"; if it has no default, the VM gets {memory}"
        yield FieldError(field, message, rule="inference-unknown")
        return False
    except StatusError as error:
        yield FieldError(field, error.message, rule="inference-failed")
        return False
    setattr(vm.spec, role, getattr(alone.spec, role))
    for warning in warnings:
        if role == "instancetype":
            yield FieldError(field, f"{warning}: it gets {memory}", rule="inference-ignored")
        else:
            yield FieldError(field, warning, rule="preference-ignored")
    return True


def _describe_memory(vm: VirtualMachine) -> str:
    """Return the memory that the VM gets without an instance type, for messages."""
    memory = vm.spec.template.spec.domain.memory if vm.spec.template.spec else None
    return f"only its own {memory.guest} of memory" if memory and memory.guest is not None else "no memory"


def _check_found(vm: VirtualMachine, role: Role, matcher: Matcher, context: LintContext, origin: str) -> Issues:
    try:
        return find_object(vm, role, context.find)
    except NotFoundError as error:
        missing = error
    except PayloadError as error:
        yield FieldError(f"spec.{role}.revisionName", error.message, rule="invalid-revision")
        return UNKNOWN
    except StatusError as error:
        yield FieldError(f"spec.{role}.kind", f"{error.message}{origin}", rule="matcher-kind")
        return UNKNOWN
    if missing.reference.kind == "ControllerRevision":
        if missing.field.startswith("spec."):
            advice = f"remove it to use the current {_LABELS[role]}, or check the revision's file too"
            message = context.describe_missing(missing.reference)
            yield FieldError(missing.field, f"{message}: {advice}", rule="missing-revision")
        unpinned = replace(matcher, revision_name=None)
        live = replace(vm, spec=replace(vm.spec, **{role: unpinned}), status=None)
        return (yield from _check_found(live, role, unpinned, context, origin))
    if not context.is_broken(missing.reference):
        message = context.explain_missing(missing.reference, role, namespace_of(vm))
        yield FieldError(missing.field, f"{message}{origin}", rule="missing-reference")
    return UNKNOWN
