"""Annotations that an instance type or a preference adds to a VMI."""

from collections.abc import Mapping

from virtshape.api.meta import ObjectMeta


def check_annotations(metadata: ObjectMeta, given: Mapping[str, str] | None) -> list[str]:
    """Return the paths of annotations that the VM and its instance type set to different values, sorted by key."""
    own = metadata.annotations
    if not own or not given:
        return []
    return [f"annotations.{key}" for key, value in sorted(given.items()) if own.get(key, value) != value]


def apply_annotations(metadata: ObjectMeta, given: Mapping[str, str] | None) -> None:
    """Add the given annotations to the metadata, except those whose keys it already contains."""
    if given:
        own = metadata.annotations = metadata.annotations or {}
        for key, value in given.items():
            own.setdefault(key, value)
