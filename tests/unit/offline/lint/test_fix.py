"""Corrections by lint: mistakes that are corrected, and text that stays unchanged."""

import json
from pathlib import Path

import pytest
from tests.support.linting import build_manifest, documents, instancetype, lint, preference, prescan, vm

from virtshape.offline.files import replace_file
from virtshape.offline.lint import RULES, Finding, Linter, Run, Settings, format_diff
from virtshape.offline.lint.examples import load_examples
from virtshape.offline.lint.fix import Corrected, fix_text

V1BETA2 = "instancetype.kubevirt.io/v1beta2"


def fix(text: str | bytes) -> Corrected:
    data = text.encode() if isinstance(text, str) else text

    def find(changed: bytes) -> list[Finding]:
        return Linter(prescan([changed], catalog=False)).check_text(changed, "vm.yaml")

    return fix_text(data, find)


def fix_all(text: str) -> str:
    return fix(text).text.decode()


DISK = "disks:\n- name: root\n  {disk}"
ROOT = "volumes: [{name: root, containerDisk: {image: i}}]"

CORRECTED = {
    "misspelt field": (vm(domain="memoory: {guest: 1Gi}  # size"), vm(domain="memory: {guest: 1Gi}  # size")),
    "misspelt field in a flow mapping": (
        vm(domain="memory: {guest: 1Gi}\ncpu: { coress : 2, sockets: 1 }"),
        vm(domain="memory: {guest: 1Gi}\ncpu: { cores : 2, sockets: 1 }"),
    ),
    "misspelt field in quotes": (
        vm(domain="memory: {guest: 1Gi}\ncpu: {'coress': 2}"),
        vm(domain="memory: {guest: 1Gi}\ncpu: {'cores': 2}"),
    ),
    "two in one line": (
        vm(domain="memory: {guest: 1Gi}\ncpu: {coress: 2, sokets: 1}"),
        vm(domain="memory: {guest: 1Gi}\ncpu: {cores: 2, sockets: 1}"),
    ),
    "one below another": (
        vm(template="nodeSelektor: {}", domain="memoory: {gest: 1Gi}"),
        vm(template="nodeSelector: {}", domain="memory: {guest: 1Gi}"),
    ),
    "misspelt value": (vm(run="runStrategy: Allways # on"), vm(run="runStrategy: Always # on")),
    "misspelt value in quotes": (vm(run='runStrategy: "Allways"'), vm(run='runStrategy: "Always"')),
    "running": (vm(run="running:  true   # on"), vm(run="runStrategy:  Always   # on")),
    "not running": (vm(run="running: false"), vm(run="runStrategy: Halted")),
    "deprecated version of a VM": (
        vm().replace("kubevirt.io/v1", "kubevirt.io/v1alpha3  # old"),
        vm().replace("kubevirt.io/v1", "kubevirt.io/v1  # old"),
    ),
    "deprecated version of an instance type": (
        instancetype().replace("v1beta2", "v1alpha2"),
        instancetype().replace("v1beta2", "v1beta1"),
    ),
    "deprecated topology": (
        preference("cpu:\n  preferredCPUTopology: preferCores"),
        preference("cpu:\n  preferredCPUTopology: cores"),
    ),
    "misspelt kind": (vm().replace("kind: VirtualMachine", "kind: VirtualMachin"), vm()),
    "the right one of several documents": (
        documents(vm(), vm(name="name: db", run="running: true"), vm(name="name: c")),
        documents(vm(), vm(name="name: db"), vm(name="name: c")),
    ),
}


@pytest.mark.parametrize(("before", "after"), CORRECTED.values(), ids=CORRECTED)
def test_lint_fix_corrects_a_mistake(before: str, after: str) -> None:
    assert fix_all(before) == after
    assert lint(after) == []
    assert fix(after) == Corrected(after.encode(), ())


KEPT = {
    "field without a similar name": vm(domain="memory: {guest: 1Gi}\nnonsense: 1"),
    "field with a weakly similar name": vm(domain="memory: {guest: 1Gi}\ncpus: {}\ncpu: {}"),
    "instance type that may be meant": documents(vm(spec="instancetype: {name: smal}", domain=""), instancetype()),
    "running next to a run strategy": vm(run="running: true\nrunStrategy: Always"),
    "EFI field, which has no exact replacement": preference("firmware: {preferredUseEfi: true}"),
    "deprecated version of flavors": build_manifest(
        "VirtualMachineFlavor", "cpu: {guest: 1}\nmemory: {guest: 1Gi}", version="flavor.kubevirt.io/v1alpha1"
    ),
    "field that would be wrong under its new name": vm(domain="memory: {guest: 1Gi}\nfirmwares: 7"),
    "text that is not UTF-8": vm(run="running: true").encode() + b"# \xff\n",
    "invalid YAML": "kind: VirtualMachine\nspec: [\n",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_lint_fix_does_not_change_text_without_a_certain_correction(text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    assert fix(data) == Corrected(data, ())


def test_safe_corrections_are_applied_even_if_others_are_unsafe() -> None:
    before = vm(run="running: true", domain="memory: {guest: 1Gi}\nfirmwares: 7")
    assert fix_all(before) == vm(domain="memory: {guest: 1Gi}\nfirmwares: 7")


def test_lint_fix_corrects_json() -> None:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {"running": True, "template": {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}}},
    }
    for indent in (None, 2):
        text = json.dumps(tree, indent=indent)
        assert fix_all(text) == text.replace('"running": true', '"runStrategy": "Always"')


@pytest.mark.parametrize(("mark", "newline"), [(b"", "\r\n"), (b"\xef\xbb\xbf", "\n"), (b"\xef\xbb\xbf", "\r\n")])
def test_lint_fix_preserves_line_endings_and_byte_order_mark(mark: bytes, newline: str) -> None:
    def encode(text: str) -> bytes:
        return mark + text.replace("\n", newline).encode().removesuffix(newline.encode())

    assert fix(encode(vm(run="running: true"))).text == encode(vm())


def test_correction_that_the_target_refuses_is_not_made(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(preference("cpu: {preferredCPUTopology: preferCores}").replace("v1beta2", "v1beta1"))
    for target, fixed in {"kubevirt-1.3": 0, "kubevirt-1.4": 1}.items():
        run = Run([str(file)], settings=Settings().with_flags(target=target))
        assert len(run.fix(run.files[0])[1].fixed) == fixed


def test_unserved_version_is_corrected_only_if_the_object_stays_valid(tmp_path: Path) -> None:
    texts = [instancetype(), instancetype("cpu: {guest: 1}")]
    results = []
    for text in texts:
        file = tmp_path / "type.yaml"
        file.write_text(text)
        run = Run([str(file)], settings=Settings().with_flags(target="kubevirt-1.8"))
        results.append(run.fix(run.files[0])[1].text.decode())
    assert results == [texts[0].replace("v1beta2", "v1beta1"), texts[1]]


def test_suppressed_and_ignored_findings_are_not_corrected(tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_text(vm(run="running: true  # virtshape: ignore[deprecated-field]"))
    run = Run([str(file)])
    assert run.fix(run.files[0])[1].fixed == ()
    file.write_text(vm(run="running: true"))
    run = Run([str(file)], settings=Settings().with_flags(ignore=("deprecated-field",)))
    assert run.fix(run.files[0])[1].fixed == ()


@pytest.mark.parametrize("name", RULES)
def test_corrected_examples_have_no_new_findings_and_need_no_corrections(name: str) -> None:
    text = load_examples()[name]
    corrected = fix(text)
    assert fix(corrected.text) == Corrected(corrected.text, ())
    assert len(lint(corrected.text)) == len(lint(text)) - len(corrected.fixed)
    assert bool(corrected.fixed) <= RULES[name].fixable


def test_lint_fix_shows_a_unified_diff() -> None:
    assert format_diff(b"a: 1\nb: 2", b"a: 1\nc: 2", "x.yaml") == (
        "--- x.yaml\n+++ x.yaml\n@@ -1,2 +1,2 @@\n a: 1\n"
        "-b: 2\n\\ No newline at end of file\n+c: 2\n\\ No newline at end of file\n"
    )


def test_permissions_of_a_corrected_file_are_preserved(tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_bytes(b"a")
    file.chmod(0o640)
    assert replace_file(file, b"a", b"b")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"b", 0o640)
    assert list(tmp_path.iterdir()) == [file]


def test_file_that_changed_during_a_fix_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_bytes(b"changed")
    assert not replace_file(file, b"a", b"b")
    assert file.read_bytes() == b"changed"
    assert list(tmp_path.iterdir()) == [file]


def test_symlink_target_outside_the_folder_is_not_fixed(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.yaml", tmp_path / "folder"
    folder.mkdir()
    text = vm(run="running: true")
    for path in (outside, folder / "target"):
        path.write_text(text)
    (folder / "link-out.yaml").symlink_to(outside)
    (folder / "link-within.yaml").symlink_to("target")
    run = Run([str(folder)], settings=Settings())
    for file in run.files:
        before, corrected = run.fix(file)
        if corrected.fixed:
            assert run.write(file, before, corrected.text)
    assert [len(run.files), outside.read_text()] == [2, text]
    assert (folder / "target").read_text() == vm(run="runStrategy: Always")


def test_unsafe_correction_among_many_is_found_in_few_attempts() -> None:
    wrong = vm(domain="memory: {guest: 1Gi}\ncpu: {coress: 2}")
    unsafe = vm(domain="memory: {guest: 1Gi}\ncpu: {coress: 2, corez: 3}")
    text = "---\n".join([*[wrong.replace("name: web", f"name: web{number}") for number in range(60)], unsafe]).encode()
    attempts = 0

    def find(changed: bytes) -> list[Finding]:
        nonlocal attempts
        attempts += 1
        return Linter(prescan([changed], catalog=False)).check_text(changed, "vm.yaml")

    corrected = fix_text(text, find)
    assert corrected.text.count(b"cores: 2") >= 60
    assert attempts < 40
