"""
The apps group at v1: kept revisions of state.

A revision's data is whatever its controller put there; nothing here interprets it.
"""

from typing import Any

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model


class ControllerRevision(Model, kw_only=True):
    """A frozen copy of some state that a controller wants to find again."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`ControllerRevision`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    data: Any
    """The state, as any JSON value."""
    revision: int | None = None
    """The order of this copy among its siblings; higher is newer."""
