"""
Canonical JSON for revisions: sorted keys, no spaces, and the escapes of kube-apiserver.

kube-apiserver compares the bytes of a revision's data before and after a patch and rejects the patch if they differ.
Data in canonical form survives its encoder unchanged.
"""

import json
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision

_ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def canonicalize(revision: ControllerRevision) -> ControllerRevision:
    """Return the revision with its data encoded as canonical JSON, for sending only."""
    text = json.dumps(revision.data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return replace(revision, data=Raw(text.translate(_ESCAPES).encode()))
