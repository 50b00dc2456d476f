"""The table `project` of pyproject.toml, which is the only place that defines the version."""

import tomllib
from typing import Any

from tools.release.lockedwheels import ROOT


def read_project() -> dict[str, Any]:
    """Return the table `project`."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])
