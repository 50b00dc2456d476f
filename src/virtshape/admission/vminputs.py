"""Gather the inputs of VM validation: the instance type, the preference and the KubeVirt configuration."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from virtshape.admission.clusterstate import CONFIGURATION, Finder, read_configuration
from virtshape.admission.missing import search_explanation
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.resolve.find import namespace_of, search_object
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import NotFoundError
from virtshape.resolve.search import Search

_ADVICE: Final = "correct the name, or create it first"


class Found(NamedTuple):
    """
    The object that a VM names in a role, or the reason why it was not found; neither if the VM names nothing.

    `explanation` is the message for a missing object; it is empty if an update keeps the reference.
    """

    object: Model | None = None
    error: StatusError | None = None
    explanation: str = ""


UNRESOLVED: Final = Found(error=StatusError(422, "Invalid", "the matcher is invalid"))
"""The result for a matcher that is invalid or cannot be inferred; the matcher's error is reported separately."""


class References(NamedTuple):
    """
    The result of resolving the matchers of a VM.

    `error` has one cause for each matcher that is invalid or cannot be inferred, and `unresolved` are their roles.
    `inferred` has the volume of each matcher that asks for inference.
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
    """Gather the objects that the validity of the VM depends on; `preference` is an earlier search result, or None."""
    configuration = read_configuration((yield CONFIGURATION))
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    sizing = UNRESOLVED if role in references.unresolved else (yield from search_role(vm, role))
    if isinstance(sizing.error, NotFoundError):
        sizing = yield from _explain(vm, before, role, sizing.error, known, references)
    if "preference" in references.unresolved:
        preference = UNRESOLVED
    elif preference is None:
        preference = yield from search_role(vm, "preference")
    if isinstance(preference.error, NotFoundError):
        preference = yield from _explain(vm, before, "preference", preference.error, known, references)
    return ValidationInputs(sizing, preference, configuration)


def search_role(vm: VirtualMachine, role: Role) -> Search[Found]:
    """Find the object that the VM names in this role, or the reason why it was not found."""
    try:
        return Found((yield from search_object(vm, role)))
    except StatusError as error:
        return Found(error=error)


def _explain(
    vm: VirtualMachine,
    before: VirtualMachine | None,
    role: Role,
    error: NotFoundError,
    known: Finder,
    references: References,
) -> Search[Found]:
    """Return the result for a missing object, with an explanation unless an update keeps the reference to it."""
    if before is not None and find_matcher(vm, role) == find_matcher(before, role):
        return Found(error=error)
    if error.reference.kind == "ControllerRevision":
        return Found(error=error, explanation=error.message)
    explanation = yield from search_explanation(error.reference, role, namespace_of(vm), known, _ADVICE)
    volume = references.inferred.get(role)
    return Found(error=error, explanation=f"{explanation} (inferred from volume {volume})" if volume else explanation)
