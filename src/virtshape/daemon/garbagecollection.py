"""
How often a process that serves looks for cycles of objects that nobody holds: seldom, for all wait meanwhile.

Touches nothing but the collector's settings.
"""

import gc
from typing import Final

COLLECTION_THRESHOLDS: Final = (20_000, 20, 20)


def tune_garbage_collection() -> None:
    """Have cycles looked for seldom, and never in what stays: a request leaves hardly any behind."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
