"""
Garbage collection decisions: which objects have lost their owners, and what foreground and orphan deletion require.

The functions are pure: all work on a graph of objects and owner references, and none reads or deletes an object.
"""

from collections.abc import Iterable, Iterator, Sequence
from sys import intern
from typing import Final

from msgspec import Struct

from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.client.protocol import OwnershipMetadata

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


class Identity(Struct, frozen=True, gc=False):
    """Identifies one object: kind, namespace, name and UID."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class GraphNode(Struct, frozen=True, gc=False):
    """Garbage collection data of one object."""

    identity: Identity
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False

    @property
    def has_controller(self) -> bool:
        """True if one of the owners is the object's controller, so that clients add no other owners."""
        return any(owner.controller for owner in self.owners)

    @property
    def waits_for_dependents(self) -> bool:
        """True if the object is being deleted in the foreground."""
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """True if the object is being deleted and orphans its dependents."""
        return self.deleting and ORPHAN in self.finalizers


class Delete(Struct, frozen=True):
    """Delete the object with this propagation policy: Foreground or Background."""

    target: Identity
    policy: str


class RemoveOwners(Struct, frozen=True):
    """Remove the references to owners with these UIDs from the object."""

    target: Identity
    owners: frozenset[str]


class RemoveFinalizer(Struct, frozen=True):
    """Remove this finalizer from an object whose dependents have been processed."""

    target: Identity
    finalizer: str


Step = Delete | RemoveOwners | RemoveFinalizer


def make_graph_node(api_version: str, kind: str, metadata: ObjectMeta | OwnershipMetadata) -> GraphNode:
    """Return the graph node of an object."""
    texts = (api_version, kind, metadata.namespace, metadata.name, metadata.uid)
    identity = Identity(*(intern(text or "") for text in texts))
    return GraphNode(
        identity,
        tuple(_slim(owner) for owner in metadata.owner_references or ()),
        tuple(metadata.finalizers or ()),
        metadata.deletion_timestamp is not None,
    )


def _slim(owner: OwnerReference) -> OwnerReference:
    """Return the reference with interned strings, to save memory: an owner often has several dependents."""
    name, api_version, kind, uid = map(intern, (owner.name, owner.api_version, owner.kind, owner.uid))
    return OwnerReference(name, api_version, kind, uid, owner.controller, owner.block_owner_deletion)


class Graph:
    """Objects and their owner references, by UID; owners may be missing in the graph."""

    def __init__(self) -> None:
        self._nodes: dict[str, GraphNode] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def put(self, node: GraphNode) -> None:
        """Add or replace an object."""
        uid = node.identity.uid
        self._unlink(uid)
        self._nodes[uid] = node
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, {})[uid] = None

    def remove(self, uid: str) -> None:
        """Remove an object; dependents still refer to the removed object."""
        self._unlink(uid)
        self._nodes.pop(uid, None)

    def __iter__(self) -> Iterator[GraphNode]:
        return iter(self._nodes.values())

    def find(self, uid: str) -> GraphNode | None:
        """Return the node of an object, or None."""
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[GraphNode]:
        """Return the objects with an owner reference to this UID, in any namespace."""
        return [self._nodes[one] for one in self._dependents.get(uid, ())]

    def _unlink(self, uid: str) -> None:
        before = self._nodes.get(uid)
        for owner in before.owners if before else ():
            siblings = self._dependents.get(owner.uid, {})
            siblings.pop(uid, None)
            if not siblings:
                self._dependents.pop(owner.uid, None)


def refers_to(reference: OwnerReference, owner: Identity, namespace: str) -> bool:
    """
    Return True if a reference in an object of this namespace refers to exactly this owner.

    An owner must be in the same namespace or cluster-scoped. If only UIDs were compared, users of one namespace could
    block deletions in another.
    """
    return (
        reference.uid == owner.uid
        and reference.name == owner.name
        and reference.kind == owner.kind
        and _group(reference.api_version) == _group(owner.api_version)
        and owner.namespace in ("", namespace)
    )


def decide_steps(node: GraphNode, graph: Graph, absent: Iterable[str]) -> list[Step]:
    """Return the next steps for an object; `absent` are UIDs of owners that do not exist."""
    dependents = _list_dependents(node, graph)
    if node.orphans_dependents:
        return list(_orphan(node, dependents))
    steps = list(_finish_foreground(node, dependents, graph)) if node.waits_for_dependents else []
    return steps if node.deleting else [*steps, *_collect(node, graph, frozenset(absent), dependents)]


def list_affected_owners(before: GraphNode | None, now: GraphNode) -> Sequence[OwnerReference]:
    """Return the owners in `before` whose next steps may differ after the object has changed to `now`."""
    if before is None:
        return ()
    if (before.deleting, before.finalizers) != (now.deleting, now.finalizers):
        return before.owners
    kept = {owner.uid: owner for owner in now.owners}
    return [owner for owner in before.owners if kept.get(owner.uid) != owner]


def _list_dependents(owner: GraphNode, graph: Graph) -> list[GraphNode]:
    """Return the objects that `owner` owns; references that match only the UID of `owner` do not count."""
    return [one for one in graph.dependents(owner.identity.uid) if _find_reference(one, owner) is not None]


def _find_reference(dependent: GraphNode, owner: GraphNode) -> OwnerReference | None:
    namespace = dependent.identity.namespace
    return next((ref for ref in dependent.owners if refers_to(ref, owner.identity, namespace)), None)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _orphan(node: GraphNode, dependents: list[GraphNode]) -> Iterator[Step]:
    uid = node.identity.uid
    for dependent in dependents:
        yield RemoveOwners(dependent.identity, frozenset({uid}))
    if not dependents:
        yield RemoveFinalizer(node.identity, ORPHAN)


def _finish_foreground(node: GraphNode, dependents: list[GraphNode], graph: Graph) -> Iterator[Step]:
    """Yield the removal of the foreground finalizer if every blocking dependent is gone or waits for this object."""
    if not any(_blocks(dependent, node) and not _waits_for(dependent, node, graph) for dependent in dependents):
        yield RemoveFinalizer(node.identity, FOREGROUND)


def _blocks(dependent: GraphNode, owner: GraphNode) -> bool:
    reference = _find_reference(dependent, owner)
    return reference is not None and bool(reference.block_owner_deletion)


def _waits_for(node: GraphNode, wanted: GraphNode, graph: Graph) -> bool:
    """Return True if the foreground deletion of `node` waits, directly or through its dependents, for `wanted`."""
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.identity.uid == wanted.identity.uid:
            return True
        if current.identity.uid in seen or not current.waits_for_dependents:
            continue
        seen.add(current.identity.uid)
        waiting += [one for one in _list_dependents(current, graph) if _blocks(one, current)]
    return False


def _collect(node: GraphNode, graph: Graph, absent: frozenset[str], dependents: list[GraphNode]) -> Iterator[Step]:
    """
    Yield the deletion of an object if all its owners are gone or wait for it.

    If only some owners are gone or wait for it, yield the removal of the references to these owners.
    """
    gone, waiting = set(), set()
    for owner in node.owners:
        known = graph.find(owner.uid)
        if owner.uid in absent:
            gone.add(owner.uid)
        elif (
            known is not None
            and known.waits_for_dependents
            and refers_to(owner, known.identity, node.identity.namespace)
        ):
            waiting.add(owner.uid)
    if not gone and not waiting:
        return
    if len(gone) + len(waiting) < len({owner.uid for owner in node.owners}):
        yield RemoveOwners(node.identity, frozenset(gone | waiting))
    else:
        in_foreground = waiting and dependents
        yield Delete(node.identity, "Foreground" if in_foreground else "Background")
