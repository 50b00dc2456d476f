"""
A package index in a directory: virtshape as it is released, and its locked dependencies.

pip, pipx and uv use no other index if they run with the environment of a `LocalIndex`.
"""

import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from tests.support.documents import ROOT
from tools.release.lockedwheels import ARCHITECTURES, PYTHONS, download, find_binding, find_wheels

COMMANDS = Path(sys.executable).parent
UV = COMMANDS / "uv"
ARCHITECTURE = next(name for name, machine in ARCHITECTURES.items() if machine == platform.machine())


class LocalIndex(NamedTuple):
    """A directory with virtshape and its dependencies."""

    directory: Path

    def make_environment(self, home: Path) -> dict[str, str]:
        """Return an environment with an empty home directory, in which this is the only index."""
        return {
            "HOME": str(home),
            "PATH": f"{home / '.local/bin'}:{home / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_FIND_LINKS": str(self.directory),
            "PIP_NO_INDEX": "1",
            "PIPX_DEFAULT_PYTHON": sys.executable,
            "UV_FIND_LINKS": str(self.directory),
            "UV_NO_CONFIG": "1",
            "UV_NO_INDEX": "1",
            "UV_OFFLINE": "1",
            "UV_PYTHON": sys.executable,
        }


def run(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a command and return its output."""
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    assert ran.returncode == 0, f"{arguments}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def make_index(directory: Path) -> LocalIndex:
    """Build the sdist, and the wheel from the sdist; add links to the locked dependencies to the same directory."""
    run(UV, "build", "--quiet", "--out-dir", directory, ROOT)
    locked = {file["url"]: file for python in PYTHONS for file in find_wheels(python, ARCHITECTURE)}
    for path in download([*locked.values(), find_binding()]):
        (directory / path.name).symlink_to(path)
    # needed to build virtshape from source, as pre-commit does, and libvirt's Python binding
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", directory, *_list_build_packages())
    return LocalIndex(directory)


def _list_build_packages() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]
    return [str(each) for each in settings["build-constraint-dependencies"]]
