"""Lint finds an error in every object that KubeVirt rejected, and none in any object that it accepted."""

import json
import os
from pathlib import Path

import pytest
from tests.support.linting import lint

from virtshape.api.model import JsonObject

SHAPE_RULES = {"instancetype-conflict", "unmet-requirement", "indivisible-spread", "no-memory", "own-vcpus"}
STORING = ("CREATE", "UPDATE")


def _load(*files: str) -> list[JsonObject]:
    folder = os.environ.get("VIRTSHAPE_VECTORS")
    lines = [line for file in files for line in Path(folder, file).read_text().splitlines()] if folder else []
    return [json.loads(line) for line in lines]


def _find_errors(*objects: JsonObject) -> set[str]:
    text = "\n".join(json.dumps(each) for each in objects)
    return {finding.rule for finding in lint(text) if finding.level == "error"}


def test_recorded_admission_responses_are_available() -> None:
    if "VIRTSHAPE_VECTORS" not in os.environ:
        pytest.skip("VIRTSHAPE_VECTORS is not the path of a folder with admitVM.jsonl")
    assert _load("admitVM.jsonl")


VMS = [case for case in _load("admitVM.jsonl") if "configuration" not in case["input"]]


@pytest.mark.parametrize("case", VMS, ids=[case["id"] for case in VMS])
def test_lint_rejects_exactly_the_vms_that_kubevirt_rejected(case: JsonObject) -> None:
    objects, vm = case["input"].get("objects") or [], case["input"]["vm"]
    errors = _find_errors(*objects, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", **vm})
    if "missing-reference" not in errors:  # KubeVirt's admission accepts references to missing objects
        assert bool(errors & SHAPE_RULES) != case["expect"]["allowed"]


INSTANCETYPE_KINDS = [
    case
    for case in _load("validateInstancetype.jsonl", "validatePreference.jsonl")
    if case["input"]["operation"] in STORING
]


@pytest.mark.parametrize("case", INSTANCETYPE_KINDS, ids=[case["id"] for case in INSTANCETYPE_KINDS])
def test_lint_rejects_exactly_the_instancetypes_and_preferences_that_kubevirt_rejected(case: JsonObject) -> None:
    assert bool(_find_errors(case["input"]["object"])) != case["expect"]["allowed"]
