"""
A kind in the API version that a client uses: storage keys and version conversion.

All versions of a kind are one resource, whose objects are stored in the newest version.
"""

from functools import cache
from typing import Final

import msgspec

from virtshape.api.conversion import VERSIONS, convert_bytes
from virtshape.api.kinds import Kind, find_kind, is_custom_resource
from virtshape.api.model import JsonObject
from virtshape.apiserver.supportedverbs import list_subresources
from virtshape.store.record import Key


class Resource:
    """One kind in the API version that a client uses."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        stored = VERSIONS[kind.group][-1] if kind.group in VERSIONS else kind.version
        found = find_kind(f"{kind.group}/{stored}" if kind.group else stored, kind.kind)
        self.stored = found if found is not None else kind
        self.name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        self.converts = self.stored.version != kind.version
        self.custom = is_custom_resource(kind)
        self.subresources = {subresource.name: subresource.verbs for subresource in list_subresources(kind)}
        self.has_status = "status" in self.subresources
        self.has_generation = self.custom or kind.kind in _COUNTED

    def key(self, namespace: str, name: str) -> Key:
        """Return the storage key of an object."""
        return Key(self.name, namespace, name)

    def convert(self, value: bytes) -> bytes:
        """Convert stored bytes to the version that the client uses."""
        return convert_bytes(value, self.kind.api_version) if self.converts else value


_COUNTED: Final = frozenset({"Deployment", "Pod"})


@cache
def resource_of(kind: Kind) -> Resource:
    """Return the resource that stores objects of a kind."""
    return Resource(kind)


def with_revision(value: bytes, old: int, new: int) -> bytes:
    """Return stored bytes with another resourceVersion."""
    return value.replace(b'"resourceVersion":"%d"' % old, b'"resourceVersion":"%d"' % new, 1)


def read_tree(value: bytes) -> JsonObject:
    """Decode stored bytes as plain dicts and lists."""
    tree: JsonObject = msgspec.json.decode(value)
    return tree
