"""Suppression of findings by comments."""

import pytest

from virtshape.offline.lint import RULES, Finding
from virtshape.offline.lint.suppress import suppress

FIELD = Finding("a.yaml", 2, 3, "error", "unknown-field", "m")
TYPE = Finding("a.yaml", 2, 3, "error", "wrong-type", "m")

SUPPRESSED = {
    "on the line": "a:\n  b: 1  # virtshape: ignore[unknown-field]\n",
    "with another rule": "a:\n  b: 1  # virtshape: ignore[syntax, unknown-field]\n",
    "without rules": "a:\n  b: 1  # virtshape: ignore\n",
    "without spaces": "a:\n  b: 1 #virtshape:ignore[unknown-field]\n",
    "with a reason": "a:\n  b: 1  # virtshape: ignore[unknown-field] - needed by the old controller\n",
    "on the line before": "# virtshape: ignore[unknown-field]\na: 1\n",
    "above other comments": "# virtshape: ignore[unknown-field]\n\n# why\na: 1\n",
    "in the whole file": "a:\n  b: 1\n# virtshape: ignore-file[unknown-field]\n",
}


def number_of(text: str) -> int:
    """Return the line number of the finding, which is the first line that contains `1`."""
    lines = text.split("\n")
    return next(number for number, line in enumerate(lines, 1) if "1" in line)


@pytest.mark.parametrize("text", SUPPRESSED.values(), ids=SUPPRESSED)
def test_comment_suppresses_a_finding(text: str) -> None:
    finding = Finding("a.yaml", number_of(text), 3, "error", "unknown-field", "m")
    assert suppress([finding], text.encode(), "a.yaml", RULES) == []


KEPT = {
    "no comment": "a:\n  b: 1\n",
    "of another line": "a: 0\nb: 1\n# virtshape: ignore\nc: 2\n",
    "within a word": "a:\n  b: x#virtshape: ignore 1\n",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_finding_without_a_matching_comment_is_not_suppressed(text: str) -> None:
    assert suppress([FIELD], text.encode(), "a.yaml", ["unknown-field"]) == [FIELD]


def test_comment_suppresses_only_the_named_rules() -> None:
    text = b"a:\n  b: 1  # virtshape: ignore[wrong-type]\n"
    assert suppress([FIELD, TYPE], text, "a.yaml", RULES) == [FIELD]


UNUSED = {
    "nothing to suppress": ("a: 1  # virtshape: ignore[unknown-field]", "this comment suppresses nothing: remove it"),
    "nothing at all": ("a: 1  # virtshape: ignore", "this comment suppresses nothing: remove it"),
    "unknown rule": (
        "a: 1  # virtshape: ignore[unknown-feild]",
        'unknown rule "unknown-feild": `virtshape rule` lists all rules',
    ),
}


@pytest.mark.parametrize(("text", "message"), UNUSED.values(), ids=UNUSED)
def test_unused_suppression_comment_is_reported_at_its_position(text: str, message: str) -> None:
    assert suppress([], text.encode(), "a.yaml", RULES) == [
        Finding("a.yaml", 1, 7, "warning", "unused-ignore", message)
    ]


def test_comment_for_a_rule_that_is_not_active_is_not_reported() -> None:
    text = b"a: 1  # virtshape: ignore[target-field]"
    assert suppress([], text, "a.yaml", [name for name in RULES if not name.startswith("target-")]) == []
    assert suppress([], text, "a.yaml", ["target-field"]) == []
