"""Releases of this checkout: a copy of the tree, with the version and the changelog of a release."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.documents import ROOT
from tests.support.localindex import UV, run
from tools.release.debianpackage import build_package
from tools.release.wheeltree import list_wheels, unpack_wheels

_CODE = re.compile(r"`([^`]+)`")


def list_install_lines() -> list[str]:
    """Return the commands in the second column of the README's table "Install"."""
    section = (ROOT / "README.md").read_text().partition("\n## Install\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    return [command for row in rows for command in _CODE.findall(row[1])]


def find_install_line(start: str) -> str:
    """Return the one command of the table that starts with these words."""
    (line,) = [line for line in list_install_lines() if line.startswith(start)]
    return line


class Tree:
    """A copy of all files in this checkout that git does not ignore, in a separate repository."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
        for name in filter(None, listed):
            if (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, directory / name)
        run("git", "init", "--quiet", cwd=directory)
        self.commit()

    def commit(self) -> None:
        """Commit all changes."""
        run("git", "add", "--all", cwd=self.directory)
        author = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        run("git", *author, "commit", "--quiet", "--message", "Release", cwd=self.directory)

    def call(self, module: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a module of the copy's tools."""
        line = [sys.executable, "-m", module, *arguments]
        return subprocess.run(line, cwd=self.directory, capture_output=True, text=True, check=False)

    def set_version(self, version: str) -> None:
        """Set the version and commit the result."""
        ran = self.call("tools.release.version", version)
        assert ran.returncode == 0, ran.stderr
        self.commit()


def build_debian_package(tree: Tree, version: str, output: Path) -> Path:
    """Build the Debian package of a tree."""
    run(UV, "build", "--quiet", "--wheel", "--out-dir", output, tree.directory)
    (wheel,) = output.glob("*.whl")
    unpack_wheels([wheel, *list_wheels("amd64")], output / "modules")
    return build_package(output / "modules", version, output, output, epoch=1_700_000_000)
