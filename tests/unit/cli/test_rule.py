import json

import pytest

from virtshape.cli.errors import run
from virtshape.cli.virtshape import virtshape
from virtshape.offline.lint import RULES


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(virtshape, "virtshape", ["rule", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_lint_rule_is_explained_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "unsupported-value")
    assert (status, err) == (0, "")
    assert out == (
        "unsupported-value (error)\n"
        "\n"
        "A value is not one of the allowed values.\n"
        "Use one of the listed values.\n"
        "\n"
        "`virtshape lint --fix` corrects it where the correction is certain.\n"
        "\n"
        "An example that violates it:\n"
        "\n"
        "    spec:\n"
        "      runStrategy: Allways\n"
        "\n"
        "To suppress it, add a comment to the line: # virtshape: ignore[unsupported-value]\n"
    )


def test_explanation_of_a_target_rule_names_the_lint_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert "violates it, with --target kubevirt-1.3:\n" in call(capsys, "target-field")[1]


def test_lint_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = call(capsys)[1].splitlines()
    assert [line.split()[0] for line in lines] == list(RULES)


def test_lint_rules_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(call(capsys, "-o", "json", "wrong-type")[1]) == {
        "id": "wrong-type",
        "level": "error",
        "title": "A value has the wrong type",
        "advice": "Use a value of the type in the message.",
        "fixable": False,
        "example": "spec:\n  template:\n    spec:\n      domain:\n        cpu:\n          cores: two\n",
    }
    assert len(json.loads(call(capsys, "-o", "json")[1])) == len(RULES)


def test_unknown_lint_rule_is_refused_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "syntx") == (
        2,
        "",
        'error: unknown rule "syntx"; did you mean "syntax"?\n`virtshape rule` lists all rules.\n',
    )
