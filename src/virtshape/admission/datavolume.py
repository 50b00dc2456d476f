"""Validate the specs of DataVolumes and dataVolumeTemplates; a spec with several sources only causes a warning."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.checkresult import DEPRECATED
from virtshape.admission.rules.checks import list_members
from virtshape.api.cdi import DataVolumeSource, DataVolumeSpec
from virtshape.api.fielderror import FieldError

_SOURCES: Final = list_members(DataVolumeSource)
CONTENT_TYPES: Final = ("kubevirt", "archive")


def check_data_volume(spec: DataVolumeSpec, at: str) -> Iterator[FieldError]:
    """Check the sources, the claim and the content type of a DataVolume; `at` is the field path of its spec."""
    if spec.pvc is not None and spec.storage is not None:
        message = f"Duplicate storage definition, both target storage and target pvc defined: keep {at}.storage"
        yield FieldError(f"{at}.pvc", message, rule="one-of")
    if spec.source is not None and spec.source_ref is not None:
        message = f"{at}.source and {at}.sourceRef are mutually exclusive: {at}.source is used, remove the other"
        yield FieldError(f"{at}.sourceRef", message, rule=DEPRECATED)
    if spec.source is not None:
        present = _SOURCES.list_present(spec.source)
        if len(present) > 1:
            message = f"Multiple Data volume sources: {' and '.join(present)}; keep one of them"
            yield FieldError(f"{at}.source.{present[1]}", message, rule=DEPRECATED)
    if spec.source_ref is not None and not spec.source_ref.name:
        yield FieldError(f"{at}.sourceRef.name", "Required value: set source or sourceRef", rule="invalid-value")
    if spec.content_type and spec.content_type not in CONTENT_TYPES:
        message = f'ContentType "{spec.content_type}" is not one of {", ".join(CONTENT_TYPES)}'
        yield FieldError(f"{at}.contentType", message, rule="unsupported-value")
