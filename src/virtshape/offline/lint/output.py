"""
Render findings as text with source lines, concise lines, JSON, GitHub annotations, or SARIF for code scanning.

Renderers yield their output in chunks, in the order of the findings.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from virtshape.api.model import JsonObject
from virtshape.offline.lint.finding import FileFindings, Finding
from virtshape.offline.lint.rules import RULES, Level, Rule

_GITHUB_COMMANDS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "note": "notice"}
_COLORS: Final[dict[Level, str]] = {"error": "31;1", "warning": "33;1", "note": "36"}
_FINGERPRINT: Final = "virtshapeFinding/v1"
_TOKEN: Final = re.compile(r"""["']?[\w./-]+["']?""")
_MAX_WIDTH: Final = 110
_WIDTH_BEFORE: Final = 40
_ELLIPSIS: Final = "…"

Renderer = Callable[[Iterable[FileFindings]], Iterator[str]]


def render(output: str, files: Iterable[FileFindings], *, color: bool = False) -> Iterator[str]:
    """Render findings in an output format; `color` applies only to the formats `text` and `concise`."""
    if output == "text":
        return render_text(files, color=color)
    return render_concise(files, color=color) if output == "concise" else RENDERERS[output](files)


def render_text(files: Iterable[FileFindings], *, color: bool = False) -> Iterator[str]:
    """Render findings grouped by file, each with its source line and carets below its position."""
    separator = ""
    for file, text, findings in files:
        if not findings:
            continue
        lines = text.decode("utf-8-sig", "replace").split("\n")
        yield separator + _paint(_printable(file), "1", color=color) + "\n"
        for each in findings:
            level = _paint(each.level, _COLORS[each.level], color=color)
            rule = _paint(f"[{each.rule}]", "2", color=color)
            yield f"  {each.line}:{each.column} {level}: {_join_lines(each.message)} {rule}\n"
            if each.line <= len(lines):
                yield _quote_line(lines[each.line - 1], each, color=color)
        separator = "\n"


def _quote_line(line: str, finding: Finding, *, color: bool) -> str:
    """Return the source line of a finding, with carets below the key or value at its position."""
    start = min(finding.column - 1, len(line.rstrip()))
    token = _TOKEN.match(line, start)
    width = token.end() - start if token else 1
    if len(line) > _MAX_WIDTH:
        cut = max(0, start - _WIDTH_BEFORE)
        line, start = line[cut : cut + _MAX_WIDTH], start - cut
        if cut:
            line, start = _ELLIPSIS + line, start + 1
    shown = _printable(line.rstrip())
    number = f"{finding.line:>6}"
    carets = _paint("^" * max(1, min(width, len(shown) - start)), _COLORS[finding.level], color=color)
    bar = _paint("|", "2", color=color)
    return f"{number} {bar} {shown}\n{'':>6} {bar} {' ' * start}{carets}\n"


def _printable(text: str) -> str:
    """Return the text with each tab replaced by one space, and other unprintable characters by U+FFFD."""
    return "".join(char if char.isprintable() else " " if char == "\t" else "\ufffd" for char in text)


def _paint(text: str, code: str, *, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text


def _join_lines(message: str) -> str:
    return " ".join(message.splitlines())


def render_concise(files: Iterable[FileFindings], *, color: bool = False) -> Iterator[str]:
    """Render one line per finding, in the format of compilers: `file:line:column: level: message [rule]`."""
    for each in _list_findings(files):
        level = _paint(each.level, _COLORS[each.level], color=color)
        message = _join_lines(each.message)
        yield f"{each.file}:{each.line}:{each.column}: {level}: {message} [{each.rule}]\n"


def _list_findings(files: Iterable[FileFindings]) -> Iterator[Finding]:
    return (finding for file in files for finding in file.findings)


def render_json(files: Iterable[FileFindings]) -> Iterator[str]:
    """Render findings as a JSON list of objects."""
    separator = "["
    for each in _list_findings(files):
        yield separator + "\n  " + msgspec.json.encode(each).decode()
        separator = ","
    yield "[]\n" if separator == "[" else "\n]\n"


def render_github(files: Iterable[FileFindings]) -> Iterator[str]:
    """Render workflow commands, which GitHub shows as annotations in a pull request."""
    for each in _list_findings(files):
        command, title = _GITHUB_COMMANDS[each.level], _escape_property(each.rule)
        place = f"file={_escape_property(each.file.removeprefix('./'))},line={each.line},col={each.column}"
        yield f"::{command} {place},title={title}::{_escape_data(each.message)}\n"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def render_sarif(files: Iterable[FileFindings]) -> Iterator[str]:
    """Render a SARIF 2.1.0 log with one run, which lists all rules."""
    indexes = {name: index for index, name in enumerate(RULES)}
    run = {
        "tool": {"driver": _describe_tool()},
        "columnKind": "unicodeCodePoints",
        "results": [_describe_result(each, indexes[each.rule]) for each in _list_findings(files)],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _describe_tool() -> JsonObject:
    # Imported here, because only this format needs the version.
    from importlib.metadata import version

    release = version("virtshape")
    return {"name": "virtshape", "semanticVersion": release, "rules": [_describe_rule(rule) for rule in RULES.values()]}


def _describe_rule(rule: Rule) -> JsonObject:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": f"{rule.title}."},
        "help": {"text": rule.advice},
        "defaultConfiguration": {"level": rule.level},
    }


def _describe_result(finding: Finding, rule_index: int) -> JsonObject:
    location: JsonObject = {
        "physicalLocation": {
            "artifactLocation": {"uri": _file_uri(finding.file)},
            "region": {"startLine": finding.line, "startColumn": finding.column},
        }
    }
    if finding.object is not None:
        path = f": {finding.field}" if finding.field else ""
        location["logicalLocations"] = [{"fullyQualifiedName": f"{finding.object}{path}", "kind": "member"}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(finding)},
    }


def _file_uri(file: str) -> str:
    """Return the path as a file URI, or as a relative URI reference if the path is relative."""
    from urllib.parse import quote

    path = quote(file.replace("\\", "/").removeprefix("./"), safe="/")
    return f"file://{path}" if path.startswith("/") else path


def _fingerprint(finding: Finding) -> str:
    """Return a fingerprint that does not depend on line numbers."""
    from hashlib import blake2b

    parts = (finding.rule, finding.file, str(finding.object or ""), finding.field, finding.message)
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


RENDERERS: Final[dict[str, Renderer]] = {
    "text": render_text,
    "concise": render_concise,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
}
"""All renderers by format name."""
