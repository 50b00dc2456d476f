"""
The programs of a control plane: those of $KUBEBUILDER_ASSETS, of PATH, or those that `tools/cluster/build.sh` made.

Tests that need one that is not there are skipped, and the reason names it.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"
ADVICE = "put it on PATH or into $KUBEBUILDER_ASSETS, or run tools/cluster/build.sh, which builds it with Go"


class Binaries(NamedTuple):
    """Where each program is."""

    etcd: Path
    apiserver: Path
    controller_manager: Path


NAMES = ("etcd", "kube-apiserver", "kube-controller-manager")


def find_binary(name: str) -> Path | None:
    """Find a program; the one named by the environment first, what was built last."""
    folders = [Path(folder) for folder in (os.environ.get("KUBEBUILDER_ASSETS"),) if folder]
    on_path = shutil.which(name)
    built = sorted(CACHE.glob(f"cluster-*/{name}"), key=lambda path: path.stat().st_mtime, reverse=True)
    candidates = [*(folder / name for folder in folders), *([Path(on_path)] if on_path else []), *built]
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


def find_binaries() -> Binaries | str:
    """All programs, or the words that say which are missing."""
    found = [find_binary(name) for name in NAMES]
    missing = [name for name, path in zip(NAMES, found, strict=True) if path is None]
    if missing:
        return f"no {' and no '.join(missing)}: {ADVICE}"
    return Binaries(*(path for path in found if path is not None))


def require_binaries() -> Binaries:
    """All programs; without them the test that asks is skipped."""
    found = find_binaries()
    if isinstance(found, Binaries):
        return found
    pytest.skip(found)
