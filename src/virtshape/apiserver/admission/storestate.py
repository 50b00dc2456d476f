"""
ClusterState from the embedded store: the objects, names and configuration that admission needs.

Objects are decoded once per revision and shared. Callers must not modify them.
"""

from functools import lru_cache
from typing import Final

from virtshape.admission.clusterstate import ClusterState, Query, VMCount
from virtshape.api.codec import decode
from virtshape.api.kinds import KINDS
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import Model
from virtshape.api.times import now
from virtshape.apiserver.admission.instancetypeusage import UsageIndex
from virtshape.apiserver.objectmetadata import make_uid
from virtshape.apiserver.resource import Resource, resource_of
from virtshape.engine.hostaccess import ExplainHostDisk
from virtshape.resolve.reference import Reference
from virtshape.store.record import Key, Record
from virtshape.store.store import Store

MAX_DECODED: Final = 1024


class StoreState(ClusterState):
    """Cluster state that is read from the store."""

    def __init__(self, store: Store, explain_host_disk: ExplainHostDisk) -> None:
        self._store = store
        self._explain_host_disk = explain_host_disk
        self._decoded: dict[Key, tuple[int, Model]] = {}
        self._usage = UsageIndex(store)
        store.observe(self._usage.observe)

    def find(self, reference: Reference) -> Model | None:
        """Return the object at a reference, or None; the object is shared and must not be modified."""
        resource = _find_resource(reference.group, reference.kind)
        if resource is None:
            return None
        record = self._store.get(resource.key(reference.namespace, reference.name))
        return self._decode(record, resource.stored.struct) if record is not None else None

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        """Return the names of all objects of a kind, in one namespace if the kind is namespaced."""
        resource = _find_resource(group, kind)
        if resource is None:
            return []
        return [record.key.name for record in self._store.list(resource.name, namespace).records]

    @property
    def known(self) -> "StoreState":
        """The objects to suggest and to list in previews: all objects in this store, which is always up to date."""
        return self

    @property
    def is_standalone(self) -> bool:
        """True, because only the standalone server has a store."""
        return True

    def answer(self, query: Query) -> Model | int | None:
        """Return the result of a query: an object, or None if it does not exist; for a VMCount, the number of VMs."""
        return self._usage.count(query.reference) if isinstance(query, VMCount) else self.find(query)

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        """Return why a guest may not use this host file as a disk, or an empty string if it may."""
        del configuration  # the result depends only on the directories of this machine
        return self._explain_host_disk(path)

    def make_uid(self) -> str:
        """Return a new random UID."""
        return make_uid()

    def now(self) -> str:
        """Return the current time in the format of object timestamps."""
        return now()

    def _decode(self, record: Record, struct: type[Model]) -> Model:
        known = self._decoded.get(record.key)
        if known is not None and known[0] == record.revision:
            return known[1]
        found = decode(record.value, struct)
        if len(self._decoded) >= MAX_DECODED:
            self._decoded.clear()
        self._decoded[record.key] = record.revision, found
        return found


@lru_cache(maxsize=256)  # references of objects may name any kind
def _find_resource(group: str, kind: str) -> Resource | None:
    return next((resource_of(each) for each in KINDS if (each.group, each.kind) == (group, kind)), None)
