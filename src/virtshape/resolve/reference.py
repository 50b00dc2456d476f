"""
References to objects, and how they are followed.

Resolving is written as generators that yield a Reference and are sent the object, or None where there is none:
the same steps run over objects in memory and over an API.
"""

from collections.abc import Callable, Generator
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from virtshape.api.model import Model
from virtshape.api.status import Cause, StatusError

T = TypeVar("T")


class Reference(NamedTuple):
    """One object, by its kind and name; `namespace` is empty for cluster-wide kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def resource(self) -> str:
        """The kind as Kubernetes writes it in messages: `persistentvolumeclaims`, `controllerrevisions.apps`."""
        plural = f"{self.kind.lower()}s"
        return f"{plural}.{self.group}" if self.group else plural


Steps = Generator[Reference, Model | None, T]
Lookup = Callable[[Reference], Model | None]


class NotFoundError(StatusError):
    """A VM refers to an object that is not there."""

    def __init__(self, reference: Reference, field: str, near: tuple[str, ...] = ()) -> None:
        words = f'{reference.resource} "{reference.name}" not found'
        if near:
            words += f"; did you mean {' or '.join(near)}?"
        super().__init__(404, "NotFound", words, [Cause("FieldValueNotFound", words, field)])
        self.reference = reference
        self.field = field

    def suggest(self, names: list[str]) -> "NotFoundError":
        """The same error, naming those of the given names that come near."""
        return NotFoundError(self.reference, self.field, tuple(get_close_matches(self.reference.name, names, n=3)))


def follow(steps: Steps[T], lookup: Lookup) -> T:
    """Run the steps to their end, finding each object by the lookup."""
    try:
        reference = next(steps)
        while True:
            reference = steps.send(lookup(reference))
    except StopIteration as end:
        result: Any = end.value
        return result  # type: ignore[no-any-return]  # a generator's return value arrives untyped
