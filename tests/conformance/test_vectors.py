"""
Engine, resolution and admission match KubeVirt: all recorded vectors if available, and always a sample.

Vectors in the folder are compared by the folder's own `check.py`, and the sample by `compare.py`.
"""

import importlib.util
import json
import os
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.answer import ANSWERS, answer
from tests.conformance.compare import compare

from virtshape.api.model import JsonObject

SAMPLE = Path(__file__).with_name("vectors.jsonl")
SHOWN = 20


def read_vectors(*files: Path) -> list[JsonObject]:
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@cache
def read_folder(folder: Path) -> list[JsonObject]:
    return read_vectors(*sorted(folder.glob("*.jsonl")))


def find_folder() -> Path:
    folder = os.environ.get("VIRTSHAPE_VECTORS")
    if not folder:
        pytest.skip("VIRTSHAPE_VECTORS is not the path of a folder with recorded vectors")
    return Path(folder)


def load_answer_module(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("check", folder / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.compare


def ask(vector: JsonObject) -> JsonObject:
    try:
        return answer(vector["op"], vector["input"])
    except Exception:  # noqa: BLE001 - a crash is an answer to report like any other
        return {"crash": True, "traceback": traceback.format_exc()}


def report(failures: list[str], asked: int) -> str:
    more = [f"... and {len(failures) - SHOWN} more"] if len(failures) > SHOWN else []
    return "\n".join([f"{len(failures)} of {asked} answers differ:", *failures[:SHOWN], *more])


@pytest.mark.parametrize("op", ANSWERS)
def test_result_of_every_vector_matches_the_recording(op: str) -> None:
    folder = find_folder()
    check = load_answer_module(folder)
    vectors = [vector for vector in read_folder(folder) if vector["op"] == op]
    failures = []
    for vector in vectors:
        got = ask(vector)
        wrong = check(op, vector["expect"], got)
        if wrong:
            failures.append(f"{vector['id']}: {got.get('traceback') or '; '.join(wrong)}")
    assert vectors, f"no vectors for {op} in VIRTSHAPE_VECTORS"
    assert not failures, report(failures, len(vectors))


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["id"]) for vector in read_vectors(SAMPLE)])
def test_results_of_sampled_vectors_match_the_recording(vector: JsonObject) -> None:
    assert list(compare(vector["expect"], answer(vector["op"], vector["input"]))) == []


def test_sample_of_vectors_covers_every_operation() -> None:
    assert {vector["op"] for vector in read_vectors(SAMPLE)} == set(ANSWERS)


@pytest.mark.parametrize(
    ("want", "got", "differences"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [".a: expected 1, got 2"]),
        ({"a": True}, {"a": 1}, [".a: expected True, got 1"]),
        ({}, {"a": 0, "b": "", "c": False, "d": None, "e": [], "metadata": {}}, []),
        ({}, {"rng": {}}, [".rng: expected None, got {}"]),
        ({"rng": {}}, {}, [".rng: expected {}, got None"]),
        ({"resources": {}}, {}, []),
        ({"a": [1, 2]}, {"a": [1]}, [".a: expected [1, 2], got [1]"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [".a[0].b: expected 1, got 2"]),
        ({"error": "theirs"}, {"error": "ours"}, []),
        ({"error": "theirs"}, {}, [".error: expected True, got False"]),
        ({"m": {"name": "a"}}, {"m": {"name": "a", "kind": "virtualmachineclusterpreference"}}, []),
        ({"m": {"name": "a"}}, {"m": {"name": "a", "kind": "K"}}, [".m.kind: expected None, got 'K'"]),
        ({"panic": "theirs"}, {"anything": 1}, []),
        ({"goText": True, "error": "x"}, {"allowed": False}, []),
        ({"goText": True, "error": "x"}, {"allowed": True}, ["a refusal was expected"]),
    ],
)
def test_comparison_of_a_result_with_a_vector_lists_differences(
    want: JsonObject, got: JsonObject, differences: list[str]
) -> None:
    assert list(compare(want, got)) == differences
