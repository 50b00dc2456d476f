"""Archives of programs for the demo guest, unpacked from a separate disk by a script in the guest."""

import io
import re
import tarfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_LIBRARY: Final = re.compile(r"(.+\.so\.\d+)\.[\d.]+")


class ProgramArchive:
    """Writes a tar archive; closed by its `with` block."""

    def __init__(self, target: Path) -> None:
        self._archive = tarfile.open(target, "w")  # noqa: SIM115 - closed with this

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._archive.close()

    def add_programs(self, tree: Path) -> None:
        """Add the files below a directory, and links for the sonames of libraries."""
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
        """Add a directory that only root may access."""
        member = tarfile.TarInfo(name)
        member.type, member.mode = tarfile.DIRTYPE, 0o700
        self._archive.addfile(member)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        member = tarfile.TarInfo(name)
        member.type, member.linkname = tarfile.SYMTYPE, target
        self._archive.addfile(member)
