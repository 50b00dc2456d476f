"""References to objects, the type of lookup functions, and the error for missing objects."""

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import KINDS
from virtshape.api.model import Model
from virtshape.api.status import StatusError


class Reference(Struct, frozen=True, gc=False):
    """An object's group, kind, namespace and name; `namespace` is empty for cluster-wide kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def resource(self) -> str:
        """The resource in Kubernetes' messages, such as `persistentvolumeclaims` or `controllerrevisions.apps`."""
        named = (kind.plural for kind in KINDS if (kind.group, kind.kind) == (self.group, self.kind))
        plural = next(named, f"{self.kind.lower()}s")
        return f"{plural}.{self.group}" if self.group else plural


Lookup = Callable[[Reference], Model | None]


class NotFoundError(StatusError):
    """A VM refers to an object that does not exist."""

    def __init__(self, reference: Reference, field: str, near: tuple[str, ...] = ()) -> None:
        message = f'{reference.resource} "{reference.name}" not found'
        if near:
            message += f"; did you mean {' or '.join(near)}?"
        rule = "missing-revision" if reference.kind == "ControllerRevision" else "missing-reference"
        super().__init__(404, "NotFound", message, [FieldError(field, message, "FieldValueNotFound", rule)])
        self.reference = reference
        self.field = field

    def suggest(self, names: list[str]) -> "NotFoundError":
        """Return the same error with a suggestion of up to three similar names, if there are any."""
        return NotFoundError(self.reference, self.field, _find_similar(self.reference.name, tuple(names)))


@lru_cache(maxsize=256)  # cached, because many VMs may refer to the same missing object
def _find_similar(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    # Imported here, because only errors need it.
    from difflib import get_close_matches

    return tuple(get_close_matches(name, names, n=3))
