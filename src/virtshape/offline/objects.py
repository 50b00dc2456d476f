"""
Objects in memory, found by kind and name: what a server would have, taken from files or bytes.

Keeps what it is given and never changes it.
"""

from collections.abc import Iterable
from typing import Any

from virtshape.api.codec import decode_object
from virtshape.api.kinds import find_kind
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.resolve.reference import Reference


class Objects:
    """Kubernetes objects by reference; of two with the same reference the later one counts."""

    def __init__(self, objects: Iterable[bytes | Model] = ()) -> None:
        self._objects: dict[Reference, Model] = {}
        for item in objects:
            self.add(item)

    def add(self, item: bytes | Model) -> None:
        """Take in one object, as a struct or as JSON."""
        found: Any = decode_object(item) if isinstance(item, bytes) else item
        self._objects[reference_of(found)] = found

    def find(self, reference: Reference) -> Model | None:
        """The object at this reference."""
        return self._objects.get(reference)

    def names(self, group: str, kind: str, namespace: str) -> list[str]:
        """The names of all objects of a kind in a namespace."""
        wanted = (group, kind, namespace)
        return [at.name for at in self._objects if (at.group, at.kind, at.namespace) == wanted]


def reference_of(found: Any) -> Reference:
    """Where an object stands; one with a namespaced kind and no namespace stands in `default`."""
    group = found.api_version.rpartition("/")[0]
    kind = find_kind(found.api_version, found.kind)
    metadata = found.metadata or ObjectMeta()
    namespace = (metadata.namespace or "default") if kind is None or kind.namespaced else ""
    return Reference(group, found.kind, namespace, metadata.name or "")
