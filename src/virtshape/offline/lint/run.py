"""
Lint files one after another, so that memory usage depends on the largest file, not on the number of VMs.

In large runs, several processes lint a part of the files each. Standard input is read once and kept in memory. Only
`Run.write` writes files, to correct them.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Final, NamedTuple

from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.offline.files import STDIN, File, describe_failure, find_files, replace_file
from virtshape.offline.lint.baseline import read_baseline
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.finding import FileFindings, Finding
from virtshape.offline.lint.fix import Corrected, fix_text
from virtshape.offline.lint.linter import CheckedObjects, Linter
from virtshape.offline.lint.objectscan import scan_objects
from virtshape.offline.lint.rules import RULES
from virtshape.offline.lint.settings import Settings
from virtshape.offline.lint.skippedfiles import PATCH, Skip, filter_folder, find_skip_reason, list_patches
from virtshape.offline.lint.suppress import suppress
from virtshape.offline.lint.targets import OWN, Target
from virtshape.offline.problems import FileProblem, FilesError
from virtshape.resolve.reference import Reference

Progress = Callable[[int, int], None]

_MIN_BYTES_TO_FORK: Final = 256 * 1024  # about 50 ms of work; the processes start in 15 ms


def count_cpus() -> int:
    """Return the number of CPUs that this process may use; 1 on systems where a fork is not safe."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


class _LintedFile(NamedTuple):
    """The result of linting a file in another process, without regard to the objects in the other files."""

    text: bytes
    """The file's text; empty if there are no findings."""
    findings: list[Finding]
    objects: CheckedObjects


class Run:
    """
    One run of lint over files and folders; raises FilesError if one of them cannot be read.

    `files` lists the files to lint, and `skipped` the names of the other files by reason. Large runs use up to
    `processes` processes; more than one is safe only if this process has no other threads.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        catalog: bool = True,
        architecture: str = DEFAULT_ARCHITECTURE,
        settings: Settings | None = None,
        processes: int = 1,
    ) -> None:
        self._settings = settings or Settings()
        self._architecture = architecture
        self._processes = processes
        self._bytes = 0
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
        """Yield all findings by file and position; call `progress` with the number of files done and the total."""
        for checked in self.check(progress):
            yield from checked.findings

    def check(self, progress: Progress | None = None) -> Iterator[FileFindings]:
        """Yield each file with the findings that are not in the baseline; call `progress` before each file."""
        for number, (file, linted) in enumerate(zip(self.files, self._lint_in_forks(), strict=True)):
            if progress is not None:
                progress(number, len(self.files))
            if linted is not None and self._linter.add_checked(linted.objects, file.name):
                text, findings = linted.text, linted.findings
            else:
                text = self._read_again(file)
                findings = self._lint(text, file, self._linter)
            yield FileFindings(file.name, text, self.baseline.filter(findings))

    def fix(self, file: File) -> tuple[bytes, Corrected]:
        """
        Return a file's text and its correction, without writing it.

        A file that is a symbolic link to a file outside its folder is not corrected.
        """
        text = self._read_again(file)
        if file.leads_outside():
            return text, Corrected(text, ())
        return text, fix_text(
            text, lambda changed: self._lint(changed, file, Linter(self._context, self._architecture))
        )

    def write(self, file: File, before: bytes, after: bytes) -> bool:
        """Replace the content of a file, or return False and change nothing if its content is no longer `before`."""
        return replace_file(Path(file.path).resolve(), before, after)

    def _lint_in_forks(self) -> Iterator[_LintedFile | None]:
        """Yield the result for each file that another process has linted, and None for files to lint here."""
        if self._processes == 1 or len(self.files) == 1 or self._bytes < _MIN_BYTES_TO_FORK:
            return repeat(None, len(self.files))
        # Imported here, because few runs are that large.
        from virtshape.offline.lint.forkedmap import map_in_forks

        return map_in_forks(self._lint_alone, self.files, min(self._processes, len(self.files)))

    def _lint_alone(self, file: File) -> _LintedFile:
        text, linter = self._read_again(file), Linter(self._context, self._architecture)
        findings = self._lint(text, file, linter)
        return _LintedFile(text if findings else b"", findings, linter.list_checked())

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
        """Yield the texts of the files to lint, and add each file to `files` or `skipped`."""
        patches = list_patches(found)
        for file in found:
            text = _read(file, problems)
            is_patch = not file.is_named and str(Path(file.path).resolve()) in patches
            reason = PATCH if is_patch else find_skip_reason(text, is_named=file.is_named)
            if reason is not None:
                self.skipped.setdefault(reason, []).append(file.name)
                continue
            self.files.append(file)
            self._bytes += len(text)
            if file.path == STDIN:
                self._kept[file] = text
            yield text

    def _read_again(self, file: File) -> bytes:
        kept = self._kept.get(file)
        if kept is not None:
            return kept
        problems: list[FileProblem] = []
        text = _read(file, problems)
        if problems:  # the file became unreadable after its objects were scanned
            raise FilesError(problems)
        return text


def _read(file: File, problems: list[FileProblem]) -> bytes:
    try:
        return file.read()
    except OSError as error:
        problems.append(describe_failure(file.name, error))
        return b""
