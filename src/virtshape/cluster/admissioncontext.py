"""
The system around an object to be admitted or expanded, seen from outside the server: through informers, and past them.

What informers do not have is asked for; and nothing is refused before all that it rests on was asked for, since what
informers have may be a moment old. Changes nothing.
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
from virtshape.api.moment import now
from virtshape.api.status import StatusError
from virtshape.client.informers import Informers
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
"""What one decision may ask for at most; none needs that much."""
MAX_CACHED_REVISIONS: Final = 1024
MAX_COUNTED_OWNERS: Final = 10_000
_PAGE: Final = 500
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_NAME_LABEL: Final = "instancetype.kubevirt.io/object-name"
_KIND_LABEL: Final = "instancetype.kubevirt.io/object-kind"


class MissingLookupError(Exception):
    """A decision needs to know something that nobody has asked for yet."""

    def __init__(self, lookup: "Lookup") -> None:
        super().__init__(str(lookup))
        self.lookup = lookup


class Lookup(msgspec.Struct, frozen=True):
    """What to ask the server: for an object, or for how many VMs use it."""

    reference: Reference
    counts: bool = False


class AdmissionContext:
    """Sees to it that decisions know what they need."""

    def __init__(self, client: RestClient, informers: Informers) -> None:
        self._client = client
        self._informers = informers
        self._revisions: OrderedDict[Reference, Model] = OrderedDict()
        for kind in CACHED:
            informers.add(kind)

    @property
    def is_ready(self) -> bool:
        """Whether everything that is kept at hand is there."""
        return all(self._informers.add(kind).synced.is_set() for kind in CACHED)

    async def decide(self, call: Callable[[ClusterState], T]) -> T:
        """What a decision comes to; what it refuses, it refuses upon what the server says now."""
        world = _CachedState(self._informers, self._revisions)
        try:
            return await self._resolve(call, world)
        except StatusError:
            if not world.used_cache:
                raise
        return await self._resolve(call, _CachedState(self._informers, {}, is_fresh=True))

    async def _resolve(self, call: Callable[[ClusterState], T], world: "_CachedState") -> T:
        for _ in range(MAX_LOOKUPS):
            try:
                return call(world)
            except MissingLookupError as error:
                lookup = error.lookup
                world.results[lookup] = await (
                    self._count(lookup.reference) if lookup.counts else self._fetch(lookup.reference)
                )
        raise StatusError(500, "InternalError", "Internal error occurred: a decision asks for too much")

    async def _fetch(self, reference: Reference) -> Model | None:
        struct = struct_of(reference)
        try:
            found = await self._client.get(struct, reference.name, reference.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        if struct is ControllerRevision:  # which never changes
            self._revisions[reference] = found
            if len(self._revisions) > MAX_CACHED_REVISIONS:
                self._revisions.popitem(last=False)
        return found

    async def _count(self, reference: Reference) -> int:
        """How many VMs hold a revision of an object; not many more than there may be are counted."""
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
    """The system as one decision sees it: what informers have unless it is to be fresh, and what was asked for."""

    def __init__(self, informers: Informers, cached_revisions: Any, *, is_fresh: bool = False) -> None:
        self._informers = informers
        self._cached_revisions = cached_revisions
        self._is_fresh = is_fresh
        self._listed: set[tuple[str, str, str]] = set()
        self.results: dict[Lookup, Any] = {}
        self.used_cache = False

    def find(self, reference: Reference) -> Model | None:
        """The object at a reference; MissingLookupError if only the server can tell."""
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
        """Whether the configuration is that of a system where nobody has made one, as far as informers know."""
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
        """The names of all objects of a kind; they are for advice, which may be a moment old."""
        self._listed.add((group, kind, namespace))
        struct = struct_of(Reference(group, kind, namespace, ""))
        if struct not in CACHED:
            return []
        return [place.name for place in self._informers.add(struct).cache.list_keys(namespace)]

    @property
    def configuration(self) -> KubeVirtConfiguration | None:
        """What the administrator has set."""
        found = self.find(CONFIGURATION)
        return found.spec.configuration if isinstance(found, KubeVirt) and found.spec is not None else None

    @property
    def architecture(self) -> str:
        """The architecture of guests that name none."""
        return default_architecture(self.configuration)

    def explain_host_disk(self, path: str) -> str:
        """Return why a guest may not have this file of its node as a disk: the feature gate decides."""
        return explain_host_disks(self.configuration)(path)

    def make_uid(self) -> str:
        """A name that nothing else has or will have."""
        return str(uuid.uuid4())

    def now(self) -> str:
        """The moment, as objects state it."""
        return now()

    def count_machines(self, reference: Reference) -> int:
        """How many VMs hold a revision of this instance type, flavor or preference."""
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
