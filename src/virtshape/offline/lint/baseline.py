"""
Baseline files: lists of existing findings that are not reported again.

A finding is identified by file, rule, object, field and message, not by its line, so that it stays hidden when other
parts of the file change. File names are relative to the baseline file.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, ValidationError
from msgspec import json as fast_json

from virtshape.offline.lint.finding import Finding
from virtshape.offline.lint.settings import SettingsError

_VERSION: Final = 1


class Known(Struct, frozen=True, order=True):
    """A finding in a baseline."""

    file: str
    rule: str
    object: str
    field: str
    message: str


class BaselineFile(Struct, forbid_unknown_fields=True):
    """The content of a baseline file; a finding that occurs twice is listed twice."""

    version: int
    findings: list[Known]


class Baseline:
    """The known findings of a baseline file, which hide equal findings."""

    def __init__(self, path: str | None, known: Iterable[Known] = ()) -> None:
        self._folder = str(Path(path or "").parent)
        self._left = Counter(known)

    @property
    def stale(self) -> int:
        """The number of known findings that `filter` has not found so far."""
        return self._left.total()

    def filter(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that are not known; each entry of the baseline hides one finding."""
        return [finding for finding in findings if not self._take(finding)]

    def _take(self, finding: Finding) -> bool:
        known = identify(finding, self._folder)
        if not self._left[known]:
            return False
        self._left[known] -= 1
        return True


def identify(finding: Finding, folder: str) -> Known:
    """Return the finding without its position, with a file name relative to this folder."""
    file = Path(os.path.relpath(finding.file, folder)).as_posix()
    return Known(file, finding.rule, str(finding.object or ""), finding.field, finding.message)


def read_baseline(path: str | None) -> Baseline:
    """Return the baseline in a file; raise SettingsError if the file is invalid. A missing file counts as empty."""
    try:
        content = fast_json.decode(Path(path).read_bytes(), type=BaselineFile) if path else BaselineFile(_VERSION, [])
    except FileNotFoundError:
        content = BaselineFile(_VERSION, [])
    except OSError as error:
        raise SettingsError(path or "", [f"cannot be read: {error.strerror}"]) from None
    except (DecodeError, ValidationError) as error:
        raise SettingsError(path or "", [f"is not a baseline file: {error}"]) from None
    if content.version != _VERSION:
        raise SettingsError(path or "", [f"has version {content.version}, not {_VERSION}"])
    return Baseline(path, content.findings)


def format_baseline(findings: Iterable[Finding], path: str) -> str:
    """Return the text of a baseline file with these findings, sorted to keep diffs small."""
    folder = str(Path(path).parent)
    known = sorted(identify(finding, folder) for finding in findings)
    entries = [{name: getattr(each, name) for name in Known.__struct_fields__} for each in known]
    return json.dumps({"version": _VERSION, "findings": entries}, indent=2, ensure_ascii=False) + "\n"
