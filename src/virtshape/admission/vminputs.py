"""Gather the inputs of VM validation: the instance type, the preference and the KubeVirt configuration."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from virtshape.admission.clusterstate import CONFIGURATION, Finder, read_configuration
from virtshape.admission.missing import search_explanation
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.engine.lifecycle import ACTIVE, Use, check_use, read_lifecycle
from virtshape.resolve.find import namespace_of, refer, search_object
from virtshape.resolve.matcher import KINDS, Role, find_full_kind, find_matcher, list_new_recaptures
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.search import Search

_ADVICE: Final = "correct the name, or create the object first"


class Found(NamedTuple):
    """
    The object that a VM refers to in a role, or why it was not found; both are None if the VM refers to no object.

    `explanation` is the message for a missing object, or empty if an update does not change the reference.
    `outdated` is the error or warning that the live object is deprecated or retired.
    """

    object: Model | None = None
    error: StatusError | None = None
    explanation: str = ""
    outdated: FieldError | None = None


UNRESOLVED: Final = Found(error=StatusError(422, "Invalid", "the matcher is invalid"))
"""The result for a matcher that is invalid or cannot be inferred; the matcher's error is reported separately."""


class References(NamedTuple):
    """
    The result of resolving the matchers of a VM.

    `error` has causes for all matchers that are invalid or cannot be inferred, and `unresolved` has their roles.
    `inferred` has the volume of each matcher that asks for inference, by role.
    """

    error: StatusError | None = None
    unresolved: frozenset[str] = frozenset()
    warnings: list[FieldError] = []  # noqa: RUF012 -- never modified
    inferred: Mapping[Role, str] = {}


class ValidationInputs(NamedTuple):
    """The objects that the validity of a VM depends on; `sizing` is its instance type or flavor."""

    sizing: Found
    preference: Found
    configuration: KubeVirtConfiguration | None


def gather_validation_inputs(
    vm: VirtualMachine,
    before: VirtualMachine | None,
    known: Finder,
    references: References,
    preference: Found | None = None,
) -> Search[ValidationInputs]:
    """Gather the objects that the validity of the VM depends on; look up the preference if `preference` is None."""
    configuration = read_configuration((yield CONFIGURATION))
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    sizing = UNRESOLVED if role in references.unresolved else (yield from search_role(vm, role))
    if isinstance(sizing.error, NotFoundError):
        sizing = yield from _explain(vm, before, role, sizing.error, known, references)
    elif sizing.object is not None:
        sizing = yield from _check_lifecycle(vm, before, role, sizing, references)
    if "preference" in references.unresolved:
        preference = UNRESOLVED
    elif preference is None:
        preference = yield from search_role(vm, "preference")
    if isinstance(preference.error, NotFoundError):
        preference = yield from _explain(vm, before, "preference", preference.error, known, references)
    elif preference.object is not None:
        preference = yield from _check_lifecycle(vm, before, "preference", preference, references)
    return ValidationInputs(sizing, preference, configuration)


def search_role(vm: VirtualMachine, role: Role) -> Search[Found]:
    """Find the object that the VM refers to in this role, or the reason why it was not found."""
    try:
        return Found((yield from search_object(vm, role)))
    except StatusError as error:
        return Found(error=error)


def list_lifecycle_warnings(vm: VirtualMachine, known: Finder) -> Iterator[str]:
    """Yield a warning for each deprecated or retired object that a stored VM uses."""
    for role in KINDS:
        matcher = find_matcher(vm, role)
        if matcher is None or find_full_kind(matcher, role) is None:
            continue
        reference = refer(vm, role, matcher)
        live: Any = known.find(reference)
        if live is None:
            continue
        use = Use(reference.kind, reference.name, f"spec.{role}.name", is_new=False)
        warning = check_use(use, read_lifecycle(live.metadata))
        if warning is not None:
            yield warning.message


def _explain(
    vm: VirtualMachine,
    before: VirtualMachine | None,
    role: Role,
    error: NotFoundError,
    known: Finder,
    references: References,
) -> Search[Found]:
    """Return the result for a missing object; omit the explanation if an update leaves the reference unchanged."""
    if before is not None and _keeps_reference(vm, before, role):
        return Found(error=error)
    if error.reference.kind == "ControllerRevision":
        return Found(error=error, explanation=error.message)
    explanation = yield from search_explanation(error.reference, role, namespace_of(vm), known, _ADVICE)
    volume = references.inferred.get(role)
    return Found(error=error, explanation=f"{explanation} (inferred from volume {volume})" if volume else explanation)


def _keeps_reference(vm: VirtualMachine, before: VirtualMachine, role: Role) -> bool:
    return find_matcher(vm, role) == find_matcher(before, role) and role not in list_new_recaptures(vm, before)


def _check_lifecycle(
    vm: VirtualMachine, before: VirtualMachine | None, role: Role, found: Found, references: References
) -> Search[Found]:
    """Return the result, with an error or warning if the live object is deprecated or retired."""
    matcher = find_matcher(vm, role)
    if matcher is None:
        return found
    has_revision = bool(matcher.revision_name) or vm.status is not None
    live: Any = (yield refer(vm, role, matcher)) if has_revision else found.object
    lifecycle = read_lifecycle(live.metadata) if live is not None else ACTIVE
    if lifecycle is ACTIVE:
        return found
    reference = refer(vm, role, matcher)
    # A VM that is restored from a backup refers to its revision, so the VM is not a new user of the object.
    is_new = not matcher.revision_name and (before is None or not _names(before, role, reference))
    outdated = check_use(Use(reference.kind, reference.name, f"spec.{role}.name", is_new), lifecycle)
    volume = references.inferred.get(role)
    if outdated is not None and volume:
        outdated = outdated._replace(message=f"{outdated.message} (inferred from volume {volume})")
    return found._replace(outdated=outdated)


def _names(vm: VirtualMachine, role: Role, reference: Reference) -> bool:
    matcher = find_matcher(vm, role)
    return matcher is not None and find_full_kind(matcher, role) is not None and refer(vm, role, matcher) == reference
