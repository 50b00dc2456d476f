"""
Drift: compare the revisions that a VM uses with the live instance type and preference.

Specs are compared by meaning: quantities by amount, and empty lists and maps as if absent. An empty struct differs
from an absent one, since it enables a feature.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.conversion import VERSIONS, read_payload_version, read_revision_payload
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity
from virtshape.resolve.find import find_revision, refer
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import Lookup, NotFoundError, Reference

State = Literal["same", "changed", "gone", "older version", "missing"]
"""`gone` means that the live object was deleted, and `missing` that the revision was deleted."""


class Change(NamedTuple):
    """A changed field with its old and new value; None means absent."""

    field: str
    then: Any
    now: Any


class Drift(NamedTuple):
    """A revision that a VM uses, compared with the live object."""

    role: Role
    object: Reference
    revision: str
    state: State
    changes: list[Change]

    @property
    def has_drifted(self) -> bool:
        """Return True if the live object differs from the revision, or one of them no longer exists."""
        return self.state in ("changed", "gone", "missing")


def find_drift(vm: VirtualMachine, role: Role, lookup: Lookup) -> Drift | None:
    """Compare the VM's revision in this role with the live object; return None if the VM uses no revision."""
    matcher = find_matcher(vm, role)
    if matcher is None:
        return None
    reference = refer(vm, role, matcher)
    try:
        revision = find_revision(vm, role, matcher, lookup)
    except NotFoundError as error:
        return Drift(role, reference, error.reference.name, "missing", [])
    if revision is None:
        return None
    live = lookup(reference)
    state, changes = compare(revision, live, reference.kind)
    name = revision.metadata.name or ""
    return Drift(role, reference, name, state, changes)


def compare(revision: ControllerRevision, live: Model | None, kind: str) -> tuple[State, list[Change]]:
    """Compare the object in a revision with the live object of this kind; return the state and the changed fields."""
    kept: Any = read_revision_payload(revision.data, kind)
    if live is None:
        return "gone", []
    tree = to_tree(live)
    present: Any = read_revision_payload(tree, kind)  # convert to the same struct, whatever version the server returns
    changes = list(compare_values(kept.spec, present.spec, "spec"))
    if changes:
        return "changed", changes
    return "older version" if _is_older(read_payload_version(revision.data, kind), tree["apiVersion"]) else "same", []


def _is_older(one: str, other: str) -> bool:
    group, _, version = one.partition("/")
    other_group, _, other_version = other.partition("/")
    known = VERSIONS.get(group, ())
    return group == other_group and version != other_version and known.index(version) < known.index(other_version)


def compare_values(then: object, now: object, path: str) -> Iterator[Change]:
    """Yield each changed field at or below the path."""
    if isinstance(then, Model) and type(then) is type(now):
        for name, wire_name in zip(then.__struct_fields__, then.__struct_encode_fields__, strict=True):
            yield from compare_values(getattr(then, name), getattr(now, name), f"{path}.{wire_name}")
    elif isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            yield from compare_values(then.get(key), now.get(key), f"{path}[{key}]")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from compare_values(old, new, f"{path}[{number}]")
    elif _meaning(then) != _meaning(now):
        yield Change(path, to_tree(then), to_tree(now))


def _meaning(value: object) -> object:
    if isinstance(value, Quantity):
        return value.amount
    return None if isinstance(value, (list, dict)) and not value else value
