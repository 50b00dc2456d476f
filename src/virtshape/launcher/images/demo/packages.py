"""
Download Debian packages with apt, which verifies their signatures, and unpack them without installing.

Neither step needs privileges, and both write only to the given directory.
"""

import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from virtshape.launcher.images.command import run
from virtshape.launcher.images.errors import ToolError
from virtshape.launcher.images.progress import Progress

_SECONDS: Final = 900.0
_OFFER: Final = re.compile(r"^'[^']+' (?P<file>(?P<name>[^_\s]+)_\S+\.deb) (?P<size>\d+)", re.MULTILINE)


class Packages:
    """Finds packages that apt offers and downloads them to a directory."""

    def __init__(self, directory: Path) -> None:
        missing = [tool for tool in ("apt-get", "apt-cache", "dpkg-deb") if shutil.which(tool) is None]
        if missing:
            raise ToolError(
                f"the demo guest is built from Debian packages, which needs {', '.join(missing)};"
                " build it on a Debian machine and copy the image"
            )
        self._directory = directory
        self._options: list[str] = []

    def resolve(self, names: Sequence[str], pattern: str) -> str:
        """Find the first of these packages that apt offers, and return its dependency that matches the pattern."""
        known = self.list_known(names)
        if not known:
            raise ToolError(f"apt has no package {' or '.join(names)}, which the demo guest needs")
        shown = self._run(["apt-cache", "show", "--no-all-versions", known[0]])
        found = re.search(rf"^Depends:.*?\b({pattern})", shown, re.MULTILINE)
        if not found:
            raise ToolError(f"the package {known[0]} does not depend on a package that matches {pattern}")
        return found[1]

    def list_known(self, names: Sequence[str]) -> list[str]:
        """Return the names for which apt offers a package, in the same order; names must start with `linux-`."""
        offered = set(self._run(["apt-cache", "pkgnames", "linux-"]).split())
        return [name for name in names if name in offered]

    def fetch(self, names: Sequence[str], progress: Progress) -> dict[str, Path]:
        """Download packages and return their files by package name."""
        offers = self._run(["apt-get", "download", "--print-uris", *names])
        files = {offer["name"]: self._directory / offer["file"] for offer in _OFFER.finditer(offers)}
        total = sum(int(offer["size"]) for offer in _OFFER.finditer(offers))

        def beat() -> None:
            progress(min(total, sum(path.stat().st_size for path in self._directory.glob("*.deb"))), total)

        self._run(["apt-get", "download", "-q", *names], beat)
        progress(total, total)
        return files

    def refresh(self) -> None:
        """Download package lists to this directory, because the host's lists may be missing or outdated."""
        lists = self._directory / "lists"
        (lists / "partial").mkdir(parents=True)
        self._options = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={self._directory}"]
        self._run(["apt-get", "update", "-q"])

    def _run(self, command: list[str], beat: Callable[[], None] | None = None) -> str:
        program, *arguments = command
        line = [program, *self._options, *arguments]
        try:
            return run(line, seconds=_SECONDS, directory=self._directory, beat=beat).decode()
        except ToolError as error:
            raise ToolError(
                f"downloading the demo guest's packages failed: {error}; check that `apt-get update` works"
            ) from error


def unpack(package: Path, target: Path, wanted: Callable[[str], bool]) -> None:
    """Extract the wanted regular files of a package to a directory."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,  # noqa: S603 - a fixed command
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        for member in archive:
            name = member.name.removeprefix("./")
            content = archive.extractfile(member) if member.isreg() and wanted(name) else None
            if content is not None:
                place = target / name
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("wb") as file:
                    shutil.copyfileobj(content, file)
                place.chmod(member.mode & 0o777)
    if process.returncode != 0:
        raise ToolError(f"{package.name} could not be unpacked")
