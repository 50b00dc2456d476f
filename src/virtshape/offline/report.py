"""
Findings as text: for people, for programs, for GitHub's annotations and, as SARIF, for code scanning.

Decides nothing and prints nothing: each form yields its text piece by piece, in the order of the findings.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import quote

import msgspec

from virtshape.offline.lint.finding import Finding
from virtshape.offline.lint.rules import RULES, Level, Rule

_GITHUB_COMMANDS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "note": "notice"}
_COLORS: Final[dict[Level, str]] = {"error": "31;1", "warning": "33;1", "note": "36"}
_FINGERPRINT: Final = "virtshapeFinding/v1"


def render_text(findings: Iterable[Finding]) -> Iterator[str]:
    """One line for each finding, as compilers write them: `file:line:column: level: message [rule]`."""
    return (_render_line(each, each.level) for each in findings)


def render_colored(findings: Iterable[Finding]) -> Iterator[str]:
    """The same lines for a terminal, with the level in colour."""
    return (_render_line(each, f"\x1b[{_COLORS[each.level]}m{each.level}\x1b[0m") for each in findings)


def _render_line(finding: Finding, level: str) -> str:
    message = " ".join(finding.message.splitlines())
    return f"{finding.file}:{finding.line}:{finding.column}: {level}: {message} [{finding.rule}]\n"


def render_json(findings: Iterable[Finding]) -> Iterator[str]:
    """A list of objects."""
    separator = "["
    for each in findings:
        yield separator + "\n  " + msgspec.json.encode(each).decode()
        separator = ","
    yield "[]\n" if separator == "[" else "\n]\n"


def render_github(findings: Iterable[Finding]) -> Iterator[str]:
    """Workflow commands, which GitHub shows beside the lines of a pull request."""
    for each in findings:
        command, title = _GITHUB_COMMANDS[each.level], _escape_property(each.rule)
        place = f"file={_escape_property(each.file.removeprefix('./'))},line={each.line},col={each.column}"
        yield f"::{command} {place},title={title}::{_escape_data(each.message)}\n"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def render_sarif(findings: Iterable[Finding]) -> Iterator[str]:
    """A SARIF 2.1.0 log of one run, with every rule that there is."""
    indexes = {name: index for index, name in enumerate(RULES)}
    run = {
        "tool": {"driver": _describe_tool()},
        "columnKind": "unicodeCodePoints",
        "results": [_describe_result(each, indexes[each.rule]) for each in findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _describe_tool() -> dict[str, Any]:
    release = version("virtshape")
    return {"name": "virtshape", "semanticVersion": release, "rules": [_describe_rule(rule) for rule in RULES.values()]}


def _describe_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": f"{rule.title}."},
        "help": {"text": rule.advice},
        "defaultConfiguration": {"level": rule.level},
    }


def _describe_result(finding: Finding, rule_index: int) -> dict[str, Any]:
    location: dict[str, Any] = {
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
    """The path as a URI: relative ones stay so, since a scan knows where its checkout is."""
    path = quote(file.replace("\\", "/").removeprefix("./"), safe="/")
    return f"file://{path}" if path.startswith("/") else path


def _fingerprint(finding: Finding) -> str:
    """What stays the same when the lines of a file move."""
    parts = (finding.rule, finding.file, str(finding.object or ""), finding.field, finding.message)
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


RENDERERS: Final[dict[str, Callable[[Iterable[Finding]], Iterator[str]]]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
}
"""Every form by its name."""
