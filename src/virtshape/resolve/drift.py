"""Drift: compare the revisions that a VM uses with the live instance type and preference."""

from typing import Any, Literal, NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.conversion import VERSIONS, read_payload_version, read_revision_payload
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.engine.compare import Change, compare_values
from virtshape.resolve.find import find_revision, refer
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import Lookup, NotFoundError, Reference

State = Literal["same", "changed", "gone", "older version", "missing"]
"""`gone` means that the live object does not exist, and `missing` that the VM's revision does not exist."""


class Drift(NamedTuple):
    """The result of comparing a revision that a VM uses with the live object."""

    role: Role
    object: Reference
    revision: str
    state: State
    changes: list[Change]

    @property
    def has_drifted(self) -> bool:
        """Return True if the live object differs from the revision, or if the object or the revision does not exist."""
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
    kept = read_revision_payload(revision.data, kind)
    if live is None:
        return "gone", []
    changes = compare_objects(kept, live)
    if changes:
        return "changed", changes
    version = to_tree(live)["apiVersion"]
    return "older version" if _is_older(read_payload_version(revision.data, kind), version) else "same", []


def compare_objects(one: Any, other: Any) -> list[Change]:
    """Return the differences between the specs of two instance types, flavors or preferences of any API versions."""
    then, now = (_convert(each).spec for each in (one, other))
    return list(compare_values(then, now, "spec"))


def _convert(found: Any) -> Any:
    return read_revision_payload(to_tree(found), found.kind)


def _is_older(one: str, other: str) -> bool:
    group, _, version = one.partition("/")
    other_group, _, other_version = other.partition("/")
    known = VERSIONS.get(group, ())
    return group == other_group and version != other_version and known.index(version) < known.index(other_version)
