"""
Suppress findings with comments: `# virtshape: ignore[rule]` for a line, `# virtshape: ignore-file[rule]` for a file.

A comment for a line applies to its own line or, if that has no other content, to the next line with content. A comment
without rules applies to all rules.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.spelling import quote
from virtshape.offline.lint.finding import Finding, build_finding
from virtshape.offline.lint.rules import RULES

_MARK: Final = b"virtshape:"
_COMMENT: Final = re.compile(
    r"(?:^|(?<=\s))#\s*virtshape:\s*ignore(?P<file>-file)?\b(?:\s*\[(?P<rules>[^\]]*)\])?", re.IGNORECASE
)
_UNUSED: Final = "unused-ignore"


class Comment(NamedTuple):
    """A comment that suppresses findings of `rules` (empty for all rules) in `line` (0 for the whole file)."""

    at: tuple[int, int]
    line: int
    rules: tuple[str, ...]

    def covers(self, finding: Finding) -> bool:
        """Return True if the comment suppresses the finding."""
        return self.line in (0, finding.line) and (not self.rules or finding.rule in self.rules)


def suppress(findings: list[Finding], text: bytes, file: str, active: Iterable[str]) -> list[Finding]:
    """Return the findings that are not suppressed, and findings for comments that are unused or name unknown rules."""
    if _MARK not in text:
        return findings
    comments = list(find_comments(text.decode("utf-8", "replace")))
    kept = [each for each in findings if not any(comment.covers(each) for comment in comments)]
    used = [comment for comment in comments if any(comment.covers(each) for each in findings)]
    considered = set(active)
    if _UNUSED in considered:
        for comment in comments:
            kept += _check_comment(comment, comment in used, considered, file)
    return sorted(kept, key=lambda finding: finding.place)


def find_comments(text: str) -> Iterator[Comment]:
    """Yield the comments in a text that suppress findings."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        found = _COMMENT.search(line)
        if found is None:
            continue
        rules = tuple(name.strip() for name in (found["rules"] or "").split(",") if name.strip())
        if found["file"]:
            target = 0
        elif line[: found.start()].strip():
            target = number
        else:
            target = _get_next_content(lines, number)
        yield Comment((number, found.start() + 1), target, rules)


def _get_next_content(lines: list[str], after: int) -> int:
    """Return the number of the next line that is neither empty nor a comment, or `after` if there is none."""
    following = enumerate(lines[after:], after + 1)
    return next((number for number, line in following if line.strip() and not line.lstrip().startswith("#")), after)


def _check_comment(comment: Comment, is_used: bool, active: set[str], file: str) -> Iterator[Finding]:
    unknown = [name for name in comment.rules if name not in RULES]
    if unknown:
        names = ", ".join(map(quote, unknown))
        yield _build(f"unknown rule {names}: `virtshape rule` lists all rules", comment, file)
    elif not is_used and active.issuperset(comment.rules):
        yield _build("this comment suppresses nothing: remove it", comment, file)


def _build(message: str, comment: Comment, file: str) -> Finding:
    return build_finding(FieldError("", message, rule=_UNUSED), file, comment.at, None)
