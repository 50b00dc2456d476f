"""A collection of objects in memory, by reference. The objects are never modified."""

from collections.abc import Iterable
from typing import Any

from virtshape.api.codec import decode_object
from virtshape.api.kinds import find_kind
from virtshape.api.model import Model
from virtshape.resolve.reference import Reference


class Objects:
    """Kubernetes objects by reference; an added object replaces an earlier one with the same reference."""

    def __init__(self, objects: Iterable[bytes | Model] = ()) -> None:
        self._objects: dict[Reference, Model] = {}
        for item in objects:
            self.add(item)

    def add(self, item: bytes | Model) -> None:
        """Add an object, as a struct or as JSON."""
        found: Any = decode_object(item) if isinstance(item, bytes) else item
        self._objects[reference_of(found)] = found

    def find(self, reference: Reference) -> Model | None:
        """Return the object for this reference, or None."""
        return self._objects.get(reference)

    def names(self, group: str, kind: str, namespace: str) -> list[str]:
        """Return the names of all objects of a kind in a namespace, which is empty for cluster-wide kinds."""
        wanted = (group, kind, namespace)
        return [at.name for at in self._objects if (at.group, at.kind, at.namespace) == wanted]


def reference_of(found: Any) -> Reference:
    """Return the reference to an object; the namespace of namespaced kinds defaults to `default`."""
    group = found.api_version.rpartition("/")[0]
    kind = find_kind(found.api_version, found.kind)
    metadata = found.metadata
    namespace = (metadata.namespace or "default") if kind is None or kind.namespaced else ""
    return Reference(group, found.kind, namespace, metadata.name or "")
