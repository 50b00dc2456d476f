"""
What controllers know without asking: objects as they were a moment ago.

An interface only. What is read here may be out of date; whoever acts on it writes with a precondition.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from virtshape.api.kinds import KINDS
from virtshape.api.model import Model
from virtshape.resolve.reference import Reference

T = TypeVar("T", bound=Model)


class Cache(Protocol):
    """Objects of the kinds that controllers watch."""

    def find(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """The object of this name, if there was one; not to be written to."""

    def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """All objects of a kind in a namespace, or everywhere; not to be written to."""

    def find_by(self, kind: type[T], index: str, value: str) -> Sequence[T]:
        """All objects of a kind that an index has under a value; not to be written to."""


def struct_of(reference: Reference) -> type[Model]:
    """The struct of what is referred to, at the version to prefer."""
    for kind in KINDS:
        if (kind.group, kind.kind) == (reference.group, reference.kind):
            return kind.struct
    raise LookupError(f"unknown kind {reference.kind} in {reference.group or 'the core group'}")
