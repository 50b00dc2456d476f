"""Prepare ControllerRevisions to be sent to a server, and find the older revision that each of them replaces."""

import json
from collections.abc import Iterable
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision

UPGRADED_FROM_ANNOTATION: Final = "virtshape.io/upgraded-from"
"""Annotation of a revision: the name of the older revision that it replaces."""
_ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def canonicalize(revision: ControllerRevision) -> ControllerRevision:
    """
    Return a copy to send to the server, with its data as canonical JSON: sorted keys and kube-apiserver's escapes.

    kube-apiserver compares the bytes of the data before and after a patch and rejects the patch if they differ. The
    encoder of kube-apiserver leaves canonical JSON unchanged.
    """
    text = json.dumps(revision.data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return replace(revision, data=Raw(text.translate(_ESCAPES).encode()))


def find_superseded(revision: ControllerRevision) -> str | None:
    """Return the name of the older revision that this revision replaces, or None."""
    annotations = revision.metadata.annotations or {}
    return annotations.get(UPGRADED_FROM_ANNOTATION)


def list_successors(revisions: Iterable[ControllerRevision]) -> dict[str, str]:
    """Return the names of upgraded revisions by the name of the revision that each replaces."""
    return {old: each.metadata.name or "" for each in revisions if (old := find_superseded(each))}
