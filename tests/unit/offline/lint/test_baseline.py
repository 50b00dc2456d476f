"""Baseline files: known findings are not reported again."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from virtshape.offline.lint import Finding, SettingsError, Subject, format_baseline
from virtshape.offline.lint.baseline import read_baseline

WEB = Subject("VirtualMachine", "default", "web")
KNOWN = Finding("vms/web.yaml", 12, 9, "error", "unknown-field", "m", "spec.a", WEB)


@pytest.fixture(autouse=True)
def _in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*findings: Finding, path: str = "known.json") -> str:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(format_baseline(findings, path))
    return path


def test_known_finding_is_not_reported_if_it_moves_to_another_line() -> None:
    baseline = read_baseline(write(KNOWN))
    assert baseline.filter([replace(KNOWN, line=99, column=1)]) == []
    assert baseline.stale == 0


def test_findings_missing_in_the_baseline_are_reported() -> None:
    new = [replace(KNOWN, message="n"), replace(KNOWN, field="spec.b"), replace(KNOWN, file="vms/db.yaml")]
    baseline = read_baseline(write(KNOWN))
    assert baseline.filter(new) == new
    assert baseline.stale == 1


def test_each_entry_of_the_baseline_hides_one_finding() -> None:
    assert read_baseline(write(KNOWN)).filter([KNOWN, KNOWN]) == [KNOWN]
    assert read_baseline(write(KNOWN, KNOWN)).filter([KNOWN, KNOWN]) == []


def test_file_names_in_a_baseline_are_relative_to_its_directory() -> None:
    path = write(KNOWN, path="ci/known.json")
    (entry,) = json.loads(Path(path).read_text())["findings"]
    assert entry == {
        "file": "../vms/web.yaml",
        "rule": "unknown-field",
        "object": "VirtualMachine default/web",
        "field": "spec.a",
        "message": "m",
    }
    assert read_baseline(path).filter([replace(KNOWN, file="./vms/web.yaml")]) == []


def test_all_findings_are_reported_if_the_baseline_file_is_missing() -> None:
    assert read_baseline("known.json").filter([KNOWN]) == [KNOWN]


INVALID = {
    "not JSON": ("[", "is not a baseline file"),
    "another format": ("[]", "is not a baseline file"),
    "another version": ('{"version": 2, "findings": []}', "has version 2, not 1"),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_invalid_baseline_is_refused(text: str, message: str) -> None:
    Path("known.json").write_text(text)
    with pytest.raises(SettingsError, match=message):
        read_baseline("known.json")
