"""
Annotations that an instance type or a preference puts on a VMI.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Mapping

from virtshape.api.meta import ObjectMeta


def check_annotations(metadata: ObjectMeta, given: Mapping[str, str] | None) -> list[str]:
    """The annotations to which the VM gives another value than its instance type."""
    own = metadata.annotations
    if not own or not given:
        return []
    return [f"annotations.{key}" for key, value in given.items() if own.get(key, value) != value]


def apply_annotations(metadata: ObjectMeta, given: Mapping[str, str] | None) -> None:
    """Write the annotations that the VM has no value for."""
    if given:
        own = metadata.annotations = metadata.annotations or {}
        for key, value in given.items():
            own.setdefault(key, value)
