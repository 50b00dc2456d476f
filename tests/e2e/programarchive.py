"""Programs for the demo guest on a disk of their own: an archive that a script in the guest unpacks."""

import io
import re
import tarfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_LIBRARY: Final = re.compile(r"(.+\.so\.\d+)\.[\d.]+")


class ProgramArchive:
    """An archive that is being packed."""

    def __init__(self, target: Path) -> None:
        self._archive = tarfile.open(target, "w")  # noqa: SIM115 - closed with this

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._archive.close()

    def add_programs(self, tree: Path) -> None:
        """Add the files below a directory, libraries also under the names that programs know them by."""
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                place = path.relative_to(tree)
                self.add(str(place), path.read_bytes(), 0o755)
                library = _LIBRARY.fullmatch(place.name)
                if library is not None:
                    self.link(str(place.with_name(library[1])), place.name)
        self.link("lib64", "lib/x86_64-linux-gnu")

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Add a file."""
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), mode
        self._archive.addfile(member, io.BytesIO(content))

    def make_directory(self, name: str) -> None:
        """Add a directory of root's own."""
        member = tarfile.TarInfo(name)
        member.type, member.mode = tarfile.DIRTYPE, 0o700
        self._archive.addfile(member)

    def link(self, name: str, target: str) -> None:
        """Add another name for something."""
        member = tarfile.TarInfo(name)
        member.type, member.linkname = tarfile.SYMTYPE, target
        self._archive.addfile(member)
