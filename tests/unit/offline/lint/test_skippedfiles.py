"""Files of a repository that lint excludes, skips or checks."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.linting import build_manifest, claim, documents, instancetype, vm

from virtshape.offline.lint import Run, Settings
from virtshape.offline.lint.skippedfiles import FOREIGN, PATCH, TEMPLATE, find_skip_reason, list_git_ignored

OLD = vm(run="running: true")
HELM = "{{- if .Values.vm }}\n" + vm(name="name: {{ .Release.Name }}") + "{{- end }}\n"
QUOTED = vm(name='name: "{{ .Release.Name }}"')
VARIABLE = vm(name="name: ${VM_NAME:=web}")
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: kubevirt.io}\n"


@pytest.fixture(autouse=True)
def _in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def git(*args: str) -> None:
    program = shutil.which("git")
    if program is None:
        pytest.skip("git is not installed")
    subprocess.run(
        [program, "-c", "user.name=a", "-c", "user.email=a@b.example", *args], check=True, capture_output=True
    )


def list_files(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.name for file in Run(paths, settings=Settings().with_flags(exclude=exclude)).files]


LINTED = {
    "VM": vm(),
    "instance type": instancetype(),
    "claim": claim(),
    "minified JSON": '{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"}',
    "list": 'kind: "VirtualMachineList"\nitems: []\n',
    "misspelled kind": "apiVersion: kubevirt.io/v1\nkind: VirtualMachin\n",
    "VM after another object": documents("kind: Namespace\n", vm()),
    "broken VM": "kind: VirtualMachine\nspec: [\n",
    "VM with a template in cloud-init": vm(
        template="volumes:\n- name: c\n  cloudInitNoCloud:\n    userData: '## template: jinja {{ v1.name }}'"
    ),
    "VM with a template in several lines": vm(name="name: web\nlabels:\n  x: |\n    {{ a }}\n    b"),
    "VM with a template in an annotation": vm(name="name: web\nannotations: {a/b: '{{ c }}'}"),
    "VM with braces": vm(template="nodeSelector: {a: '{{', b: '${'}"),
    "VM with a shell script": vm(
        template="volumes:\n- name: c\n  cloudInitNoCloud:\n    userData: |\n      #!/bin/sh\n      echo ${HOME}"
    ),
    "broken VM with a shell script": "kind: VirtualMachine\nspec: [\n# ${HOME}\n",
}


@pytest.mark.parametrize("text", LINTED.values(), ids=LINTED)
def test_file_with_objects_of_checked_kinds_is_linted(text: str) -> None:
    assert find_skip_reason(text.encode(), is_named=False) is None


FOREIGN_TEXTS = {
    "Deployment": "apiVersion: apps/v1\nkind: Deployment\n",
    "values": "replicas: 3\n",
    "CRD": CRD,
    "broken YAML": "a: [\n",
    "template of another kind": "kind: Deployment\nname: {{ x }}\n",
    "kind in a sentence": "message: kind of a VirtualMachine\n",
    "empty": "",
}


@pytest.mark.parametrize("text", FOREIGN_TEXTS.values(), ids=FOREIGN_TEXTS)
def test_file_without_objects_of_checked_kinds_is_skipped_unless_it_is_named(text: str) -> None:
    assert find_skip_reason(text.encode(), is_named=False) == FOREIGN
    assert find_skip_reason(text.encode(), is_named=True) in (None, TEMPLATE)


@pytest.mark.parametrize("text", [HELM, QUOTED, VARIABLE], ids=["Helm", "quoted placeholders", "variables"])
@pytest.mark.parametrize("is_named", [True, False])
def test_lint_skips_templates(text: str, is_named: bool) -> None:
    assert find_skip_reason(text.encode(), is_named=is_named) == TEMPLATE


def test_lint_records_skipped_files_by_reason() -> None:
    write({"vm.yaml": OLD, "chart/vm.yaml": HELM, "chart/values.yaml": "a: 1\n", "broken.yaml": "a: [\n"})
    run = Run(["."])
    assert [finding.rule for finding in run.find()] == ["deprecated-field"]
    assert run.skipped == {FOREIGN: ["./broken.yaml", "./chart/values.yaml"], TEMPLATE: ["./chart/vm.yaml"]}


KUSTOMIZATION = """
resources: [../base]
patches:
- path: cpu.yaml
- patch: "- {op: remove, path: /spec}"
- nonsense
patchesStrategicMerge:
- old.yaml
- |
  kind: VirtualMachine
patchesJson6902: [{path: ../json.yaml, target: {kind: VirtualMachine}}]
"""


def test_kustomize_patches_are_skipped_unless_they_are_named() -> None:
    patch = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {runStrategy: Halted}\n"
    write(
        {
            "base/vm.yaml": vm(),
            "base/kustomization.yml": "resources: [vm.yaml]\n",
            "prod/kustomization.yaml": KUSTOMIZATION,
        }
    )
    write({"prod/cpu.yaml": patch, "prod/old.yaml": patch, "json.yaml": patch, "prod/vm.yaml": vm(name="name: db")})
    run = Run(["."])
    assert list(run.find()) == []
    assert run.checked == 2
    assert run.skipped[PATCH] == ["./json.yaml", "./prod/cpu.yaml", "./prod/old.yaml"]
    assert "prod/cpu.yaml" in list_files("prod/cpu.yaml", "prod")


def test_invalid_kustomization_has_no_patches() -> None:
    write({"a/kustomization.yaml": "patches: [", "b/kustomization.yaml": "- patches\n", "a/vm.yaml": vm()})
    write({"c/kustomization.yaml": "patches: vm.yaml\n"})
    assert list_files(".") == ["./a/vm.yaml"]


def test_excluded_files_are_skipped_unless_they_are_named() -> None:
    write({"vms/a.yaml": vm(), "vendor/b.yaml": vm(), "vms/c.tpl.yaml": vm()})
    assert list_files(".", exclude=("vendor", "*.tpl.yaml")) == ["./vms/a.yaml"]
    assert list_files("vendor/b.yaml", exclude=("vendor",)) == ["vendor/b.yaml"]


def test_files_ignored_by_git_are_not_linted() -> None:
    git("init", "-q")
    write({".gitignore": "build/\n*.gen.yaml\n", "a.yaml": vm(), "build/b.yaml": vm(), "x/c.gen.yaml": vm()})
    write({"x/.gitignore": "d.yaml\n", "x/d.yaml": vm(), "x/e.yaml": vm(), "kept.gen.yaml": vm()})
    git("add", "-f", "kept.gen.yaml")  # git does not ignore tracked files
    assert list_files(".") == ["./a.yaml", "./kept.gen.yaml", "./x/e.yaml"]
    assert list_files("x") == ["x/e.yaml"]
    assert list_files("x/d.yaml") == ["x/d.yaml"]
    assert list_files("build") == ["build/b.yaml"]


def test_files_in_a_nested_repository_are_linted() -> None:
    git("init", "-q")
    write({"sub/a.yaml": vm()})
    git("init", "-q", "sub")
    assert list_files(".") == ["./sub/a.yaml"]


def test_no_files_are_ignored_outside_a_repository_or_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(Path.cwd().parent))
    write({".gitignore": "*.yaml\n", "a.yaml": vm()})
    assert list_git_ignored(".") == frozenset()
    monkeypatch.setenv("PATH", "")
    assert list_files(".") == ["./a.yaml"]


def test_reference_to_a_preference_in_a_skipped_template_is_missing() -> None:
    write({"vm.yaml": vm(spec="preference: {name: liked}")})
    write({"t.yaml": build_manifest("VirtualMachineClusterPreference", '{x: "{{ y }}"}', name="liked")})
    assert [finding.rule for finding in Run(["."]).find()] == ["missing-reference"]


@pytest.mark.parametrize("start", ["{{", "${a"])
def test_unterminated_placeholders_are_searched_in_linear_time(start: str) -> None:
    text = vm(name=f"name: '{start * 100_000}'").encode()
    began = time.process_time()
    assert find_skip_reason(text, is_named=True) is None
    assert time.process_time() - began < 10
