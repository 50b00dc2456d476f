"""
Lint files one after another, so that memory depends on the largest file, not on the number of VMs.

Reads standard input once and keeps it. Never writes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from virtshape.engine.machine import DEFAULT_ARCHITECTURE
from virtshape.offline.files import STDIN, File, describe_failure, find_files
from virtshape.offline.lint.finding import Finding
from virtshape.offline.lint.linter import Linter
from virtshape.offline.lint.prescan import prescan
from virtshape.offline.problems import FileProblem, FilesError

Progress = Callable[[int, int], None]


class Run:
    """One run over files and folders; raises FilesError if one of them cannot be read."""

    def __init__(self, paths: Iterable[str], *, catalog: bool = True, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        problems: list[FileProblem] = []
        self.files: Sequence[File] = sorted(find_files(paths, problems), key=lambda file: file.name)
        self._kept = {file: _read(file, problems) for file in self.files if file.path == STDIN}
        context = prescan((self._read(file, problems) for file in self.files), catalog=catalog)
        if problems:
            raise FilesError(problems)
        self._linter = Linter(context, architecture)

    @property
    def checked(self) -> int:
        """The number of objects checked so far."""
        return self._linter.checked

    def find(self, progress: Progress | None = None) -> Iterator[Finding]:
        """Yield all findings by file and line; `progress` is called with the number of files done and the total."""
        for number, file in enumerate(self.files):
            if progress is not None:
                progress(number, len(self.files))
            problems: list[FileProblem] = []
            text = self._read(file, problems)
            if problems:  # the file was readable in the prescan
                raise FilesError(problems)
            yield from self._linter.check_text(text, file.name, is_named=file.is_named)

    def _read(self, file: File, problems: list[FileProblem]) -> bytes:
        kept = self._kept.get(file)
        return _read(file, problems) if kept is None else kept


def _read(file: File, problems: list[FileProblem]) -> bytes:
    try:
        return file.read()
    except OSError as error:
        problems.append(describe_failure(file.name, error))
        return b""
