"""Find the programs that tools/kubevirt/build.sh builds from KubeVirt's own code."""

import os
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"


def find_program(name: str) -> Path:
    """Return the path of `virtctl`, `oracle` or `specs`; skip the test if it was not built."""
    built = sorted(CACHE.glob(f"kubevirt-*/{name}"), key=lambda path: path.stat().st_mtime)
    if built:
        return built[-1]
    pytest.skip(f"KubeVirt's {name} is missing: tools/kubevirt/build.sh builds it with Go")
