"""Check that the paths and the names in CONTRIBUTING.md exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
FEATURES = CONTRIBUTING.partition("## Where to find things")[2].partition("\n## ")[0]
WALKTHROUGH = CONTRIBUTING.partition("## A first change")[2].partition("\n## ")[0]
NEW_FIELD = "preferredHostname"
_CODE = re.compile(r"`([^`\s]+)`")
_TREES = ("src/", "tests/", "docs/", "deploy/", "tools/", ".ci/")


def _list_feature_rows() -> list[str]:
    return [
        line for line in FEATURES.splitlines() if line.startswith("| ") and not line.startswith(("| feature", "| -"))
    ]


def test_feature_table_in_contributing_has_rows() -> None:
    assert len(_list_feature_rows()) >= 30


@pytest.mark.parametrize("row", _list_feature_rows(), ids=lambda row: row.split(" | ")[0][2:])
def test_every_file_in_the_feature_table_exists(row: str) -> None:
    paths = _CODE.findall(row.split(" | ")[1])
    assert paths
    for path in paths:
        assert (ROOT / "src/virtshape" / path).is_file(), path


def test_every_path_in_contributing_exists() -> None:
    paths = {path for path in _CODE.findall(CONTRIBUTING) if path.startswith(_TREES)}
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def _list_walkthrough_names() -> list[str]:
    """Return the functions, types and constants that the walkthrough names, except the field that it adds."""
    prose = re.sub(r"```.*?```", "", WALKTHROUGH, flags=re.DOTALL)
    return sorted({name for name in _CODE.findall(prose) if name.isidentifier()} - {NEW_FIELD})


def test_names_in_the_walkthrough_are_found() -> None:
    assert {"SPEC_EFFECTS", "VirtualMachinePreferenceSpec", "apply_preference"} <= {*_list_walkthrough_names()}


@pytest.mark.parametrize("name", _list_walkthrough_names())
def test_every_name_in_the_walkthrough_is_defined_in_a_file_that_it_names(name: str) -> None:
    files = [ROOT / path for path in _CODE.findall(WALKTHROUGH) if path.endswith(".py") and (ROOT / path).is_file()]
    definition = re.compile(rf"^(?:async def|def|class) {name}\b|^{name}\b.* = ", re.MULTILINE)
    assert [file.name for file in files if definition.search(file.read_text())], name
