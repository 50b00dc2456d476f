"""
Set the version in pyproject.toml and in every file that repeats it, and date the changelog: `make set-version`.

    python -m tools.release.version 1.2.3

`make set-version` then runs `make docs`, which writes the version into generated files.
"""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tools.release.lockedwheels import ROOT
from tools.release.project import read_project

REPEATED: Final = (
    "README.md",
    "ci/gitlab-lint.yml",
    "docs/ci.md",
    "docs/cluster.md",
)
"""Files that repeat the version in commands and labels; a test checks that no other file contains it."""

CHANGELOG: Final = "CHANGELOG.md"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_UNRELEASED: Final = "## Unreleased\n"


class VersionError(Exception):
    """The version cannot be set or released."""


def compile_pattern(version: str) -> re.Pattern[str]:
    """Return a pattern that finds a version, but not a longer number or address that contains it."""
    return re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.]*\d)")


def set_version(new: str, today: str) -> None:
    """Set the version in all files, and move the unreleased changes in the changelog to the new version."""
    if not _VERSION.fullmatch(new):
        raise VersionError(f'invalid version "{new}": must be three numbers, such as 1.2.3')
    old = str(read_project()["version"])
    changelog = cut_changelog((ROOT / CHANGELOG).read_text(), new, today)
    _replace(
        ROOT / "pyproject.toml", re.compile(rf'^version = "{re.escape(old)}"$', re.MULTILINE), f'version = "{new}"'
    )
    locked = re.compile(rf'(name = "virtshape"\nversion = )"{re.escape(old)}"')
    _replace(ROOT / "uv.lock", locked, rf'\g<1>"{new}"')
    for name in REPEATED:
        _replace(ROOT / name, compile_pattern(old), new)
    (ROOT / CHANGELOG).write_text(changelog)


def _replace(path: Path, pattern: re.Pattern[str], new: str) -> None:
    text, count = pattern.subn(new, path.read_text())
    if not count:
        raise VersionError(f"{path.relative_to(ROOT)} does not contain the version")
    path.write_text(text)


def cut_changelog(text: str, version: str, today: str) -> str:
    """Return the changelog with all unreleased changes moved to a section for a version."""
    if _UNRELEASED not in text:
        raise VersionError(f'{CHANGELOG} has no section "Unreleased"')
    if find_notes(text, version) is not None:
        raise VersionError(f"{CHANGELOG} has a section for {version} already")
    return text.replace(_UNRELEASED, f"{_UNRELEASED}\n## {version} - {today}\n", 1)


def find_notes(text: str, version: str) -> str | None:
    """Return the changes of a version, or None if the changelog has no section for it."""
    found = re.search(rf"^## {re.escape(version)} - .*\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return None if found is None else found[1].strip() + "\n"


def main() -> None:
    """Set the version that the argument names."""
    try:
        set_version(sys.argv[1], datetime.now(UTC).strftime("%Y-%m-%d"))
    except VersionError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
