"""Lint over several files: references between them, order of findings and progress."""

import io
import json
import sys
from pathlib import Path

import pytest
from tests.support.linting import build_manifest, claim, documents, instancetype, preference, vm

from virtshape.offline.lint import Finding, Run, objectscan
from virtshape.offline.problems import FilesError

BY_NAME = "instancetype: {name: small}"


@pytest.fixture(autouse=True)
def _in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def lint(*paths: str, catalog: bool = False) -> list[Finding]:
    return list(Run(paths, catalog=catalog).find())


def places(findings: list[Finding]) -> list[tuple[str, int, str]]:
    return [(each.file, each.line, each.rule) for each in findings]


def test_reference_is_resolved_across_files() -> None:
    write({"a/vm.yaml": vm(spec=BY_NAME, domain=""), "z/types.yaml": instancetype()})
    assert lint("a", "z") == []
    assert places(lint("a")) == [("a/vm.yaml", 7, "missing-reference")]


def test_lint_prefers_files_over_the_catalog() -> None:
    write({"vm.yaml": vm(spec="instancetype: {name: u1.nano}\npreference: {name: windows.11}", domain="")})
    assert {rule for *_, rule in places(lint("vm.yaml", catalog=True))} == {"unmet-requirement"}
    write({"own.yaml": instancetype("cpu: {guest: 4}\nmemory: {guest: 8Gi}", name="u1.nano")})
    assert lint("vm.yaml", "own.yaml", catalog=True) == []
    assert places(lint("vm.yaml", "own.yaml")) == [("vm.yaml", 8, "missing-reference")]


def test_findings_are_sorted_by_file_and_line() -> None:
    broken = vm(run="running: true", domain="memory: {guest: 1 Gi}")
    write({"b.yaml": broken, "a/c.yaml": broken.replace("web", "db")})
    assert places(lint("b.yaml", "a", "b.yaml")) == [
        ("a/c.yaml", 6, "deprecated-field"),
        ("a/c.yaml", 10, "invalid-value"),
        ("b.yaml", 6, "deprecated-field"),
        ("b.yaml", 10, "invalid-value"),
    ]


def test_duplicate_object_is_reported_in_the_second_file() -> None:
    write({"a.yaml": vm(), "b.yaml": vm()})
    (finding,) = lint("b.yaml", "a.yaml")
    assert (finding.file, finding.rule) == ("b.yaml", "duplicate-object")
    assert finding.message == 'VirtualMachine "web" is defined in a.yaml too: rename or remove one of them'


def test_same_object_in_another_folder_is_not_a_duplicate() -> None:
    write({"dev/vm.yaml": vm(), "prod/vm.yaml": vm(), "prod/copy.yaml": vm()})
    assert places(lint(".")) == [("./prod/vm.yaml", 4, "duplicate-object")]


def test_invalid_instancetype_is_not_reported_as_missing() -> None:
    write({"type.yaml": instancetype("cpu: {guest: two}"), "vm.yaml": vm(spec=BY_NAME, domain="")})
    assert places(lint(".")) == [("./type.yaml", 5, "wrong-type")]


def test_standard_input_is_read_once_and_can_refer_to_files(monkeypatch: pytest.MonkeyPatch) -> None:
    write({"type.yaml": instancetype()})
    text = vm(spec=f"{BY_NAME}\npreference: {{name: liked}}", domain="")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(documents(text, preference("{}")).encode())))
    run = Run(["-", "type.yaml"], catalog=False)
    assert list(run.find()) == []
    assert run.checked == 3


def test_document_that_is_not_an_object_is_reported_only_in_a_named_file() -> None:
    write({"chart/values.yaml": "replicas: 3\n"})
    assert lint("chart") == []
    assert places(lint("chart/values.yaml")) == [("chart/values.yaml", 1, "not-an-object")]


def test_all_unreadable_paths_are_reported_at_once() -> None:
    write({"vm.yaml": vm()})
    with pytest.raises(FilesError) as refusal:
        Run(["missing.yaml", "vm.yaml", "gone/"])
    assert [problem.source for problem in refusal.value.problems] == ["gone/", "missing.yaml"]


def test_lint_progress_is_reported_before_each_file() -> None:
    write({"a.yaml": vm(), "b.yaml": vm(name="name: db")})
    progress: list[tuple[int, int]] = []
    run = Run(["."])
    assert list(run.find(lambda done, total: progress.append((done, total)))) == []
    assert progress == [(0, 2), (1, 2)]


def test_finding_in_a_list_item_has_its_position() -> None:
    item = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "namespace": "dev"},
        "spec": {"running": True, "template": {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}}},
    }
    write({"vms.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}, indent=2)})
    (finding,) = lint("vms.json")
    assert (finding.line, finding.column, finding.field, str(finding.object)) == (
        13,
        9,
        "spec.running",
        "VirtualMachine dev/web",
    )


SKIMMED = {
    "single VM": (vm(), 0),
    "VM that mentions kinds of references": (vm(spec="instancetype: {name: a, kind: VirtualMachineInstancetype}"), 0),
    "an instance type": (instancetype(), 1),
    "a claim among VMs": (documents(vm(), claim(), vm()), 1),
    "claim after a separator with a comment": (f"--- # first\n{vm()}--- # second\r\n{claim()}", 1),
    "a list": ('{"kind": "List", "items": [{"kind": "VirtualMachine", "a": "DataSource"}, {"kind": "DataSource"}]}', 2),
    "flavor in a broken document": (
        documents("a: [\n", build_manifest("VirtualMachineFlavor", "{}")),
        1,
    ),
}


@pytest.mark.parametrize(("text", "parsed"), SKIMMED.values(), ids=SKIMMED)
def test_prescan_parses_only_kinds_that_vms_refer_to(text: str, parsed: int) -> None:
    assert len(list(objectscan._find_candidates(text.encode()))) == parsed  # noqa: SLF001 - has no public effect
