"""`virtctl create` prints the same objects as KubeVirt's, and rejects the same command lines."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject

# Structs that KubeVirt writes even if they are empty.
ALWAYS_WRITTEN = {"devices", "metadata", "resources", "status"}
RANDOM_NAME = re.compile(r"\b(imported-volume|vm)-[a-z0-9]{5}\b")


def _load() -> list[JsonObject]:
    folder = os.environ.get("VIRTSHAPE_VECTORS")
    cases = json.loads(Path(folder, "cli.json").read_text(encoding="utf-8")) if folder else []
    assert isinstance(cases, list)
    return cases


def _normalize(tree: JsonObject) -> JsonObject:
    """Replace random names and remove empty values."""
    normalized = _prune(json.loads(RANDOM_NAME.sub(r"\1-RANDOM", json.dumps(tree))))
    assert isinstance(normalized, dict)
    return normalized


def _prune(value: Any) -> Any:
    if isinstance(value, list):
        return [_prune(item) for item in value]
    if not isinstance(value, dict):
        return value
    pruned = {key: _prune(item) for key, item in value.items()}
    return {key: item for key, item in pruned.items() if item != {} or key not in ALWAYS_WRITTEN}


def test_recorded_virtctl_command_lines_are_available() -> None:
    if "VIRTSHAPE_VECTORS" not in os.environ:
        pytest.skip("VIRTSHAPE_VECTORS is not the path of a folder with cli.json")
    assert _load()


@pytest.mark.parametrize("case", [pytest.param(case, id=" ".join(case["argv"])) for case in _load()])
def test_virtctl_create_prints_the_recorded_object_or_fails_as_recorded(
    case: JsonObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "pw.txt").write_text("s3cret\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    outcome = call_virtctl(*case["argv"])
    assert (outcome.status == 0) == (case["exit"] == 0), outcome.err or case.get("error")
    if "object" in case:
        assert _normalize(outcome.tree) == _normalize(case["object"])
    else:
        assert outcome.err.startswith("error: ")
