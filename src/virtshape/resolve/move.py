"""
Moves of VMs to another instance type or preference: the destination, the patch and the effect of a move.

`controllers.vm.migratetype` plans moves.
"""

from typing import Any, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher, PreferenceMatcher, VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.engine.compare import Change
from virtshape.resolve.matcher import Role, find_full_kind, find_matcher
from virtshape.resolve.reference import Reference

Applies = Literal["at start", "immediately", "at restart"]


class Destination(NamedTuple):
    """The instance type or preference that VMs will use after the move."""

    role: Role
    kind: str
    name: str


class Move(NamedTuple):
    """
    The move of a VM from one instance type or preference to another.

    `fields` are the differences between the two objects, and `changes` those between the VM's instances before and
    after the move. Both fields are None if the VM's stored revision was deleted. `fields` is also None if the VM
    referred to no object before, and `changes` if the VM cannot move. `problems` are the reasons why it cannot move,
    and `restart_reason` is why its instance needs a restart. `patch` is the JSON merge patch that makes the move.
    """

    old: Reference | None
    new: Reference
    fields: list[Change] | None
    changes: list[Change] | None
    applies: Applies
    restart_reason: str
    problems: list[str]
    warnings: list[str]
    patch: JsonObject


def role_before(vm: VirtualMachine, to: Destination) -> Role:
    """Return the role of the object that the destination replaces; an instance type may also replace a flavor."""
    return "flavor" if to.role == "instancetype" and vm.spec.flavor is not None else to.role


def with_destination(vm: VirtualMachine, to: Destination) -> VirtualMachine:
    """
    Return a copy of the VM that refers to the destination, without the revisions of objects that it no longer uses.

    If an instance type replaces a flavor, the VM's preference then refers to the instance type API group.
    """
    struct = PreferenceMatcher if to.role == "preference" else InstancetypeMatcher
    spec = replace(vm.spec, **{to.role: struct(name=to.name, kind=to.kind)})
    cleared = {f"{to.role}_ref": None}
    if role_before(vm, to) == "flavor":
        preference = spec.preference
        spec = replace(spec, flavor=None, preference=preference and replace(preference, revision_name=None))
        cleared |= {"flavor_ref": None, "preference_ref": None}
    return replace(vm, spec=spec, status=vm.status and replace(vm.status, **cleared))


def uses(vm: VirtualMachine, kind: str, name: str) -> bool:
    """Return True if the VM uses this instance type, flavor or preference; preferences for flavors do not count."""
    roles: tuple[Role, ...] = ("instancetype", "preference") if vm.spec.flavor is None else ("flavor",)
    matchers = [(role, matcher) for role in roles if (matcher := find_matcher(vm, role)) is not None]
    return any((find_full_kind(matcher, role), matcher.name) == (kind, name) for role, matcher in matchers)


def write_move(vm: VirtualMachine, to: Destination) -> JsonObject:
    """Return the merge patch that moves a VM."""
    spec: JsonObject = {to.role: {"kind": to.kind, "name": to.name, "revisionName": None}}
    if role_before(vm, to) == "flavor":
        spec["flavor"] = None
        if vm.spec.preference is not None:
            spec["preference"] = {"revisionName": None}
    return {"spec": spec}


class ObjectName(Struct):
    """The kind and name of an instance type or preference."""

    kind: str
    """The kind of the object."""
    name: str
    """The name of the object."""


class FieldChange(Struct):
    """A field that changes; null means that the field is not set."""

    field: str
    """The path of the field."""
    then: Any
    """The value before the move."""
    now: Any
    """The value after the move."""


class MovePreview(Struct, rename="camel"):
    """What changes if a VM uses another instance type or preference."""

    old: ObjectName | None = field(name="from")
    """The instance type or preference that the VM uses now; null if it uses none."""
    new: ObjectName = field(name="to")
    """The instance type or preference that the VM would use."""
    applies: str
    """When the instance changes: `at start`, `immediately` or `at restart`."""
    restart_reason: str
    """Why the instance changes only at a restart; otherwise empty."""
    fields: list[FieldChange] | None
    """The differences between the two objects; null if the differences are unknown."""
    changes: list[FieldChange] | None
    """The differences between the instances before and after the move; null if the differences are unknown."""
    problems: list[str]
    """The reasons why the VM cannot move."""
    warnings: list[str]
    """Warnings, such as that the new object is deprecated."""
    patch: Any
    """The JSON merge patch that makes the change."""


def describe_move(move: Move) -> MovePreview:
    """Return a move in the format of `virtctl migrate-type -o json` and of the API."""
    old, new = move.old, move.new
    return MovePreview(
        old=ObjectName(old.kind, old.name) if old is not None else None,
        new=ObjectName(new.kind, new.name),
        applies=move.applies,
        restart_reason=move.restart_reason,
        fields=_describe_changes(move.fields),
        changes=_describe_changes(move.changes),
        problems=move.problems,
        warnings=move.warnings,
        patch=move.patch,
    )


def _describe_changes(changes: list[Change] | None) -> list[FieldChange] | None:
    return None if changes is None else [FieldChange(*change) for change in changes]
