"""An in-memory informer cache for controller tests, with the controllers' indexes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from virtshape.api.apps import ControllerRevision
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import Model
from virtshape.client.cache import ObjectKey, key_of
from virtshape.client.resources import metadata_of
from virtshape.controllers.storage.claimusage import BY_CLAIM, list_claim_keys
from virtshape.controllers.storage.volumeobjects import BY_RESERVATION, list_reservations
from virtshape.controllers.vm.sharedrevisionobjects import BY_OWNER, list_owner_uids

T = TypeVar("T", bound=Model)

INDEXES: Mapping[tuple[type[Model], str], Callable[[Any], Iterable[str]]] = {
    (VirtualMachineInstance, BY_CLAIM): list_claim_keys,
    (PersistentVolume, BY_RESERVATION): list_reservations,
    (ControllerRevision, BY_OWNER): list_owner_uids,
}


class FakeCache:
    """A cache that contains only the given objects."""

    def __init__(self, *items: Model) -> None:
        self.items = items

    def find(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """Return the object with this name, or None if it does not exist."""
        found = [item for item in self.list(kind, namespace) if metadata_of(item).name == name]
        return found[0] if found else None

    def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """Return all objects of a kind, or those in one namespace."""
        return [
            item
            for item in self.items
            if isinstance(item, kind) and (not namespace or metadata_of(item).namespace == namespace)
        ]

    def find_keys_by(self, kind: type[Model], index: str, value: str) -> Sequence[ObjectKey]:
        """Return the keys of all objects of a kind with this value in an index."""
        return [key_of(item) for item in self.find_by(kind, index, value)]

    def find_by(self, kind: type[T], index: str, value: str) -> Sequence[T]:
        """Return all objects of a kind with this value in an index."""
        return [item for item in self.list(kind) if value in INDEXES[kind, index](item)]
