"""ObjectStore: the protocol by which actions read and change VMs and VMIs, and its embedded implementation."""

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from virtshape.admission.clusterstate import ClusterState, Steps
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.times import now
from virtshape.apiserver.admission.kubevirt import APISERVER_USER
from virtshape.apiserver.admission.storestate import StoreState
from virtshape.apiserver.message import Request
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.subresources.crossnamespace import CallerReads
from virtshape.apiserver.subresources.startstop import STALE, Change, conflict
from virtshape.apiserver.writeoptions import WriteOptions
from virtshape.apiserver.writing import WriteContext, change_object
from virtshape.resolve.reference import Reference
from virtshape.store.record import Record

T = TypeVar("T")

MANAGER: Final = "virt-api"


class ObjectStore(Protocol):
    """Reads and changes VMs and VMIs."""

    async def find(self, kind: Kind, namespace: str, name: str) -> bytes | None:
        """Return an object as JSON, or None."""

    async def change(
        self, request: Request, kind: Kind, namespace: str, name: str, change: Change, *, dry_run: bool
    ) -> None:
        """Write a change to an object, as the user of virtshape's API server."""

    @property
    def cluster(self) -> ClusterState:
        """The state of the cluster, for admission decisions."""

    async def run(self, start: Callable[[], Steps[T]], reads: CallerReads) -> T:
        """
        Run the search that `start` creates, and return its result; `reads` authorizes reads in other namespaces.

        `start` may be called more than once.
        """


async def get_object(objects: ObjectStore, kind: Kind, namespace: str, name: str, called: str) -> bytes:
    """Return a VM or VMI as JSON; if it does not exist, raise StatusError 404 with `called` as the name of its kind."""
    found = await objects.find(kind, namespace, name)
    if found is None:
        error = StatusError(404, "NotFound", f'{called}.kubevirt.io "{name}" not found')
        raise error.about("kubevirt.io", called, name)
    return found


def require_expected(stored: JsonObject, change: Change, kind: str, name: str) -> None:
    """Raise StatusError 409 if the object has changed since the change was decided."""
    part = stored.get(change.part) or {}
    if change.expected is not None and any(part.get(field) != value for field, value in change.expected.items()):
        raise conflict(kind, name, STALE)


class EmbeddedObjects:
    """VMs and VMIs in the embedded store."""

    def __init__(self, context: WriteContext, cluster: StoreState) -> None:
        self._context = context
        self.cluster = cluster

    async def find(self, kind: Kind, namespace: str, name: str) -> bytes | None:
        """Return an object as stored, or None."""
        record = self._context.store.get(resource_of(kind).key(namespace, name))
        return record.value if record is not None else None

    async def change(
        self, request: Request, kind: Kind, namespace: str, name: str, change: Change, *, dry_run: bool
    ) -> None:
        """Store the object with the change; retry on conflict."""
        subresource = "status" if change.part == "status" else ""
        target = Route("update", kind, namespace, name, subresource)
        options = WriteOptions(manager=MANAGER, dry_run=dry_run, validation="Ignore", force=False, now=now())

        def apply(old: JsonObject, _: Record) -> JsonObject:
            require_expected(old, change, kind.kind.lower(), name)
            part = {**(old.get(change.part) or {}), **change.values}
            return {**old, change.part: {name: value for name, value in part.items() if value is not None}}

        await change_object(self._context, request, target, APISERVER_USER, options, apply, [], retries=True)

    async def run(self, start: Callable[[], Steps[T]], reads: CallerReads) -> T:
        """Return the result of a search on the objects in the store."""
        search, found = start(), None
        while True:
            try:
                query = search.send(found)
            except StopIteration as finished:
                result: T = finished.value
                return result
            if isinstance(query, Reference) and reads.needs_permission(query):
                await reads.require(query)
            found = self.cluster.answer(query)
