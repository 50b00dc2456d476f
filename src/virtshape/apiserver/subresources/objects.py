"""
The objects that actions are about, wherever they are kept: found, changed, and what decisions on them need to know.

The protocol, and the form of it that belongs to our own store.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from virtshape.admission.world import World
from virtshape.api.kinds import Kind
from virtshape.api.moment import now
from virtshape.apiserver.admission.kubevirt import APISERVER_USER
from virtshape.apiserver.message import Request
from virtshape.apiserver.objects import Tree
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.subresources.running import Change
from virtshape.apiserver.writeoptions import WriteOptions
from virtshape.apiserver.writing import WriteContext, change_object
from virtshape.store.record import Record

T = TypeVar("T")

MANAGER: Final = "virt-api"


class ObjectStore(Protocol):
    """Keeps VMs and instances."""

    async def find(self, kind: Kind, namespace: str, name: str) -> bytes | None:
        """An object as JSON, if it is there."""

    async def change(
        self, request: Request, kind: Kind, namespace: str, name: str, change: Change, *, dry_run: bool
    ) -> None:
        """Write a change into an object, as the system itself."""

    async def decide(self, call: Callable[[World], T]) -> T:
        """What a decision comes to that needs to know the system around it."""


class EmbeddedObjects:
    """Keeps them in our own store."""

    def __init__(self, context: WriteContext, world: World) -> None:
        self._context = context
        self._world = world

    async def find(self, kind: Kind, namespace: str, name: str) -> bytes | None:
        """An object as it is stored."""
        record = self._context.store.get(resource_of(kind).key(namespace, name))
        return record.value if record is not None else None

    async def change(
        self, request: Request, kind: Kind, namespace: str, name: str, change: Change, *, dry_run: bool
    ) -> None:
        """Store the object with the change, again if somebody else was faster."""
        subresource = "status" if change.part == "status" else ""
        target = Route("update", kind, namespace, name, subresource)
        options = WriteOptions(manager=MANAGER, dry_run=dry_run, validation="Ignore", force=False, now=now())

        def apply(old: Tree, _: Record) -> Tree:
            part = {**(old.get(change.part) or {}), **change.values}
            return {**old, change.part: {name: value for name, value in part.items() if value is not None}}

        await change_object(self._context, request, target, APISERVER_USER, options, apply, [], retries=True)

    async def decide(self, call: Callable[[World], T]) -> T:
        """Decide at once: all there is to know is here."""
        return call(self._world)
