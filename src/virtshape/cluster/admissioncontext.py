"""
Read access to cluster objects for admission and expansion decisions that run outside the API server.

Objects come from informers, and from the API server if informers do not have them. Because informers may lag behind, a
decision that rejects a request is repeated with objects read directly from the API server.
"""

import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, TypeVar

import msgspec

from virtshape.admission.clusterstate import CONFIGURATION, ClusterState, Query, Steps, VMCount
from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.times import now
from virtshape.api.wellknown import OBJECT_KIND_LABEL, OBJECT_NAME_LABEL
from virtshape.client.informer import Informers
from virtshape.client.resources import format_target, kind_of
from virtshape.client.rest import RestClient
from virtshape.controllers.manager import INSTANCETYPE_KINDS
from virtshape.controllers.runtime.cache import struct_of
from virtshape.controllers.vm.sharedrevisionobjects import drop_owners
from virtshape.engine.hostaccess import explain_host_disks
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import fetch_search

T = TypeVar("T")
Require = Callable[[Reference], Awaitable[None]]

CACHED: Final[tuple[type[Model], ...]] = (KubeVirt, *INSTANCETYPE_KINDS)
MAX_LOOKUPS: Final = 64
"""Maximum number of requests per decision; no valid object needs that many."""
MAX_CACHED_REVISIONS: Final = 1024
MAX_COUNTED_OWNERS: Final = 10_000
_FORBIDDEN: Final = 403
_PAGE: Final = 500
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class AdmissionContext:
    """Runs decisions and reads the objects that they request, one after the other."""

    def __init__(self, client: RestClient, informers: Informers) -> None:
        self._client = client
        self._informers = informers
        self._revisions: OrderedDict[Reference, Model] = OrderedDict()
        self.cluster = CachedState(informers)
        for kind in CACHED:
            informers.add(kind)

    async def run(self, start: Callable[[], Steps[T]], require: Require | None = None) -> T:
        """
        Return the result of a decision; if a decision with cached objects fails, repeat it once with current objects.

        `require` is called before each read of an object and may raise StatusError 403.
        """
        reads = _Reads(self, require)
        try:
            return await fetch_search(start(), reads.answer)
        except StatusError as error:
            if not reads.used_cache or error.code == _FORBIDDEN:
                raise
        return await fetch_search(start(), _Reads(self, require, is_fresh=True).answer)

    def find_cached(self, reference: Reference) -> Model | None:
        """Return a cached object, or None if the object is not cached, even if it exists."""
        return self._revisions.get(reference) or self.cluster.find(reference)

    def is_known_absent(self, reference: Reference) -> bool:
        """Return True for the configuration once its informer has synced: if it is not cached, it does not exist."""
        return reference == CONFIGURATION and self._informers.add(KubeVirt).synced.is_set()

    async def fetch(self, reference: Reference) -> Model | None:
        """Return the current object from the API server, or None if it does not exist."""
        struct = struct_of(reference)
        try:
            found = await self._client.get(struct, reference.name, reference.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        if isinstance(found, ControllerRevision):
            self._revisions[reference] = drop_owners(found)  # apart from its owners, a revision never changes
            if len(self._revisions) > MAX_CACHED_REVISIONS:
                self._revisions.popitem(last=False)
        return found

    async def count_vms(self, reference: Reference) -> int:
        """Return the number of VMs that own a revision of the object; stop counting at about MAX_COUNTED_OWNERS."""
        query = {
            "labelSelector": f"{OBJECT_NAME_LABEL}={reference.name},{OBJECT_KIND_LABEL}={reference.kind}",
            "limit": str(_PAGE),
        }
        owners: set[str] = set()
        while len(owners) < MAX_COUNTED_OWNERS:
            target = format_target(kind_of(ControllerRevision), reference.namespace, query=query)
            page = _page_decoder.decode((await self._client.request("GET", target, accept=_METADATA)).body)
            owners.update(owner.uid for item in page.items or () for owner in item.metadata.owners or ())
            if not page.metadata.continuation:
                break
            query["continue"] = page.metadata.continuation
        return len(owners)


class _Reads:
    """Reads each object once per decision: from the API server if `is_fresh`, else from the caches if possible."""

    def __init__(self, context: AdmissionContext, require: Require | None, *, is_fresh: bool = False) -> None:
        self._context = context
        self._require = require
        self._is_fresh = is_fresh
        self._results: dict[Query, Any] = {}
        self._requests = 0
        self.used_cache = False

    async def answer(self, query: Query) -> Any:
        """Return the object that the query asks for, or None if it does not exist; for a VMCount, the number of VMs."""
        if query not in self._results:
            self._results[query] = await self._read(query)
        return self._results[query]

    async def _read(self, query: Query) -> Any:
        if isinstance(query, VMCount):
            self._count_request()
            return await self._context.count_vms(query.reference)
        if self._require is not None:
            await self._require(query)
        if not self._is_fresh:
            cached = self._context.find_cached(query)
            if cached is not None or self._context.is_known_absent(query):
                self.used_cache = True
                return cached
        self._count_request()
        return await self._context.fetch(query)

    def _count_request(self) -> None:
        if self._requests >= MAX_LOOKUPS:
            message = f"Internal error occurred: the decision needs more than {MAX_LOOKUPS} lookups"
            raise StatusError(500, "InternalError", message)
        self._requests += 1


class CachedState(ClusterState):
    """The cluster as the informers have cached it, which may be outdated."""

    def __init__(self, informers: Informers) -> None:
        self._informers = informers

    @property
    def known(self) -> "CachedState":
        """The informers' objects, which may be outdated."""
        return self

    @property
    def is_standalone(self) -> bool:
        """False, because guests on a cluster run in pods."""
        return False

    def find(self, reference: Reference) -> Model | None:
        """Return the cached object at a reference, or None."""
        try:
            struct = struct_of(reference)
        except LookupError:
            return None
        return self._informers.find(struct, reference.name, reference.namespace) if struct in CACHED else None

    def list_names(self, group: str, kind: str, namespace: str) -> Collection[str]:
        """Return the names of all cached objects of a kind in a namespace."""
        struct = struct_of(Reference(group, kind, namespace, ""))
        if struct not in CACHED:
            return []
        return [place.name for place in self._informers.add(struct).cache.list_keys(namespace)]

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        """Return why a guest may not use this file of its node as a disk; empty if the feature gate allows it."""
        return explain_host_disks(configuration)(path)

    def make_uid(self) -> str:
        """Return a new unique identifier."""
        return str(uuid.uuid4())

    def now(self) -> str:
        """Return the current time in the format of object timestamps."""
        return now()


class _Owner(msgspec.Struct):
    uid: str


class _ItemMetadata(msgspec.Struct):
    owners: list[_Owner] | None = msgspec.field(default=None, name="ownerReferences")


class _Item(msgspec.Struct):
    metadata: _ItemMetadata


class _PageMetadata(msgspec.Struct):
    continuation: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _PageMetadata = msgspec.field(default_factory=_PageMetadata)
    items: list[_Item] | None = None


_page_decoder = msgspec.json.Decoder(_Page)
