"""An object that a client wants to write, decoded once for all admission steps."""

from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject


class Submission:
    """
    An object to admit, and the object that it replaces.

    `has_same_spec` is True for an update that leaves the spec unchanged. `decoded` is the struct of `new`, if known.
    If `stored` is False, the object is only checked, and its evaluation contains the object without defaults.
    """

    def __init__(
        self, kind: Kind, new: JsonObject, old: JsonObject | None, decoded: Any = None, *, stored: bool = True
    ) -> None:
        self.kind = kind
        self.new = new
        self.old = old
        self.stored = stored
        self.has_same_spec = old is not None and new.get("spec") == old.get("spec")
        self._decoded = decoded

    def read(self) -> Any:
        """Return the object as a struct, which the caller must not change."""
        if self._decoded is None:
            self._decoded = from_tree(self.new, self.kind.struct)
        return self._decoded

    def take(self) -> Any:
        """Return the object as a struct, which the caller may change; the next `read` or `take` decodes it again."""
        taken, self._decoded = self.read(), None
        return taken

    def decode_old(self) -> Any:
        """Return a new struct of the object that is replaced, or None if the object is new."""
        return from_tree(self.old, self.kind.struct) if self.old is not None else None
