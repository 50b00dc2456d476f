"""
Garbage: which objects have lost their owners, and what each way of deleting asks: foreground, background, orphan.

Pure: works on what is known of objects and their owners; never reads or deletes one.
"""

from collections.abc import Iterable, Iterator
from sys import intern
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.meta import ObjectMeta, OwnerReference

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


class Identity(Struct, frozen=True):
    """One object: what it is, where it is, and its UID."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class Member(Struct, frozen=True):
    """What matters of an object to those that collect garbage."""

    identity: Identity
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False

    @property
    def waits_for_dependents(self) -> bool:
        """Whether it is being deleted in the foreground."""
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """Whether it is being deleted and leaves its dependents behind."""
        return self.deleting and ORPHAN in self.finalizers


class Delete(Struct, frozen=True):
    """Delete the object, itself in the foreground if what it owns blocks its own owner."""

    target: Identity
    policy: str


class Disown(Struct, frozen=True):
    """Take these owners off the object."""

    target: Identity
    owners: frozenset[str]


class Release(Struct, frozen=True):
    """Take the finalizer off the object, whose dependents are dealt with."""

    target: Identity
    finalizer: str


Step = Delete | Disown | Release


def read_member(api_version: str, kind: str, metadata: ObjectMeta) -> Member:
    """What matters of an object."""
    identity = Identity(api_version, kind, intern(metadata.namespace or ""), metadata.name or "", metadata.uid or "")
    return Member(
        identity,
        tuple(_slim(owner) for owner in metadata.owner_references or ()),
        tuple(metadata.finalizers or ()),
        metadata.deletion_timestamp is not None,
    )


def _slim(owner: OwnerReference) -> OwnerReference:
    """The same reference, with what many have in common kept only once."""
    return replace(owner, api_version=intern(owner.api_version), kind=intern(owner.kind))


class Graph:
    """Objects and the edges between them, by UID; an owner may be named that was never seen."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def put(self, member: Member) -> None:
        """Know the object as it is now."""
        uid = member.identity.uid
        self._unlink(uid)
        self._members[uid] = member
        for owner in member.owners:
            self._dependents.setdefault(owner.uid, {})[uid] = None

    def remove(self, uid: str) -> None:
        """Know that the object is gone; what it owned still names it."""
        self._unlink(uid)
        self._members.pop(uid, None)

    def find(self, uid: str) -> Member | None:
        """What is known of an object."""
        return self._members.get(uid)

    def dependents(self, uid: str) -> list[Member]:
        """The objects that name this one as an owner."""
        return [self._members[one] for one in self._dependents.get(uid, ())]

    def _unlink(self, uid: str) -> None:
        before = self._members.get(uid)
        for owner in before.owners if before else ():
            siblings = self._dependents.get(owner.uid, {})
            siblings.pop(uid, None)
            if not siblings:
                self._dependents.pop(owner.uid, None)


def decide_steps(member: Member, graph: Graph, absent: Iterable[str]) -> list[Step]:
    """What to do about an object; `absent` are the UIDs of owners that were looked for and are not there."""
    dependents = graph.dependents(member.identity.uid)
    if member.orphans_dependents:
        return list(_orphan(member, dependents))
    steps = list(_finish_foreground(member, dependents)) if member.waits_for_dependents else []
    return steps if member.deleting else [*steps, *_collect(member, graph, frozenset(absent), dependents)]


def _orphan(member: Member, dependents: list[Member]) -> Iterator[Step]:
    uid = member.identity.uid
    for dependent in dependents:
        yield Disown(dependent.identity, frozenset({uid}))
    if not dependents:
        yield Release(member.identity, ORPHAN)


def _finish_foreground(member: Member, dependents: list[Member]) -> Iterator[Step]:
    """Let go of an object that was waiting for dependents which are now gone."""
    if not any(_blocks(dependent, member) for dependent in dependents):
        yield Release(member.identity, FOREGROUND)


def _blocks(dependent: Member, owner: Member) -> bool:
    return any(ref.uid == owner.identity.uid and ref.block_owner_deletion for ref in dependent.owners)


def _collect(member: Member, graph: Graph, absent: frozenset[str], dependents: list[Member]) -> Iterator[Step]:
    """Delete an object without owners left; take off it those that are gone while another stays."""
    gone, waiting = set(), set()
    for owner in member.owners:
        known = graph.find(owner.uid)
        if owner.uid in absent:
            gone.add(owner.uid)
        elif known is not None and known.waits_for_dependents:
            waiting.add(owner.uid)
    if not gone and not waiting:
        return
    if len(gone) + len(waiting) < len(member.owners):
        yield Disown(member.identity, frozenset(gone | waiting))
    else:
        in_foreground = waiting and dependents
        yield Delete(member.identity, "Foreground" if in_foreground else "Background")
