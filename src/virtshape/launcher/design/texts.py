"""
Texts and annotations of an instance that end up in its domain.

Pure: no I/O, no clock, no logging.
"""

import re
from typing import Final

from virtshape.api.path import format_path
from virtshape.launcher.design.context import DesignContext

EVEN_EMULATOR_ANNOTATION: Final = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
"""Its presence gives QEMU's own work a second CPU where that makes the sum even."""
HOOKS_ANNOTATION: Final = "hooks.kubevirt.io/hookSidecars"
"""Programs that would change the domain before it starts."""
IGNITION_ANNOTATION: Final = "kubevirt.io/ignitiondata"
"""The first-boot configuration of CoreOS."""
MEMFD_ANNOTATION: Final = "kubevirt.io/memfd"
"""`false` takes huge pages from files in place of anonymous memory."""

_UNWRITABLE: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def find_annotation(context: DesignContext, name: str) -> str | None:
    """The value of one of the instance's annotations."""
    metadata = context.vmi.metadata
    return (metadata.annotations or {}).get(name) if metadata is not None else None


def locate_annotation(name: str) -> str:
    """The path of an annotation."""
    return format_path(("metadata", "annotations", name))


def read_text(context: DesignContext, field: str, text: str | None) -> str | None:
    """A text that can stand in XML; others are refused."""
    if text is not None and _UNWRITABLE.search(text):
        context.refuse(field, "holds characters that libvirt cannot be told")
        return None
    return text
