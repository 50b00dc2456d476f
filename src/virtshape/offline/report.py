"""
Render findings as text, JSON, GitHub annotations or SARIF for code scanning.

Pure: renderers yield their output in parts, in the order of the findings.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from importlib.metadata import version
from typing import Final
from urllib.parse import quote

import msgspec

from virtshape.api.model import JsonObject
from virtshape.offline.lint.finding import Finding
from virtshape.offline.lint.rules import RULES, Level, Rule

_GITHUB_COMMANDS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "note": "notice"}
_COLORS: Final[dict[Level, str]] = {"error": "31;1", "warning": "33;1", "note": "36"}
_FINGERPRINT: Final = "virtshapeFinding/v1"


def render_text(findings: Iterable[Finding]) -> Iterator[str]:
    """Render one line per finding, in the format of compilers: `file:line:column: level: message [rule]`."""
    return (_render_line(each, each.level) for each in findings)


def render_colored(findings: Iterable[Finding]) -> Iterator[str]:
    """Render the lines for a terminal, with coloured levels."""
    return (_render_line(each, f"\x1b[{_COLORS[each.level]}m{each.level}\x1b[0m") for each in findings)


def _render_line(finding: Finding, level: str) -> str:
    message = " ".join(finding.message.splitlines())
    return f"{finding.file}:{finding.line}:{finding.column}: {level}: {message} [{finding.rule}]\n"


def render_json(findings: Iterable[Finding]) -> Iterator[str]:
    """Render a list of objects."""
    separator = "["
    for each in findings:
        yield separator + "\n  " + msgspec.json.encode(each).decode()
        separator = ","
    yield "[]\n" if separator == "[" else "\n]\n"


def render_github(findings: Iterable[Finding]) -> Iterator[str]:
    """Render workflow commands, which GitHub shows as annotations in a pull request."""
    for each in findings:
        command, title = _GITHUB_COMMANDS[each.level], _escape_property(each.rule)
        place = f"file={_escape_property(each.file.removeprefix('./'))},line={each.line},col={each.column}"
        yield f"::{command} {place},title={title}::{_escape_data(each.message)}\n"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def render_sarif(findings: Iterable[Finding]) -> Iterator[str]:
    """Render a SARIF 2.1.0 log of one run, with all rules."""
    indexes = {name: index for index, name in enumerate(RULES)}
    run = {
        "tool": {"driver": _describe_tool()},
        "columnKind": "unicodeCodePoints",
        "results": [_describe_result(each, indexes[each.rule]) for each in findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    yield msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _describe_tool() -> JsonObject:
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
    """Return the path as a URI; relative paths stay relative to the checkout."""
    path = quote(file.replace("\\", "/").removeprefix("./"), safe="/")
    return f"file://{path}" if path.startswith("/") else path


def _fingerprint(finding: Finding) -> str:
    """Return a fingerprint that does not depend on line numbers."""
    parts = (finding.rule, finding.file, str(finding.object or ""), finding.field, finding.message)
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


RENDERERS: Final[dict[str, Callable[[Iterable[Finding]], Iterator[str]]]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
}
"""All renderers by format name."""
