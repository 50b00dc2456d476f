"""
Find the binaries of a control plane: in $KUBEBUILDER_ASSETS, on PATH, or built by `tools/cluster/build.sh`.

A test that needs a missing binary is skipped with a message that names it.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"
ADVICE = "put it on PATH or into $KUBEBUILDER_ASSETS, or run tools/cluster/build.sh, which builds it with Go"


class Binaries(NamedTuple):
    """Paths of the binaries."""

    etcd: Path
    apiserver: Path
    controller_manager: Path


NAMES = ("etcd", "kube-apiserver", "kube-controller-manager")


def find_binary(name: str) -> Path | None:
    """Return the path of a binary: from the environment, PATH or the build directory, in this order."""
    folders = [Path(folder) for folder in (os.environ.get("KUBEBUILDER_ASSETS"),) if folder]
    on_path = shutil.which(name)
    built = sorted(CACHE.glob(f"cluster-*/{name}"), key=lambda path: path.stat().st_mtime, reverse=True)
    candidates = [*(folder / name for folder in folders), *([Path(on_path)] if on_path else []), *built]
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


def find_binaries() -> Binaries | str:
    """Return all binaries, or a message that names the missing ones."""
    found = [find_binary(name) for name in NAMES]
    missing = [name for name, path in zip(NAMES, found, strict=True) if path is None]
    if missing:
        return f"no {' and no '.join(missing)}: {ADVICE}"
    return Binaries(*(path for path in found if path is not None))


def require_binaries() -> Binaries:
    """Return all binaries; skip the test if one is missing."""
    found = find_binaries()
    if isinstance(found, Binaries):
        return found
    pytest.skip(found)
