"""
KubeVirt's own engine and ours return the same results for random VMs, instance types and preferences.

`VIRTSHAPE_ORACLE_CASES` is the number of questions, `VIRTSHAPE_ORACLE_SEED` the first seed. A failure is reduced to the
fields that it needs.
"""

import json
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest
from tests.conformance.answer import answer
from tests.conformance.cases import DRAWS, Cases
from tests.conformance.differences import compare_with_kubevirt
from tests.conformance.oracle import Oracle
from tests.conformance.oracleanswers import ORACLE_ANSWERS
from tests.conformance.test_vectors import report

from virtshape.api.model import JsonObject

CASES: Final = int(os.environ.get("VIRTSHAPE_ORACLE_CASES", "2000"))
FIRST_SEED: Final = int(os.environ.get("VIRTSHAPE_ORACLE_SEED", "1"))
WEIGHTS: Final = {"apply": 5, "evaluateVM": 5, "expand": 3, "requirements": 2, "matcher": 2, "infer": 2}
MAX_FAILURES: Final = 5


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as running:
        yield running


@pytest.mark.parametrize("op", DRAWS)
def test_random_questions_have_the_same_results_as_in_kubevirt(oracle: Oracle, op: str) -> None:
    def compare_results(question: JsonObject) -> Difference:
        want, got = oracle.ask(op, question), ask(op, question)
        return Difference(sorted(want), sorted(got), compare_with_kubevirt(question, want, got))

    share = WEIGHTS.get(op, 1) / sum(WEIGHTS.get(name, 1) for name in DRAWS)
    failures = []
    for seed in range(FIRST_SEED, FIRST_SEED + int(CASES * share)):
        question = Cases(seed).draw(op)
        found = compare_results(question)
        if found.messages:
            reduced = reduce_question(question, lambda smaller, found=found: compare_results(smaller).is_like(found))  # type: ignore[misc]
            failures.append(f"seed {seed}: {'; '.join(compare_results(reduced).messages)}\n    {json.dumps(reduced)}")
            if len(failures) == MAX_FAILURES:
                break
    assert not failures, report(failures, int(CASES * share))


def ask(op: str, question: JsonObject) -> JsonObject:
    """Return virtshape's result for a question."""
    try:
        return ORACLE_ANSWERS[op](question) if op in ORACLE_ANSWERS else answer(op, question)
    except Exception:  # noqa: BLE001 - a crash is a difference to report like any other
        return {"crash": True, "traceback": traceback.format_exc()}


class Difference(NamedTuple):
    """The keys of KubeVirt's and our result, and how the results differ."""

    wanted: list[str]
    given: list[str]
    messages: list[str]

    def is_like(self, other: "Difference") -> bool:
        """Return True if both differences have the same keys and affect the same field."""
        return self.place == other.place

    @property
    def place(self) -> tuple[list[str], list[str], str]:
        return self.wanted, self.given, self.messages[0].partition(":")[0] if self.messages else ""


def reduce_question(question: JsonObject, fails: Callable[[JsonObject], bool]) -> JsonObject:
    """Return the question without the keys and list items that the failure does not need."""
    reduced: JsonObject = json.loads(json.dumps(question))
    changed = True
    while changed:
        changed = False
        for container, key in list(_list_members(reduced)):
            if key not in container if isinstance(container, dict) else key >= len(container):
                continue
            removed = container.pop(key)
            if fails(reduced):
                changed = True
            elif isinstance(container, dict):
                container[key] = removed
            else:
                container.insert(key, removed)
    return reduced


def _list_members(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and key of every member: outer members first, list items from the end."""
    keys = list(tree) if isinstance(tree, dict) else list(reversed(range(len(tree)))) if isinstance(tree, list) else []
    members = [tree[key] for key in keys]
    yield from ((tree, key) for key in keys)
    for member in members:
        yield from _list_members(member)
