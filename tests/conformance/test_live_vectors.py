"""Admission over HTTP matches KubeVirt: the decision, the causes and the resulting matchers."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conformance.compare import compare
from tests.conformance.live import VectorRunner, read_vectors
from tests.support.loopback import LoopbackServer, Response

from virtshape.api.model import JsonObject

FOLDER = os.environ.get("VIRTSHAPE_VECTORS")
LENIENT: JsonObject = {"instancetype": {"missingReference": "Defer"}, "emulatedMachines": ["*"]}
"""Configuration for vectors with arbitrary names: missing objects and all machine types are allowed."""


class Cause(NamedTuple):
    """One cause of a rejection."""

    type: str
    field: str
    message: str


# Patterns of the type and field of causes that a server reports in addition to the recorded ones, by rule.
STRICTER: dict[str, tuple[str, str]] = {
    # The recorded step precedes the lookup of the object, and only the lookup rejects an unknown kind.
    "unknown kind": ("FieldValueNotSupported", r"spec\.(instancetype|preference)\.kind"),
    # Recorded with matcher validation only; KubeVirt's complete validation rejects these as well.
    "volume without a source": ("FieldValueInvalid", r"spec\.template\.spec\.volumes\[0\]"),
    "template with two sources": ("FieldValueInvalid", r"spec\.dataVolumeTemplates\[0\]\.spec(\.source.*)?"),
    # Recorded with matcher validation only; the configuration does not permit host disks.
    "host disk": ("FieldValueInvalid", r"spec\.template\.spec\.volumes\[0\]\.hostDisk"),
    # KubeVirt reports only the first of several causes; virtshape reports all of them.
    "all conflicts are reported": ("FieldValueInvalid", r"spec\.template\.spec\.domain\.cpu\.cores"),
    "all requirements are reported": ("FieldValueNotFound", r"spec\.(instancetype|template\.spec\.domain\.memory)"),
    "all failed inferences are reported": (r"FieldValue(Invalid|NotFound)", r"spec\.preference\.inferFromVolume"),
}

# Number of vectors of each operation for which a rule adds causes; all others match the recording.
COUNTS: dict[str, dict[str, int]] = {
    "admitVM": {"all conflicts are reported": 1, "all requirements are reported": 40},
    "matcher": {"unknown kind": 5},
    "infer": {
        "unknown kind": 28,
        "volume without a source": 4,
        "host disk": 1,
        "template with two sources": 6,
        "all failed inferences are reported": 25,
    },
}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[VectorRunner]:
    if FOLDER is None:
        pytest.skip("VIRTSHAPE_VECTORS is not the path of a folder with recorded vectors")
    with LoopbackServer(tmp_path / "data") as server:
        client = server.connect()
        yield VectorRunner(server, client)
        client.close()


def read_causes(reply: Response) -> list[Cause]:
    found = reply.tree["details"].get("causes", []) if reply.status == 422 else []
    return [Cause(cause.get("reason", ""), cause.get("field", ""), cause["message"]) for cause in found]


def find_rule(cause: Cause) -> str | None:
    """Return the rule that allows this additional cause, if any."""
    for rule, (kind, field) in STRICTER.items():
        if re.fullmatch(kind, cause.type) and re.fullmatch(field, cause.field):
            return rule
    return None


class Verdict(NamedTuple):
    """Differences from the recording, and the rules that allowed additional causes."""

    failures: list[str]
    rules: set[str]


def compare_response(expected: JsonObject, reply: Response) -> Verdict:
    allowed = expected.get("allowed", "error" not in expected)
    if reply.status in (200, 201):
        return Verdict(_compare_matchers(expected, reply) if allowed else [f"accepted, expected {expected}"], set())
    reported = read_causes(reply)
    more = reported if allowed else _leave_out_recorded(expected, reported)
    if not reported or more is None:
        return Verdict([f"expected {expected}, got {reply.body.decode()}"], set())
    rules = [find_rule(cause) for cause in more]
    failures = [f"not in the recording: {c}" for c, rule in zip(more, rules, strict=True) if rule is None]
    return Verdict(failures, {rule for rule in rules if rule is not None})


def _leave_out_recorded(expected: JsonObject, reported: list[Cause]) -> list[Cause] | None:
    """Return the causes reported in addition to the recorded ones, or None if a recorded cause is missing."""
    if expected.get("causes"):
        wanted = [(cause["type"], cause["field"]) for cause in expected["causes"]]
        return reported[len(wanted) :] if [cause[:2] for cause in reported[: len(wanted)]] == wanted else None
    message = expected.get("error") or expected["message"]
    return reported[1:] if reported and reported[0].message.startswith(message) else None


def _compare_matchers(expected: JsonObject, reply: Response) -> list[str]:
    if "vm" not in expected:
        return []
    roles = ("instancetype", "preference")
    wanted = {role: expected["vm"]["spec"].get(role) for role in roles}
    return list(compare(wanted, {role: reply.tree["spec"].get(role) for role in roles}))


@pytest.mark.parametrize("op", COUNTS)
def test_admission_over_http_matches_the_recorded_vectors(live: VectorRunner, op: str) -> None:
    failures: list[str] = []
    counts: Counter[str] = Counter()
    configured = JsonObject()
    for vector in read_vectors(Path(FOLDER or ""), op):
        configuration = {**(vector["input"].get("configuration") or {}), **LENIENT}
        if configuration != configured:
            live.configure(configuration)
            configured = configuration
        verdict = compare_response(vector["expect"], live.request(vector["input"]))
        failures += [f"{vector['id']}: {message}" for message in verdict.failures]
        counts.update(verdict.rules)
    assert not failures, "\n".join(failures[:20])
    assert dict(counts) == COUNTS[op]
