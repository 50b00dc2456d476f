"""Sizes of tests with a short version, for `make test-all`, and a long version, for `make soak`."""

import os
from typing import Final

IS_LONG: Final = os.environ.get("VIRTSHAPE_SOAK") == "1"
"""True in `make soak`."""


def choose(*, short: int, long: int) -> int:
    """Return the number of rounds, requests or seconds of a test for this run."""
    return long if IS_LONG else short
