"""
Revisions in the form that an API server would give them itself: keys in order, no spaces, its own escapes.

It compares the bytes of a revision before and after any patch, also one of its garbage collector, and refuses the patch
if they differ; so they must come out of its hands as they went in. Pure.
"""

import json
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision

_ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def canonicalize(revision: ControllerRevision) -> ControllerRevision:
    """The revision, to be sent and not to be read."""
    text = json.dumps(revision.data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return replace(revision, data=Raw(text.translate(_ESCAPES).encode()))
