"""
Read access to cluster objects for admission and expansion decisions that run outside the API server.

Objects come from informers, and from the API server where informers have none. Because informers may lag behind, a
decision that rejects a request is repeated with objects read directly from the API server. Read-only.
"""

import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

import msgspec

from virtshape.admission.clusterstate import ClusterState
from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.configuration import KubeVirt, KubeVirtConfiguration
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.timestamp import now
from virtshape.client.informer import Informers
from virtshape.client.resources import format_target, kind_of
from virtshape.client.rest import RestClient
from virtshape.controllers.manager import INSTANCETYPE_KINDS
from virtshape.controllers.runtime.cache import struct_of
from virtshape.engine.hostaccess import explain_host_disks
from virtshape.engine.machine import default_architecture
from virtshape.resolve.reference import Reference

T = TypeVar("T")

CONFIGURATION: Final = Reference("kubevirt.io", "KubeVirt", "kubevirt", "kubevirt")
CACHED: Final[tuple[type[Model], ...]] = (KubeVirt, *INSTANCETYPE_KINDS)
MAX_LOOKUPS: Final = 64
"""Limit of lookups per decision; no valid decision needs that many."""
MAX_CACHED_REVISIONS: Final = 1024
MAX_COUNTED_OWNERS: Final = 10_000
_PAGE: Final = 500
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_NAME_LABEL: Final = "instancetype.kubevirt.io/object-name"
_KIND_LABEL: Final = "instancetype.kubevirt.io/object-kind"


class MissingLookupError(Exception):
    """A decision needs an object or a count that has not been read from the API server yet."""

    def __init__(self, lookup: "Lookup") -> None:
        super().__init__(str(lookup))
        self.lookup = lookup


class Lookup(msgspec.Struct, frozen=True):
    """A request to the API server: for an object, or for the number of VMs that use it."""

    reference: Reference
    counts: bool = False


class AdmissionContext:
    """Runs decisions and reads the objects that they need."""

    def __init__(self, client: RestClient, informers: Informers) -> None:
        self._client = client
        self._informers = informers
        self._revisions: OrderedDict[Reference, Model] = OrderedDict()
        for kind in CACHED:
            informers.add(kind)

    @property
    def is_ready(self) -> bool:
        """Return True if all informers have listed their objects."""
        return all(self._informers.add(kind).synced.is_set() for kind in CACHED)

    async def decide(self, call: Callable[[ClusterState], T]) -> T:
        """Return the result of a decision; before it raises StatusError, repeat it with current objects."""
        state = _CachedState(self._informers, self._revisions)
        try:
            return await self._resolve(call, state)
        except StatusError:
            if not state.used_cache:
                raise
        return await self._resolve(call, _CachedState(self._informers, {}, is_fresh=True))

    async def _resolve(self, call: Callable[[ClusterState], T], state: "_CachedState") -> T:
        for _ in range(MAX_LOOKUPS):
            try:
                return call(state)
            except MissingLookupError as error:
                lookup = error.lookup
                state.results[lookup] = await (
                    self._count(lookup.reference) if lookup.counts else self._fetch(lookup.reference)
                )
        raise StatusError(
            500, "InternalError", f"Internal error occurred: the decision needs more than {MAX_LOOKUPS} lookups"
        )

    async def _fetch(self, reference: Reference) -> Model | None:
        struct = struct_of(reference)
        try:
            found = await self._client.get(struct, reference.name, reference.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        if struct is ControllerRevision:  # revisions are immutable
            self._revisions[reference] = found
            if len(self._revisions) > MAX_CACHED_REVISIONS:
                self._revisions.popitem(last=False)
        return found

    async def _count(self, reference: Reference) -> int:
        """Return the number of VMs that own a revision of the object; counting stops soon after the maximum."""
        query = {"labelSelector": f"{_NAME_LABEL}={reference.name},{_KIND_LABEL}={reference.kind}", "limit": str(_PAGE)}
        owners: set[str] = set()
        while len(owners) < MAX_COUNTED_OWNERS:
            target = format_target(kind_of(ControllerRevision), reference.namespace, query=query)
            page = _page_decoder.decode((await self._client.request("GET", target, accept=_METADATA)).body)
            owners.update(owner.uid for item in page.items or () for owner in item.metadata.owners or ())
            if not page.metadata.continuation:
                break
            query["continue"] = page.metadata.continuation
        return len(owners)


class _CachedState(ClusterState):
    """The cluster as one decision sees it: informer caches (unless `is_fresh`) and completed lookups."""

    def __init__(self, informers: Informers, cached_revisions: Any, *, is_fresh: bool = False) -> None:
        self._informers = informers
        self._cached_revisions = cached_revisions
        self._is_fresh = is_fresh
        self._listed: set[tuple[str, str, str]] = set()
        self.results: dict[Lookup, Any] = {}
        self.used_cache = False

    def find(self, reference: Reference) -> Model | None:
        """Return the object at a reference, or None; raise MissingLookupError if the API server must be asked."""
        lookup = Lookup(reference)
        if lookup in self.results:
            found: Model | None = self.results[lookup]
            return found
        cached = self._find_cached(reference)
        if cached is None and not self._is_known_absent(reference):
            raise MissingLookupError(lookup)
        self.used_cache = True
        self.results[lookup] = cached
        return cached

    def _is_known_absent(self, reference: Reference) -> bool:
        """Return True if informers have synced and found no KubeVirt configuration."""
        if self._is_fresh or reference != CONFIGURATION:
            return False
        return self._informers.add(KubeVirt).synced.is_set()

    def _find_cached(self, reference: Reference) -> Model | None:
        if self._is_fresh and (reference.group, reference.kind, reference.namespace) not in self._listed:
            return None
        if reference in self._cached_revisions:
            cached_revisions: Model = self._cached_revisions[reference]
            return cached_revisions
        try:
            struct = struct_of(reference)
        except LookupError:
            return None
        return self._informers.find(struct, reference.name, reference.namespace) if struct in CACHED else None

    def list_names(self, group: str, kind: str, namespace: str) -> Collection[str]:
        """Return the names of all objects of a kind from the cache; they are used for suggestions only."""
        self._listed.add((group, kind, namespace))
        struct = struct_of(Reference(group, kind, namespace, ""))
        if struct not in CACHED:
            return []
        return [place.name for place in self._informers.add(struct).cache.list_keys(namespace)]

    @property
    def configuration(self) -> KubeVirtConfiguration | None:
        """The KubeVirt configuration, if there is one."""
        found = self.find(CONFIGURATION)
        return found.spec.configuration if isinstance(found, KubeVirt) and found.spec is not None else None

    @property
    def architecture(self) -> str:
        """The architecture of guests that do not name one."""
        return default_architecture(self.configuration)

    def explain_host_disk(self, path: str) -> str:
        """Return why a guest may not use this file of its node as a disk; depends on the feature gate."""
        return explain_host_disks(self.configuration)(path)

    def make_uid(self) -> str:
        """Return a new unique identifier."""
        return str(uuid.uuid4())

    def now(self) -> str:
        """Return the current time in the format of object timestamps."""
        return now()

    def count_machines(self, reference: Reference) -> int:
        """Return the number of VMs that hold a revision of this instance type, flavor or preference."""
        lookup = Lookup(reference, counts=True)
        if lookup not in self.results:
            raise MissingLookupError(lookup)
        counted: int = self.results[lookup]
        return counted


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
