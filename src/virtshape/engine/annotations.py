"""
Annotations of a VMI: those of its instance type and preference, and those that name the two.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Iterator, Mapping

from virtshape.api.meta import ObjectMeta
from virtshape.engine.draft import Draft


def check_annotations(metadata: ObjectMeta, given: Mapping[str, str] | None) -> Iterator[str]:
    """The annotations to which the VM gives another value than its instance type."""
    own = metadata.annotations
    if own and given:
        for key, value in given.items():
            if own.get(key, value) != value:
                yield f"annotations.{key}"


def apply_annotations(draft: Draft, given: Mapping[str, str] | None) -> None:
    """Write the annotations that the VM has no value for."""
    if not given:
        return
    if draft.metadata.annotations is None:
        draft.put(draft.metadata, "annotations", {})
    own = draft.metadata.annotations
    assert own is not None
    for key, value in given.items():
        if key not in own:
            draft.put_key(own, key, value)
