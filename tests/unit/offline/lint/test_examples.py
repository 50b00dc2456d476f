"""Every lint rule has an example that violates it."""

import pytest
from tests.support.lintexamples import build_example
from tests.support.linting import prescan

from virtshape.offline.lint import RULES, Linter
from virtshape.offline.lint.examples import TARGET, load_examples
from virtshape.offline.lint.suppress import suppress
from virtshape.offline.lint.targets import Target

ACCOMPANIED = {"run-strategy", "target-required"}
"""Rules whose examples violate another rule too."""


def find_rules(name: str) -> set[str]:
    text = build_example(name)
    findings = Linter(prescan([text], catalog=True)).check_text(text, "vm.yaml")
    if name.startswith("target-"):
        findings = Target(TARGET, lambda _: False).check_text(text, "vm.yaml", findings)
    return {finding.rule for finding in suppress(findings, text, "vm.yaml", RULES)}


def test_examples_cover_every_lint_rule_in_order() -> None:
    assert list(load_examples()) == list(RULES)


@pytest.mark.parametrize("name", RULES)
def test_lint_example_violates_its_rule(name: str) -> None:
    found = find_rules(name)
    assert found >= {name}
    assert name in ACCOMPANIED or found == {name}
