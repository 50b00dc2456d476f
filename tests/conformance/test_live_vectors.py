"""Admission answers over HTTP as KubeVirt did: the verdict, the causes, and what becomes of a VM's matchers."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conformance.compare import compare
from tests.conformance.live import Live, read_vectors
from tests.support.loopback import LoopbackServer, Response

from virtshape.api.model import JsonObject

FOLDER = os.environ.get("VIRTSHAPE_VECTORS")
LENIENT: JsonObject = {"instancetype": {"missingReference": "Defer"}, "emulatedMachines": ["*"]}
"""So that what was recorded with made-up names counts: objects may come later, and every machine type exists."""


class Cause(NamedTuple):
    """One cause of a refusal."""

    type: str
    field: str
    message: str


# What a whole server tells beside the recorded step: the rule, the causes that it gives, and why it tells more.
STRICTER: dict[str, tuple[str, str]] = {
    # Recorded before anything looked for the object; whatever looks for it refuses such a kind.
    "the kind exists": ("FieldValueNotSupported", r"spec\.(instancetype|preference)\.kind"),
    # Recorded where nothing but matchers is looked at; KubeVirt's own validation refuses these as well.
    "a volume has a source": ("FieldValueInvalid", r"spec\.template\.spec\.volumes\[0\]"),
    "a template has one origin": ("FieldValueInvalid", r"spec\.dataVolumeTemplates\[0\]\.spec(\.source.*)?"),
    # KubeVirt stops at the first of several; here all of them are told at once.
    "conflicts are all told": ("FieldValueInvalid", r"spec\.template\.spec\.domain\.cpu\.cores"),
    "requirements are all told": ("FieldValueNotFound", r"spec\.(instancetype|template\.spec\.domain\.memory)"),
    "failed inferences are all told": (r"FieldValue(Invalid|NotFound)", r"spec\.preference\.inferFromVolume"),
}

# How many of an operation's vectors each rule tells more about; all others are answered just as recorded.
COUNTS: dict[str, dict[str, int]] = {
    "admitVM": {"conflicts are all told": 1, "requirements are all told": 40},
    "matcher": {"the kind exists": 5},
    "infer": {
        "the kind exists": 28,
        "a volume has a source": 4,
        "a template has one origin": 6,
        "failed inferences are all told": 25,
    },
}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    if FOLDER is None:
        pytest.skip("VIRTSHAPE_VECTORS names no folder with recorded vectors")
    with LoopbackServer(tmp_path / "data") as server:
        client = server.connect()
        yield Live(server, client)
        client.close()


def read_causes(reply: Response) -> list[Cause]:
    found = reply.tree["details"].get("causes", []) if reply.status == 422 else []
    return [Cause(cause.get("reason", ""), cause.get("field", ""), cause["message"]) for cause in found]


def find_rule(cause: Cause) -> str | None:
    """The rule that lets the server tell more than was recorded, if there is one for this."""
    for rule, (kind, field) in STRICTER.items():
        if re.fullmatch(kind, cause.type) and re.fullmatch(field, cause.field):
            return rule
    return None


class Verdict(NamedTuple):
    """Where an answer is another one than the recorded one, and the rules by which it tells more."""

    failures: list[str]
    rules: set[str]


def judge(expected: JsonObject, reply: Response) -> Verdict:
    allowed = expected.get("allowed", "error" not in expected)
    if reply.status in (200, 201):
        return Verdict(_judge_matchers(expected, reply) if allowed else [f"accepted, expected {expected}"], set())
    reported = read_causes(reply)
    more = reported if allowed else _leave_out_recorded(expected, reported)
    if not reported or more is None:
        return Verdict([f"expected {expected}, got {reply.body.decode()}"], set())
    rules = [find_rule(cause) for cause in more]
    failures = [f"told beside what was recorded: {c}" for c, rule in zip(more, rules, strict=True) if rule is None]
    return Verdict(failures, {rule for rule in rules if rule is not None})


def _leave_out_recorded(expected: JsonObject, reported: list[Cause]) -> list[Cause] | None:
    """What is told beside what was recorded, which comes first; None if that is not told."""
    if expected.get("causes"):
        wanted = [(cause["type"], cause["field"]) for cause in expected["causes"]]
        return reported[len(wanted) :] if [cause[:2] for cause in reported[: len(wanted)]] == wanted else None
    words = expected.get("error") or expected["message"]
    return reported[1:] if reported and reported[0].message.startswith(words) else None


def _judge_matchers(expected: JsonObject, reply: Response) -> list[str]:
    if "vm" not in expected:
        return []
    roles = ("instancetype", "preference")
    wanted = {role: expected["vm"]["spec"].get(role) for role in roles}
    return list(compare(wanted, {role: reply.tree["spec"].get(role) for role in roles}))


@pytest.mark.parametrize("op", COUNTS)
def test_running_server_matches_the_recording(live: Live, op: str) -> None:
    failures: list[str] = []
    counts: Counter[str] = Counter()
    configured = JsonObject()
    for vector in read_vectors(Path(FOLDER or ""), op):
        configuration = {**(vector["input"].get("configuration") or {}), **LENIENT}
        if configuration != configured:
            live.configure(configuration)
            configured = configuration
        verdict = judge(vector["expect"], live.request(vector["input"]))
        failures += [f"{vector['id']}: {words}" for words in verdict.failures]
        counts.update(verdict.rules)
    assert not failures, "\n".join(failures[:20])
    assert dict(counts) == COUNTS[op]
