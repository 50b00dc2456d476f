"""Structs of apps/v1: ControllerRevisions."""

from typing import Any

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata


class ControllerRevision(KubernetesObject, kw_only=True):
    """An immutable copy of state that a controller keeps."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `ControllerRevision`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    data: Any = None
    """The captured state, as a JSON value."""
    revision: int | None = None
    """Revision number; a higher number is newer."""
