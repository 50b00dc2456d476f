"""
Garbage collection decisions: which objects have lost their owners, and what foreground and orphan deletion require.

The functions are pure: they work on a graph of objects and owner references, and never read or delete an object.
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
    """Identifies one object: kind, namespace, name and UID."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class GraphNode(Struct, frozen=True):
    """Garbage collection data of one object."""

    identity: Identity
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False

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
    """Remove these owner references from the object."""

    target: Identity
    owners: frozenset[str]


class RemoveFinalizer(Struct, frozen=True):
    """Remove this finalizer from an object whose dependents have been processed."""

    target: Identity
    finalizer: str


Step = Delete | RemoveOwners | RemoveFinalizer


def make_graph_node(api_version: str, kind: str, metadata: ObjectMeta) -> GraphNode:
    """Return the graph node of an object."""
    identity = Identity(api_version, kind, intern(metadata.namespace or ""), metadata.name or "", metadata.uid or "")
    return GraphNode(
        identity,
        tuple(_slim(owner) for owner in metadata.owner_references or ()),
        tuple(metadata.finalizers or ()),
        metadata.deletion_timestamp is not None,
    )


def _slim(owner: OwnerReference) -> OwnerReference:
    """Return the reference with interned strings, to save memory."""
    return replace(owner, api_version=intern(owner.api_version), kind=intern(owner.kind))


class Graph:
    """Objects and owner references by UID; owners may be unknown."""

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
        """Remove an object; its dependents still refer to it."""
        self._unlink(uid)
        self._nodes.pop(uid, None)

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


def _list_dependents(owner: GraphNode, graph: Graph) -> list[GraphNode]:
    """Return the objects that this one owns; objects that only repeat its UID do not count."""
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
    """Return True if a foreground deletion waits, directly or through others, for the wanted object."""
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
    """Yield the deletion of an object if no owner is left, or the removal of references to owners that are gone."""
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
