"""
Lint files one after another, so that memory depends on the largest file, not on the number of VMs.

Standard input is read once and kept. Only `Run.write` writes files, with their corrections.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.offline.files import STDIN, File, describe_failure, find_files, replace_file
from virtshape.offline.lint.baseline import read_baseline
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.fileselection import PATCH, Skip, filter_folder, find_skip_reason, list_patches
from virtshape.offline.lint.finding import FileFindings, Finding
from virtshape.offline.lint.fix import Corrected, fix_text
from virtshape.offline.lint.linter import Linter
from virtshape.offline.lint.prescan import scan_objects
from virtshape.offline.lint.rules import RULES
from virtshape.offline.lint.settings import Settings
from virtshape.offline.lint.suppress import suppress
from virtshape.offline.lint.targets import OWN, Target
from virtshape.offline.problems import FileProblem, FilesError
from virtshape.resolve.reference import Reference

Progress = Callable[[int, int], None]


class Run:
    """
    One run over files and folders; raises FilesError if one of them cannot be read.

    `files` are the linted files, and `skipped` are the other files by reason.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        catalog: bool = True,
        architecture: str = DEFAULT_ARCHITECTURE,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._architecture = architecture
        self._kept: dict[File, bytes] = {}
        self.files: list[File] = []
        self.skipped: dict[Skip, list[str]] = {}
        self.baseline = read_baseline(self._settings.baseline)
        problems: list[FileProblem] = []
        found = sorted(find_files(paths, problems, filter_folder(self._settings.excludes)), key=lambda file: file.name)
        objects, broken = scan_objects(self._select(found, problems))
        if problems:
            raise FilesError(problems)
        self._context = LintContext(objects, broken, catalog=catalog)
        self._linter = Linter(self._context, architecture)

        def defines(reference: Reference) -> bool:
            return reference in broken or objects.find(reference) is not None

        name = self._settings.content.target
        self._target = None if name == OWN else Target(name, defines, catalog=catalog)
        self._rules = self._settings.rules

    @property
    def checked(self) -> int:
        """The number of objects checked so far."""
        return self._linter.checked

    def find(self, progress: Progress | None = None) -> Iterator[Finding]:
        """Yield all findings by file and line; `progress` is called with the number of files done and the total."""
        for checked in self.check(progress):
            yield from checked.findings

    def check(self, progress: Progress | None = None) -> Iterator[FileFindings]:
        """Yield each file with its findings, without those in the baseline."""
        for number, file in enumerate(self.files):
            if progress is not None:
                progress(number, len(self.files))
            text = self._read_again(file)
            yield FileFindings(file.name, text, self.baseline.filter(self._lint(text, file, self._linter)))

    def fix(self, file: File) -> tuple[bytes, Corrected]:
        """Return the text of a file and its correction, without writing it. Links out of a folder are not corrected."""
        text = self._read_again(file)
        if file.leads_outside():
            return text, Corrected(text, ())
        return text, fix_text(
            text, lambda changed: self._lint(changed, file, Linter(self._context, self._architecture))
        )

    def write(self, file: File, before: bytes, after: bytes) -> bool:
        """Replace the content of a file; change nothing and return False if the file changed since it was read."""
        return replace_file(Path(file.path).resolve(), before, after)

    def _lint(self, text: bytes, file: File, linter: Linter) -> list[Finding]:
        findings = linter.check_text(text, file.name, is_named=file.is_named)
        if self._target is not None:
            findings = self._target.check_text(text, file.name, findings)
        rules = self._rules - self._settings.list_ignored(file.path) if file.path != STDIN else self._rules
        if len(rules) < len(RULES):
            findings = [finding for finding in findings if finding.rule in rules]
        active = rules if self._target else (name for name in rules if not name.startswith("target-"))
        return suppress(findings, text, file.name, active)

    def _select(self, found: Sequence[File], problems: list[FileProblem]) -> Iterator[bytes]:
        """Yield the texts of the files to lint, and record which files are linted and which are skipped."""
        patches = list_patches(found)
        for file in found:
            text = _read(file, problems)
            is_patch = not file.is_named and str(Path(file.path).resolve()) in patches
            reason = PATCH if is_patch else find_skip_reason(text, is_named=file.is_named)
            if reason is not None:
                self.skipped.setdefault(reason, []).append(file.name)
                continue
            self.files.append(file)
            if file.path == STDIN:
                self._kept[file] = text
            yield text

    def _read_again(self, file: File) -> bytes:
        kept = self._kept.get(file)
        if kept is not None:
            return kept
        problems: list[FileProblem] = []
        text = _read(file, problems)
        if problems:  # the file was readable in the prescan
            raise FilesError(problems)
        return text


def _read(file: File, problems: list[FileProblem]) -> bytes:
    try:
        return file.read()
    except OSError as error:
        problems.append(describe_failure(file.name, error))
        return b""
