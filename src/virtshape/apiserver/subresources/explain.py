"""
Explain the VM in a request body: the expanded VM, the origin of each field, and all violations. Nothing is stored.

Violations are those that admission would report. Violations are part of the result and do not make the request fail.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from msgspec import Struct

from virtshape.admission.admit import evaluate
from virtshape.admission.checkresult import WARNINGS
from virtshape.admission.clusterstate import CONFIGURATION, ClusterState, Steps, read_configuration
from virtshape.admission.submission import Submission
from virtshape.api.codec import encode, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.expand import add_empty_members, read_sent
from virtshape.apiserver.subresources.route import KINDS, VIRTUAL_MACHINES
from virtshape.engine.draft import Trace
from virtshape.engine.expand import expand_vm
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.find import search_shape
from virtshape.resolve.infer import INFERRED, InferredRole, search_matchers
from virtshape.resolve.matcher import find_full_kind, find_matcher
from virtshape.resolve.origins import list_origins, search_sources_of_fields

_ORIGINS: Final = {"VM": "user", "instance type": "instancetype"}


class FieldOrigin(Struct, omit_defaults=True):
    """A field of the expanded VM: its value, its origin, and the name and revision of the object that set it."""

    field: str
    """The path of the field."""
    value: Any
    """The value of the field."""
    origin: str
    """The origin of the value: `user`, `instancetype`, `flavor`, `preference` or `default`."""
    source: str = ""
    """The name of the object that set the value; absent for defaults."""
    revision: str = ""
    """The ControllerRevision from which that object's content was read, if any."""


class Problem(Struct):
    """A problem with one field, or with several fields that conflict."""

    field: str
    """The path of the field, or several paths separated by commas."""
    reason: str
    """The reason as in the causes of a Status, such as `FieldValueInvalid`."""
    message: str
    """The description of the problem."""


class Inferred(Struct, rename="camel"):
    """A reference that was inferred from a volume."""

    field: str
    """The path of the reference, such as `spec.instancetype`."""
    kind: str
    """The kind of the object that was inferred."""
    name: str
    """The name of the object that was inferred."""
    volume: str
    """The volume that the object was inferred from."""


class VMExplanation(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The explanation of a VM: the expanded VM, the origins of its fields, and its violations and warnings."""

    virtual_machine: VirtualMachine | None = None
    """The expanded VM; absent if the VM cannot be expanded."""
    origins: list[FieldOrigin]
    """The origin of each field of the expanded VM; empty if the VM cannot be expanded."""
    inferred: list[Inferred]
    """References that were inferred from volumes."""
    problems: list[Problem]
    """All violations for which admission would reject the VM."""
    warnings: list[Problem]
    """All warnings that admission would return."""


class _Expansion(NamedTuple):
    vm: VirtualMachine | None
    origins: list[FieldOrigin]
    inferred: list[Inferred]
    errors: tuple[FieldError, ...]


def explain_sent(data: bytes, namespace: str, cluster: ClusterState) -> Steps[bytes]:
    """Return the explanation of the VM in a request body, as JSON; raise StatusError 400 if the VM is invalid."""
    vm = read_sent(data, namespace)
    submission = Submission(KINDS[VIRTUAL_MACHINES], to_tree(vm), None, stored=False)
    expansion = yield from _expand(vm)
    violations = (yield from evaluate(submission, cluster)).violations
    errors = [violation for violation in violations if violation.rule not in WARNINGS]
    return encode(
        VMExplanation(
            virtual_machine=expansion.vm,
            origins=expansion.origins,
            inferred=expansion.inferred,
            problems=describe_problems(errors or expansion.errors),
            warnings=describe_problems(violation for violation in violations if violation.rule in WARNINGS),
        )
    )


def describe_problems(errors: Iterable[FieldError]) -> list[Problem]:
    """Convert problems to the response format, without duplicates."""
    return [Problem(error.field, error.reason, error.message) for error in dict.fromkeys(errors)]


def _expand(vm: VirtualMachine) -> Steps[_Expansion]:
    """Expand the VM in place, and record the source of each field."""
    volumes = {role: _find_inference_volume(vm, role) for role in INFERRED}
    inferred: list[Inferred] = []
    try:
        yield from search_matchers(vm)
        for role, volume in volumes.items():
            matcher = find_matcher(vm, role)
            if volume and matcher is not None:
                kind = find_full_kind(matcher, role) or matcher.kind or ""
                inferred.append(Inferred(f"spec.{role}", kind, matcher.name or "", volume))
        shape = yield from search_shape(vm)
        sources = yield from search_sources_of_fields(vm)
    except StatusError as error:
        return _Expansion(None, [], inferred, error.causes or (FieldError("", error.message),))
    configuration = read_configuration((yield CONFIGURATION))
    trace = Trace()
    conflicts = expand_vm(vm, shape, configuration, default_architecture(configuration), trace)
    if conflicts:
        return _Expansion(None, [], inferred, tuple(conflicts))
    origins = [
        FieldOrigin(one.field, one.value, _ORIGINS.get(one.source, one.source), one.name or "", one.revision or "")
        for one in list_origins(vm, trace, sources)
    ]
    add_empty_members(vm)
    return _Expansion(vm, origins, inferred, ())


def _find_inference_volume(vm: VirtualMachine, role: InferredRole) -> str | None:
    matcher = vm.spec.instancetype if role == "instancetype" else vm.spec.preference
    return matcher.infer_from_volume if matcher is not None else None
