"""Admission answers over HTTP as KubeVirt did: the verdict, the causes, and what becomes of a VM's matchers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.compare import compare
from tests.conformance.live import Live, UnusableError, read_vectors
from tests.loopback import Reply, Serving

Tree = dict[str, Any]
FOLDER = os.environ.get("VIRTSHAPE_VECTORS")
OPS = ("admitVM", "matcher", "infer")
DEFER: Tree = {"instancetype": {"missingReference": "Defer"}}
PUT_UP_WITH = 0.1
"""How many of the vectors may be about objects that a system does not store."""

# The recorded steps leave these to others: that a kind, a size and a volume's source are there.
LATER = {
    ("FieldValueInvalid", "spec.template.spec.volumes[0]"),
    ("FieldValueNotSupported", "spec.instancetype.kind"),
    ("FieldValueNotSupported", "spec.preference.kind"),
    ("FieldValueRequired", "spec.template.spec.domain.memory.guest"),
}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    if FOLDER is None:
        give_up = pytest.fail if "CI" in os.environ else pytest.skip
        give_up("VIRTSHAPE_VECTORS names no folder with recorded vectors")
    with Serving(tmp_path / "data") as serving:
        client = serving.connect()
        yield Live(client)
        client.close()


def read_causes(reply: Reply) -> list[tuple[str, str]]:
    return [(cause.get("reason", ""), cause.get("field", "")) for cause in reply.tree["details"].get("causes", [])]


def judge(expected: Tree, reply: Reply) -> list[str]:
    """Where the answer is another one than the recorded one."""
    allowed = expected.get("allowed", "error" not in expected)
    if reply.status in (200, 201):
        return _judge_matchers(expected, reply) if allowed else [f"accepted, expected {expected}"]
    told = read_causes(reply)
    if allowed:
        return [] if set(told) <= LATER else [f"refused: {reply.tree['message']}"]
    wanted = [(cause["type"], cause["field"]) for cause in expected.get("causes") or ()]
    if reply.status != 422 or not told:
        return [f"expected 422 with causes, got {reply.body.decode()}"]
    return [] if told[: len(wanted)] == wanted else [f"expected causes {wanted}, got {told}"]


def _judge_matchers(expected: Tree, reply: Reply) -> list[str]:
    if "vm" not in expected:
        return []
    roles = ("instancetype", "preference")
    wanted = {role: expected["vm"]["spec"].get(role) for role in roles}
    return list(compare(wanted, {role: reply.tree["spec"].get(role) for role in roles}))


@pytest.mark.parametrize("op", OPS)
def test_a_running_system_answers_as_recorded(live: Live, op: str) -> None:
    vectors = read_vectors(Path(FOLDER or ""), op)
    failures: list[str] = []
    unusable, configured = 0, Tree()
    for vector in vectors:
        configuration = {**(vector["input"].get("configuration") or {}), **DEFER}
        if configuration != configured:
            live.configure(configuration)
            configured = configuration
        try:
            failures += [f"{vector['id']}: {words}" for words in judge(vector["expect"], live.ask(vector["input"]))]
        except UnusableError:
            unusable += 1
    assert not failures, "\n".join(failures[:20])
    assert unusable <= PUT_UP_WITH * len(vectors)
