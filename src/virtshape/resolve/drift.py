"""
How far the revisions that a VM holds have been left behind by the live objects that they are copies of.

Pure: looks objects up and changes nothing. Specs are compared by meaning: quantities by amount, empty lists and maps
like absent ones; an empty struct is a value of its own, as it switches something on.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.conversion import VERSIONS, read_payload_version, read_revision_payload
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity
from virtshape.resolve.find import find_revision, refer
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import Lookup, Reference

State = Literal["same", "changed", "gone", "older version"]


class Change(NamedTuple):
    """One field that is not what it was; None stands for a field that is not there."""

    field: str
    then: Any
    now: Any


class Drift(NamedTuple):
    """A revision that a VM holds, and what has become of the object since."""

    role: Role
    object: Reference
    revision: str
    state: State
    changes: list[Change]

    @property
    def has_drifted(self) -> bool:
        """Whether the VM would get something else if it were to take the object anew."""
        return self.state in ("changed", "gone")


def find_drift(vm: VirtualMachine, role: Role, lookup: Lookup) -> Drift | None:
    """Compare what the VM holds in this role with the live object; None if it holds no revision."""
    matcher = find_matcher(vm, role)
    revision = find_revision(vm, role, matcher, lookup) if matcher is not None else None
    if matcher is None or revision is None:
        return None
    reference = refer(vm, role, matcher)
    live = lookup(reference)
    state, changes = compare(revision, live, reference.kind)
    name = (revision.metadata.name if revision.metadata else None) or ""
    return Drift(role, reference, name, state, changes)


def compare(revision: ControllerRevision, live: Model | None, kind: str) -> tuple[State, list[Change]]:
    """Compare the copy in a revision with the object of this kind as it is now."""
    kept: Any = read_revision_payload(revision.data, kind)
    if live is None:
        return "gone", []
    tree = to_tree(live)
    present: Any = read_revision_payload(tree, kind)  # the same struct, whichever version the server has
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
    """Each field at or below the path that is not what it was."""
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
