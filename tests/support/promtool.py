"""Find promtool, which checks metrics and alert rules."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"


def require_promtool() -> Path:
    """Return the path of promtool on PATH or as downloaded; skip the test if there is none."""
    on_path = shutil.which("promtool")
    found = Path(on_path) if on_path else CACHE / "promtool-debian"
    if not os.access(found, os.X_OK):
        pytest.skip("promtool is missing: put it on PATH, or run tools/promtool/debian.sh, which downloads it with apt")
    return found


def call_promtool(*arguments: str, stdin: str = "") -> str:
    """Return the output of promtool; fail if it reports a problem."""
    line = [str(require_promtool()), *arguments]
    called = subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=240, check=False)
    assert called.returncode == 0, called.stdout + called.stderr
    return called.stdout
