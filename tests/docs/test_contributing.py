"""Check that every path that CONTRIBUTING.md names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
FEATURES = CONTRIBUTING.partition("## Where to find things")[2].partition("\n## ")[0]
_CODE = re.compile(r"`([^`\s]+)`")
_TREES = ("src/", "tests/", "docs/", "deploy/", "tools/", ".ci/")


def _list_feature_rows() -> list[str]:
    return [
        line for line in FEATURES.splitlines() if line.startswith("| ") and not line.startswith(("| feature", "| -"))
    ]


def test_feature_table_has_rows() -> None:
    assert len(_list_feature_rows()) >= 30


@pytest.mark.parametrize("row", _list_feature_rows(), ids=lambda row: row.split(" | ")[0][2:])
def test_every_file_in_the_feature_table_exists(row: str) -> None:
    paths = _CODE.findall(row.split(" | ")[1])
    assert paths
    for path in paths:
        assert (ROOT / "src/virtshape" / path).is_file(), path


def test_every_other_path_exists() -> None:
    paths = {path for path in _CODE.findall(CONTRIBUTING) if path.startswith(_TREES)}
    assert {path for path in paths if not (ROOT / path).exists()} == set()
