"""
Interface of the object cache that controllers read.

Cached objects may be stale: writers must use a precondition.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from virtshape.api.kinds import KINDS
from virtshape.api.model import Model
from virtshape.client.cache import ObjectKey
from virtshape.resolve.reference import Reference

T = TypeVar("T", bound=Model)


class Cache(Protocol):
    """Cached objects of the kinds that controllers watch."""

    def find(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """Return the object with this name and namespace, or None; callers must not modify the object."""

    def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """Return all objects of a kind, in all namespaces if none is given; callers must not modify the objects."""

    def find_keys_by(self, kind: type[Model], index: str, value: str) -> Sequence[ObjectKey]:
        """Return the keys of all objects of a kind with this value in an index, without decoding the objects."""

    def find_by(self, kind: type[T], index: str, value: str) -> Sequence[T]:
        """Return all objects of a kind with this value in an index; callers must not modify the objects."""


def struct_of(reference: Reference) -> type[Model]:
    """Return the struct of the referenced kind, in the preferred version; raise LookupError if the kind is unknown."""
    for kind in KINDS:
        if (kind.group, kind.kind) == (reference.group, reference.kind):
            return kind.struct
    raise LookupError(f"unknown kind {reference.kind} in {reference.group or 'the core group'}")
