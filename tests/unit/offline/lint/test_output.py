import json
from typing import Any

import pytest

from virtshape.offline.lint import RULES, FileFindings, Finding, Level, Subject
from virtshape.offline.lint.output import (
    RENDERERS,
    render,
    render_concise,
    render_github,
    render_json,
    render_sarif,
    render_text,
)

WEB = Subject("VirtualMachine", "default", "web")
FIELD = "spec.template.spec.domain.cpu.cores"
CLASH = Finding("vms/web.yaml", 12, 9, "error", "instancetype-conflict", "both say it: remove it", FIELD, WEB)
SYNTAX = Finding("vms/web.yaml", 3, 1, "error", "syntax", "a key without a colon")


def build_finding(**fields: Any) -> Finding:
    given: dict[str, Any] = {"file": "a.yaml", "line": 1, "column": 2, "level": "error", "rule": "syntax"}
    return Finding(**{**given, "message": "m", **fields})


def in_file(*findings: Finding, text: str = "") -> list[FileFindings]:
    return [FileFindings(findings[0].file if findings else "a.yaml", text.encode(), list(findings))]


def read_sarif(*findings: Finding) -> dict[str, Any]:
    log = json.loads("".join(render_sarif(in_file(*findings))))
    assert isinstance(log, dict)
    return log


def test_concise_format_has_one_compiler_style_line_per_finding() -> None:
    assert "".join(render_concise(in_file(SYNTAX, CLASH))) == (
        "vms/web.yaml:3:1: error: a key without a colon [syntax]\n"
        "vms/web.yaml:12:9: error: both say it: remove it [instancetype-conflict]\n"
    )


def test_concise_format_joins_the_lines_of_a_message() -> None:
    (line,) = render_concise(in_file(build_finding(message="one\ntwo")))
    assert line == "a.yaml:1:2: error: one two [syntax]\n"


@pytest.mark.parametrize(("level", "color"), [("error", "31;1"), ("warning", "33;1"), ("note", "36")])
def test_level_of_a_finding_is_coloured_on_a_terminal(level: Level, color: str) -> None:
    files = in_file(build_finding(level=level))
    assert "".join(render("concise", files, color=True)) == f"a.yaml:1:2: \x1b[{color}m{level}\x1b[0m: m [syntax]\n"
    assert f"\x1b[{color}m{level}\x1b[0m" in "".join(render("text", files, color=True))


def test_text_format_groups_findings_by_file_with_source_lines() -> None:
    first = FileFindings("a.yaml", b"kind: A\r\nspec:\n  cores: 2\n", [build_finding(line=3, column=3)])
    none = FileFindings("b.yaml", b"", [])
    second = FileFindings("c.yaml", b"\xef\xbb\xbfkind: A", [build_finding(column=1), build_finding(line=9)])
    assert "".join(render_text([first, none, second])) == (
        "a.yaml\n"
        "  3:3 error: m [syntax]\n"
        "     3 |   cores: 2\n"
        "       |   ^^^^^\n"
        "\n"
        "c.yaml\n"
        "  1:1 error: m [syntax]\n"
        "     1 | kind: A\n"
        "       | ^^^^\n"
        "  9:2 error: m [syntax]\n"
    )


SHOWN = {
    "a quoted key": ('{"kind": 1}', 2, '{"kind": 1}', " ^^^^^^"),
    "punctuation": ("a: [", 4, "a: [", "   ^"),
    "a position after the end": ("a:", 9, "a:", "  ^"),
    "a tab": ("a:\tb", 4, "a: b", "   ^"),
    "control characters": ("a: \x1b[31m", 1, "a: \ufffd[31m", "^"),
    "a long line": ("x" * 90 + " kind: " + "y" * 300, 92, "…" + "x" * 39 + " kind: " + "y" * 64, " " * 41 + "^^^^"),
}


@pytest.mark.parametrize(("line", "column", "shown", "carets"), SHOWN.values(), ids=SHOWN)
def test_source_line_of_a_finding_is_printed_with_carets(line: str, column: int, shown: str, carets: str) -> None:
    lines = "".join(render_text(in_file(build_finding(column=column), text=line))).splitlines()
    assert lines[2:] == [f"     1 | {shown}", f"       | {carets}"]


def test_json_format_is_a_list_of_complete_findings() -> None:
    assert json.loads("".join(render_json(in_file(SYNTAX, CLASH)))) == [
        {
            "file": "vms/web.yaml",
            "line": 3,
            "column": 1,
            "level": "error",
            "rule": "syntax",
            "message": "a key without a colon",
            "field": "",
            "object": None,
        },
        {
            "file": "vms/web.yaml",
            "line": 12,
            "column": 9,
            "level": "error",
            "rule": "instancetype-conflict",
            "message": "both say it: remove it",
            "field": FIELD,
            "object": {"kind": "VirtualMachine", "namespace": "default", "name": "web"},
        },
    ]


def test_json_format_without_findings_is_an_empty_list() -> None:
    assert "".join(render_json([])) == "[]\n"


GITHUB = {
    "an error": ({}, "::error file=a.yaml,line=1,col=2,title=syntax::m\n"),
    "a warning": ({"level": "warning"}, "::warning file=a.yaml,line=1,col=2,title=syntax::m\n"),
    "a note": ({"level": "note"}, "::notice file=a.yaml,line=1,col=2,title=syntax::m\n"),
    "lines and percent signs in a message": (
        {"message": "100%: a,\r\nb::c"},
        "::error file=a.yaml,line=1,col=2,title=syntax::100%25: a,%0D%0Ab::c\n",
    ),
    "separators in a file's name": (
        {"file": "a,b:100%.yaml"},
        "::error file=a%2Cb%3A100%25.yaml,line=1,col=2,title=syntax::m\n",
    ),
    "file in the current directory": ({"file": "./a.yaml"}, "::error file=a.yaml,line=1,col=2,title=syntax::m\n"),
}


@pytest.mark.parametrize(("fields", "command"), GITHUB.values(), ids=GITHUB)
def test_github_format_is_workflow_commands(fields: dict[str, Any], command: str) -> None:
    assert "".join(render_github(in_file(build_finding(**fields)))) == command


def test_sarif_has_one_run_with_every_rule() -> None:
    log = read_sarif()
    assert (log["version"], log["$schema"].endswith("sarif-2.1.0.json"), len(log["runs"])) == ("2.1.0", True, 1)
    run = log["runs"][0]
    assert run["results"] == []
    driver = run["tool"]["driver"]
    assert driver["name"] == "virtshape"
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    assert driver["rules"][0] == {
        "id": "syntax",
        "name": "Syntax",
        "shortDescription": {"text": "A document is neither YAML nor JSON."},
        "fullDescription": {"text": "A document is neither YAML nor JSON."},
        "help": {"text": RULES["syntax"].advice},
        "defaultConfiguration": {"level": "error"},
    }


def test_sarif_result_has_physical_and_logical_locations() -> None:
    run = read_sarif(CLASH)["runs"][0]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "instancetype-conflict"
    assert result["level"] == "error"
    assert result["message"] == {"text": "both say it: remove it"}
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "vms/web.yaml"},
                "region": {"startLine": 12, "startColumn": 9},
            },
            "logicalLocations": [{"fullyQualifiedName": f"VirtualMachine default/web: {FIELD}", "kind": "member"}],
        }
    ]


def test_sarif_syntax_error_has_no_logical_location() -> None:
    (result,) = read_sarif(SYNTAX)["runs"][0]["results"]
    assert "logicalLocations" not in result["locations"][0]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("vms/a b#1.yaml", "vms/a%20b%231.yaml"),
        ("./vm.yaml", "vm.yaml"),
        ("/srv/vm.yaml", "file:///srv/vm.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_sarif_file_names_are_uris(file: str, uri: str) -> None:
    (result,) = read_sarif(build_finding(file=file))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_sarif_fingerprint_depends_on_the_finding_but_not_on_its_line() -> None:
    findings = [CLASH, build_finding(), build_finding(line=7), build_finding(message="n")]
    results = read_sarif(*findings)["runs"][0]["results"]
    prints = [result["partialFingerprints"]["virtshapeFinding/v1"] for result in results]
    assert prints[1] == prints[2]
    assert len(set(prints)) == 3


def test_lint_has_the_expected_output_formats() -> None:
    assert list(RENDERERS) == ["text", "concise", "json", "sarif", "github"]
