"""Texts and annotations of an instance that are used in its domain."""

import re
from typing import Final

from virtshape.api.path import format_path
from virtshape.launcher.design.context import DesignContext

EVEN_EMULATOR_ANNOTATION: Final = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
"""If set, the emulator gets a second CPU where that makes the total even."""
HOOKS_ANNOTATION: Final = "hooks.kubevirt.io/hookSidecars"
"""Sidecars that change the domain before it starts."""
IGNITION_ANNOTATION: Final = "kubevirt.io/ignitiondata"
"""Ignition configuration for the first boot of CoreOS."""
MEMFD_ANNOTATION: Final = "kubevirt.io/memfd"
"""`false` uses files instead of memfd for huge pages."""

_UNWRITABLE: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def find_annotation(context: DesignContext, name: str) -> str | None:
    """Return the value of an annotation of the instance, or None."""
    metadata = context.vmi.metadata
    return (metadata.annotations or {}).get(name) if metadata is not None else None


def locate_annotation(name: str) -> str:
    """Return the field path of an annotation."""
    return format_path(("metadata", "annotations", name))


def read_text(context: DesignContext, field: str, text: str | None) -> str | None:
    """Return a text that is valid in XML; refuse others."""
    if text is not None and _UNWRITABLE.search(text):
        context.refuse(field, "has characters that are not valid in XML")
        return None
    return text
