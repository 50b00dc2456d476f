"""
References to objects, and what following them needs: a lookup that knows an object or that there is none.

Resolving asks for one object after the other and changes nothing until it has them all, so a lookup over a network may
collect what is asked for, fetch it and start again.
"""

from collections.abc import Callable
from difflib import get_close_matches

from msgspec import Struct

from virtshape.api.kinds import KINDS
from virtshape.api.model import Model
from virtshape.api.status import Cause, StatusError


class Reference(Struct, frozen=True, gc=False):
    """One object, by its kind and name; `namespace` is empty for cluster-wide kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def resource(self) -> str:
        """The kind as Kubernetes writes it in messages: `persistentvolumeclaims`, `controllerrevisions.apps`."""
        named = (kind.plural for kind in KINDS if (kind.group, kind.kind) == (self.group, self.kind))
        plural = next(named, f"{self.kind.lower()}s")
        return f"{plural}.{self.group}" if self.group else plural


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
