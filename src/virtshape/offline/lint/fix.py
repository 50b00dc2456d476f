"""
Correct findings in texts: misspelt fields and values, and deprecated fields, values and API versions.

Only the key or value in question is edited, so that comments and formatting are preserved. A correction is applied only
if it removes its finding and causes no new one, except below a corrected field.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Final, NamedTuple

from virtshape.api.path import parse_path
from virtshape.engine.topology import DEPRECATED_TOPOLOGIES
from virtshape.offline.lint.decoding import DEPRECATED_VERSIONS
from virtshape.offline.lint.finding import Finding

Lint = Callable[[bytes], list[Finding]]

MIN_SIMILARITY: Final = 0.8
"""The minimum similarity between a misspelt name and a suggestion that is applied."""
_MAX_PASSES: Final = 5
_SUGGESTION: Final = re.compile(r'did you mean "([^"]+)"\?')
_SERVED: Final = re.compile(r"does not serve (\S+)/\S+: use (\1/\S+)$")
_RUN_STRATEGIES: Final = {"true": "Always", "false": "Halted"}
_BOM: Final = b"\xef\xbb\xbf"
_ENTRY: Final = re.compile(
    r"""(?P<key_quote>["']?)(?P<name>[\w./-]+)(?P=key_quote)(?P<colon>\s*:)"""
    r"""(?P<space>\s*)(?:(?P<value_quote>["']?)(?P<value>[\w./-]*)(?P=value_quote)(?=\s*(?:[,}\]]|\s\#|$)))?"""
)


class Edit(NamedTuple):
    """A replacement within one line; lines and columns count from 0."""

    line: int
    start: int
    end: int
    text: str


class Correction(NamedTuple):
    """A finding and the edit that corrects it."""

    finding: Finding
    edit: Edit

    def reveals(self, finding: Finding) -> bool:
        """Return True if the finding is below a corrected field name, where nothing was checked before."""
        if self.finding.rule != "unknown-field" or finding.object != self.finding.object:
            return False
        parent = self.finding.field.rpartition(".")[0]
        field = f"{parent}.{self.edit.text}".removeprefix(".")
        return finding.field.startswith((f"{field}.", f"{field}["))


class Corrected(NamedTuple):
    """A corrected text, and the findings that were fixed in it."""

    text: bytes
    fixed: tuple[Finding, ...]


def fix_text(text: bytes, lint: Lint) -> Corrected:
    """Return the text with all safe corrections, and the fixed findings; `lint` must return the findings in a text."""
    fixed: list[Finding] = []
    for _ in range(_MAX_PASSES):  # correcting a field can reveal a misspelt field below it
        findings = lint(text)
        corrections = propose(findings, text)
        accepted = corrections
        result = _try(text, findings, corrections, lint)
        if result is None:
            result, accepted = _try_each(text, findings, corrections, lint)
        if not accepted:
            break
        text = result
        fixed += (correction.finding for correction in accepted)
    return Corrected(text, tuple(fixed))


def propose(findings: Sequence[Finding], text: bytes) -> list[Correction]:
    """Return corrections for the findings that can be corrected, at most one for each position."""
    try:
        lines = text.removeprefix(_BOM).decode().split("\n")
    except UnicodeDecodeError:
        return []
    corrections: dict[tuple[int, int], Correction] = {}
    for finding in findings:
        edit = _find_edit(finding, lines[finding.line - 1]) if finding.line <= len(lines) else None
        if edit is not None:
            corrections.setdefault((edit.line, edit.start), Correction(finding, edit))
    return list(corrections.values())


def format_diff(before: bytes, after: bytes, file: str) -> str:
    """Return the changes to a file as a unified diff."""
    old, new = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, after))
    lines = unified_diff(old, new, file, file)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _try(text: bytes, before: list[Finding], corrections: Sequence[Correction], lint: Lint) -> bytes | None:
    """Return the corrected text, or None if the corrections do not remove their findings or cause new ones."""
    if not corrections:
        return text
    changed = apply_edits(text, [correction.edit for correction in corrections])
    expected = Counter(map(_identify, before))
    expected.subtract(Counter(_identify(correction.finding) for correction in corrections))
    after = lint(changed)
    found = Counter(_identify(each) for each in after if not any(one.reveals(each) for one in corrections))
    return changed if all(expected[key] >= count for key, count in found.items()) else None


def _try_each(
    text: bytes, findings: list[Finding], corrections: Sequence[Correction], lint: Lint
) -> tuple[bytes, list[Correction]]:
    """Return the text with all safe corrections, and a list of them; bisect, as each attempt lints the whole text."""
    accepted: list[Correction] = []
    remaining = [list(corrections)]
    while remaining:
        part = remaining.pop()
        if _try(text, findings, [*accepted, *part], lint) is not None:
            accepted += part
        elif len(part) > 1:
            middle = len(part) // 2
            remaining += [part[middle:], part[:middle]]
    return apply_edits(text, [correction.edit for correction in accepted]), accepted


def apply_edits(text: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the text with all edits, which must not overlap."""
    mark = _BOM if text.startswith(_BOM) else b""
    lines = text.removeprefix(_BOM).decode().split("\n")
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line]
        lines[edit.line] = line[: edit.start] + edit.text + line[edit.end :]
    return mark + "\n".join(lines).encode()


def _identify(finding: Finding) -> tuple[str, str, str, str]:
    return finding.rule, str(finding.object or ""), finding.field, finding.message


def _find_edit(finding: Finding, line: str) -> Edit | None:
    at = finding.column - 1
    entry = _ENTRY.match(line, at)
    steps = parse_path(finding.field)
    if entry is None or not steps or entry["name"] != steps[-1]:
        return None
    if finding.rule == "unknown-field":
        name = _find_suggestion(finding, entry["name"])
        return _replace(finding, entry, "name", name) if name else None
    if not entry["value"]:
        return None
    if finding.field == "spec.running":
        return _replace_running(finding, entry)
    value = _find_value(finding, entry["value"])
    return _replace(finding, entry, "value", value) if value else None


def _replace_running(finding: Finding, entry: re.Match[str]) -> Edit | None:
    """Return the edit that replaces `running` with a run strategy, or None if the finding does not suggest that."""
    strategy = _RUN_STRATEGIES.get(entry["value"])
    if finding.rule != "deprecated-field" or not strategy or not finding.message.endswith(f"runStrategy: {strategy}"):
        return None
    quote = entry["key_quote"]
    text = f"{quote}runStrategy{quote}{entry['colon']}{entry['space']}{quote}{strategy}{quote}"
    return Edit(finding.line - 1, entry.start(), entry.end(), text)


def _find_value(finding: Finding, value: str) -> str | None:
    """Return the correct value for the finding's field, or None if it is unknown."""
    match finding.rule:
        case "deprecated-version":
            return DEPRECATED_VERSIONS.get(value)
        case "target-version":
            served = _SERVED.search(finding.message)
            return served[2] if served else None
        case "deprecated-field" if finding.field.endswith(".preferredCPUTopology"):
            return DEPRECATED_TOPOLOGIES.get(value)
        case "unsupported-value" | "unknown-kind":
            return _find_suggestion(finding, value)
        case _:
            return None


def _find_suggestion(finding: Finding, name: str) -> str | None:
    suggestion = _SUGGESTION.search(finding.message)
    if suggestion is None or f'"{name}"' not in finding.message:
        return None
    likeness = SequenceMatcher(None, name.lower(), suggestion[1].lower()).ratio()
    return suggestion[1] if likeness >= MIN_SIMILARITY else None


def _replace(finding: Finding, entry: re.Match[str], group: str, text: str) -> Edit:
    return Edit(finding.line - 1, entry.start(group), entry.end(group), text)
