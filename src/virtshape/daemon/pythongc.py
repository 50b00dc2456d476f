"""Settings of Python's garbage collector for server processes, where each collection blocks all requests."""

import gc
from typing import Final

COLLECTION_THRESHOLDS: Final = (20_000, 20, 20)


def tune_garbage_collection() -> None:
    """Exclude all current objects from collections, and collect rarely: requests create few reference cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
