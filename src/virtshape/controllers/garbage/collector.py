"""
The garbage collector watches objects and their owners, and deletes objects whose owners are gone.

If the collector has not seen an owner, it requests the owner from the server before it deletes anything. The collector
runs only where there is no kube-controller-manager.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from virtshape.api.kinds import Kind, find_kind
from virtshape.api.meta import OwnerReference
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client, OwnershipMetadata
from virtshape.client.resources import format_resource, kind_of, metadata_of
from virtshape.controllers.garbage.decisions import (
    Delete,
    Graph,
    GraphNode,
    Identity,
    RemoveFinalizer,
    RemoveOwners,
    Step,
    decide_steps,
    list_affected_owners,
    make_graph_node,
)
from virtshape.controllers.runtime.loop import DONE, Loop, Name, Result
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import GARBAGE_COLLECTOR

PAGE: Final = 200
WATCH_SECONDS: Final = 300
PAUSE_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


class GarbageCollector:
    """Deletes objects of the given kinds whose owners are gone."""

    def __init__(self, client: Client, kinds: Sequence[type[Model]]) -> None:
        self._client = client
        self._kinds = kinds
        self._graph = Graph()
        self._present: dict[type[Model], dict[str, Identity]] = {kind: {} for kind in kinds}
        """All objects that exist, by kind and UID."""
        self._synced = {kind: asyncio.Event() for kind in kinds}
        self._has_listed = False
        self.loop = Loop("garbage", self.reconcile)

    @contextlib.asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Collect garbage during the `async with` block, which is entered after all objects were listed."""
        async with contextlib.AsyncExitStack() as stack:
            for kind in self._kinds:
                watch = supervisor.running(GARBAGE_COLLECTOR, partial(self._follow, kind), item=format_resource(kind))
                await stack.enter_async_context(watch)
            for synced in self._synced.values():
                await synced.wait()
            self._has_listed = True
            for node in self._graph:
                self._enqueue_if_affected(node)
            await stack.enter_async_context(self.loop.running(supervisor))
            yield

    async def reconcile(self, name: Name) -> Result:
        """Reconcile the object whose UID is `name.name`."""
        node = self._graph.find(name.name)
        if node is None:
            return DONE
        absent = [owner.uid for owner in node.owners if await self._is_absent(owner, node.identity.namespace)]
        for step in decide_steps(node, self._graph, absent):
            await self._take(step, node)
        return DONE

    async def _is_absent(self, owner: OwnerReference, namespace: str) -> bool:
        """
        Return True if there is no such owner; an owner of a namespaced kind must be in the dependent's namespace.

        An owner that cannot be resolved does not count as absent, such as an owner of an unknown kind, or a namespaced
        owner of a cluster-scoped object.
        """
        kind = find_kind(owner.api_version, owner.kind)
        if kind is None or (kind.namespaced and not namespace) or self._has_seen(kind, owner, namespace):
            return False
        current = await self._find(kind, owner.name, namespace)
        return current is None or metadata_of(current).uid != owner.uid

    def _has_seen(self, kind: Kind, owner: OwnerReference, namespace: str) -> bool:
        """Return True if the owner of an object in this namespace was listed or watched, and not deleted since."""
        seen = self._present.get(kind.struct, {}).get(owner.uid)
        return seen is not None and (seen.namespace, seen.name) == (namespace if kind.namespaced else "", owner.name)

    async def _find(self, kind: Kind, name: str, namespace: str) -> Any:
        try:
            return await self._client.get(kind.struct, name, namespace if kind.namespaced else "")
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def _take(self, step: Step, node: GraphNode) -> None:
        target = step.target
        kind = find_kind(target.api_version, target.kind)
        if kind is None:
            return
        match step:
            case Delete(policy=policy):
                await self._delete(kind, node, in_foreground=policy == "Foreground")
            case RemoveOwners(owners=owners):
                await self._remove_owners(kind, target, owners)
            case RemoveFinalizer(finalizer=finalizer):
                await self._release(kind, target, finalizer)

    async def _delete(self, kind: Kind, node: GraphNode, *, in_foreground: bool) -> None:
        """Delete an object; an object without a controller is deleted only if its owners have not changed."""
        target = node.identity
        policy: Any = "Foreground" if in_foreground else "Background"
        revision = ""
        if not node.has_controller:  # clients can add more owners at any time
            item = await self._find(kind, target.name, target.namespace)
            if item is None or make_graph_node(target.api_version, target.kind, item.metadata) != node:
                return  # the object is reconciled again when the watch reports the change
            revision = item.metadata.resource_version or ""
        try:
            await self._client.delete(
                kind.struct, target.name, target.namespace, uid=target.uid, revision=revision, propagation=policy
            )
        except StatusError as error:
            if error.code != 404:
                raise

    async def _remove_owners(self, kind: Kind, target: Identity, owners: frozenset[str]) -> None:
        item = await self._find(kind, target.name, target.namespace)
        if item is None or item.metadata.uid != target.uid:
            return
        left = [owner for owner in item.metadata.owner_references or () if owner.uid not in owners]
        if left != (item.metadata.owner_references or []):
            metadata = replace(item.metadata, owner_references=left or None)
            await self._client.update(replace(item, metadata=metadata))

    async def _release(self, kind: Kind, target: Identity, finalizer: str) -> None:
        item = await self._find(kind, target.name, target.namespace)
        if item is None or item.metadata.uid != target.uid:
            return
        left = [one for one in item.metadata.finalizers or () if one != finalizer]
        if left != (item.metadata.finalizers or []):
            await self._client.update(replace(item, metadata=replace(item.metadata, finalizers=left or None)))

    async def _follow(self, kind: type[Model]) -> None:
        """Keep the graph up to date for a kind; retry on errors."""
        while True:
            try:
                await self._watch(kind)
            except (StatusError, UnreachableError) as error:
                _log.warning(
                    "garbage collector: watching %s failed: %s; retrying in %.0f s", kind.__name__, error, PAUSE_SECONDS
                )
                await asyncio.sleep(PAUSE_SECONDS)

    async def _watch(self, kind: type[Model]) -> None:
        """List and watch a kind until an error is raised."""
        revision = await self._list_all(kind)
        self._synced[kind].set()
        while True:
            events = self._client.watch_owned(kind, revision=revision, timeout=WATCH_SECONDS)
            async with aclosing(events):
                async for event in events:
                    revision = event.revision
                    if event.item is not None:
                        self._note(kind, event.item.metadata, gone=event.type == "DELETED")

    async def _list_all(self, kind: type[Model]) -> str:
        """Add all listed objects to the graph and remove missing objects; return the resource version of the list."""
        seen: set[str] = set()
        continuation = ""
        while True:
            page = await self._client.list_owned(kind, limit=PAGE, continuation=continuation)
            for item in page.items:
                self._note(kind, item.metadata, gone=False)
                seen.add(item.metadata.uid or "")
            continuation = page.continuation
            if not continuation:
                break
            await asyncio.sleep(0)  # yield to other tasks: an in-process server responds without waiting
        for uid in self._present[kind].keys() - seen:
            self._forget(kind, uid)
        return page.revision

    def _note(self, kind: type[Model], metadata: OwnershipMetadata, *, gone: bool) -> None:
        """Update the graph with a changed or deleted object, and enqueue all affected objects."""
        described = kind_of(kind)
        node = make_graph_node(described.api_version, described.kind, metadata)
        uid = node.identity.uid
        if gone:
            self._forget(kind, uid)
            return
        self._present[kind][uid] = node.identity
        before = self._graph.find(uid)
        if before == node:
            return
        self._graph.remove(uid)
        if node.owners or node.deleting:
            self._graph.put(node)
            self._enqueue_if_affected(node)
        for owner in list_affected_owners(before, node):
            self._enqueue(owner.uid)
        if node.deleting:
            self._enqueue_dependents(uid)

    def _enqueue_if_affected(self, node: GraphNode) -> None:
        """
        Enqueue an object, unless it and all its owners exist and are not being deleted.

        While the collector lists objects, it may not have seen the owners yet, so nothing is enqueued.
        """
        if self._has_listed and (node.deleting or not all(self._is_stable(owner, node) for owner in node.owners)):
            self._enqueue(node.identity.uid)

    def _is_stable(self, owner: OwnerReference, node: GraphNode) -> bool:
        """Return True if the collector has seen the owner of an object, and the owner is not being deleted."""
        kind, known = find_kind(owner.api_version, owner.kind), self._graph.find(owner.uid)
        is_deleting = known is not None and known.deleting
        return kind is not None and not is_deleting and self._has_seen(kind, owner, node.identity.namespace)

    def _forget(self, kind: type[Model], uid: str) -> None:
        self._present[kind].pop(uid, None)
        node = self._graph.find(uid)
        self._graph.remove(uid)
        self._enqueue_dependents(uid)
        for owner in _list_owners(node):
            self._enqueue(owner.uid)

    def _enqueue_dependents(self, uid: str) -> None:
        for dependent in self._graph.dependents(uid):
            self._enqueue(dependent.identity.uid)

    def _enqueue(self, uid: str) -> None:
        self.loop.queue.add(Name("", uid))


def _list_owners(node: GraphNode | None) -> tuple[OwnerReference, ...]:
    return node.owners if node is not None else ()
