import io
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.manifests import write_manifest

from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.offline.files import Loaded, find_duplicates, load
from virtshape.offline.problems import FilesError


def build_vm(name: str = "web", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}}}, **spec},
    }


def build_type(name: str = "small", guest: Any = 2) -> JsonObject:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": guest}},
    }


KUSTOMIZATION = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": "whatever"}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def names(loaded: Loaded) -> list[str]:
    loaded.raise_problems()
    return [entry.object.metadata.name for entry in loaded.entries]


def problems(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_all_objects_of_a_file_are_read(suffix: str) -> None:
    path = write_manifest(f"all.{suffix}", build_vm("a"), build_type("b"), build_vm("c"))
    assert names(load([path])) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["List", "VirtualMachineList"])
def test_items_of_a_list_are_read_as_separate_objects(kind: str) -> None:
    api_version = "v1" if kind == "List" else "kubevirt.io/v1"
    path = write_manifest(
        "list.yaml", {"apiVersion": api_version, "kind": kind, "items": [build_vm("a"), build_vm("b")]}
    )
    loaded = load([path])
    assert names(loaded) == ["a", "b"]
    assert loaded.entries[1].place == "list.yaml:14:3"


def test_object_read_from_a_file_has_a_struct_and_a_position() -> None:
    entry = load([write_manifest("vms.yaml", build_vm("a"), build_vm("b"))]).entries[1]
    assert isinstance(entry.object, VirtualMachine)
    assert (entry.place, entry.document.position("spec.runStrategy")) == ("vms.yaml:12:1", (17, 3))


def test_folder_of_manifests_is_read_recursively() -> None:
    write_manifest("all/z.yaml", build_vm("z"))
    write_manifest("all/deep/er/low.yml", build_vm("low"))
    write_manifest("all/a.json", build_vm("a"))
    write_manifest("all/notes.txt", build_vm("notes"))
    write_manifest("all/.git/hidden.yaml", build_vm("hidden"))
    loaded = load(["all/"])
    assert names(loaded) == ["a", "z", "low"]
    assert [entry.document.source for entry in loaded.entries] == ["all/a.json", "all/z.yaml", "all/deep/er/low.yml"]


def test_manifest_file_named_by_the_user_can_have_any_extension() -> None:
    assert names(load([write_manifest("vm.txt", build_vm())])) == ["web"]


def test_file_given_twice_is_read_once() -> None:
    write_manifest("all/vm.yaml", build_vm())
    assert names(load(["all/vm.yaml", "all", "./all/../all/vm.yaml"])) == ["web"]


def test_dash_as_a_manifest_path_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = yaml.safe_dump(build_vm()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    loaded = load(["-", "-"])
    assert names(loaded) == ["web"]
    assert loaded.entries[0].place == "<stdin>:1:1"


def test_unknown_fields_are_preserved_and_reported() -> None:
    vm = build_vm(newThing={"a": 1})
    vm["spec"]["template"]["spec"]["domain"]["devices"]["disks"] = [{"name": "root", "shiny": True}]
    entry = load([write_manifest("vm.yaml", vm)]).entries[0]
    assert [(field.at, field.value) for field in entry.unknown] == [
        (("spec", "template", "spec", "domain", "devices", "disks", 0, "shiny"), True),
        (("spec", "newThing"), {"a": 1}),
    ]
    assert [str(each) for each in entry.describe_unknown()] == [
        'vm.yaml:13:13: spec.template.spec.domain.devices.disks[0].shiny: unknown field "shiny"',
        'vm.yaml:14:3: spec.newThing: unknown field "newThing"',
    ]


def test_objects_of_unrelated_kinds_in_files_are_skipped() -> None:
    loaded = load([write_manifest("all.yaml", KUSTOMIZATION, build_vm(), DEPLOYMENT)])
    assert names(loaded) == ["web"]
    assert [document.tree for document in loaded.skipped] == [KUSTOMIZATION, DEPLOYMENT]


def test_caller_selects_the_kinds_that_are_read() -> None:
    def is_type(kind: Kind) -> bool:
        return kind.group == "instancetype.kubevirt.io"

    path = write_manifest("all.yaml", build_vm(typo={}), build_type(), {**build_vm(), "apiVersion": "kubevirt.io/v7"})
    assert names(load([path], is_type)) == ["small"]


@pytest.mark.parametrize("tree", [{"replicas": 3}, [1, 2], "text"], ids=["no kind", "a list", "scalar"])
def test_document_that_is_not_an_object_is_ignored_only_in_a_folder(tree: Any) -> None:
    write_manifest("all/values.yaml", tree)
    assert problems(load(["all"])) == []
    assert problems(load(["all/values.yaml"])) != []


@pytest.mark.parametrize("content", [b"", b"---\n---\n", b"# nothing\n"], ids=["empty", "separators", "a comment"])
def test_empty_file_has_no_objects(content: bytes) -> None:
    Path("empty.yaml").write_bytes(content)
    assert names(load(["empty.yaml"])) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"a: b: c\n", 'f.yaml:1:5: unexpected ":": no value can follow here', id="YAML"),
        pytest.param(
            b"kind: x\n---\n\tb: 1\n", "f.yaml:3:1: tabs are not allowed for indentation", id="YAML of a later document"
        ),
        pytest.param(b'{"a": ]', "f.yaml:1:7: ", id="JSON"),
        pytest.param(b"\x7fELF\x02\x01\x90", "f.yaml:1:7: this is not UTF-8 text", id="binary"),
        pytest.param(b"a: 1\n", 'f.yaml:1:1: missing required field "apiVersion"', id="not a Kubernetes object"),
    ],
)
def test_syntax_error_is_reported_with_its_position(content: bytes, problem: str) -> None:
    Path("f.yaml").write_bytes(content)
    assert problems(load(["f.yaml"]))[0].startswith(problem)


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        pytest.param(
            build_type(guest="two"),
            'f.yaml:7:5: spec.cpu.guest: expected an integer, got the string "two"',
            id="a wrong type",
        ),
        pytest.param(
            {**build_vm(), "apiVersion": "kubevirt.io/v7"},
            "f.yaml:1:1: apiVersion: VirtualMachine is not known in version "
            '"kubevirt.io/v7", only in "kubevirt.io/v1" or "kubevirt.io/v1alpha3"',
            id="unknown version",
        ),
        pytest.param(
            {"kind": "VirtualMachine"}, 'f.yaml:1:1: missing required field "apiVersion"', id="no version at all"
        ),
    ],
)
def test_invalid_object_is_reported_with_its_position(tree: JsonObject, problem: str) -> None:
    write_manifest("all/f.yaml", tree)
    assert [line.removeprefix("all/") for line in problems(load(["all"]))] == [problem]


def test_problems_of_all_manifest_files_are_reported_at_once() -> None:
    Path("bad.yaml").write_text("a: b: c\n")
    write_manifest("types.yaml", build_type("a", guest="x"), build_type("b"), build_type("c", guest=-1))
    loaded = load(["bad.yaml", "missing.yaml", "types.yaml"])
    assert [entry.object.metadata.name for entry in loaded.entries] == ["b"]
    with pytest.raises(FilesError) as refusal:
        loaded.raise_problems()
    assert [cause.message.partition(": ")[0] for cause in refusal.value.causes] == [
        "bad.yaml:1:5",
        "missing.yaml",
        "types.yaml:7:5",
        "types.yaml:23:5",
    ]
    assert "missing.yaml: cannot be read: No such file or directory" in refusal.value.message


def test_yaml_documents_after_a_syntax_error_are_read() -> None:
    text = yaml.safe_dump(build_vm())
    Path("all.yaml").write_text(f"a: b: c\n---\n{text}---\nc: d: e\n")
    loaded = load(["all.yaml"])
    assert [entry.place for entry in loaded.entries] == ["all.yaml:3:1"]
    assert [problem.place for problem in loaded.problems] == [(1, 5), (14, 5)]


def test_empty_file_path_is_rejected() -> None:
    write_manifest("vm.yaml", build_vm())
    assert problems(load([""])) == [": cannot be read: Is a directory"]


def test_duplicate_object_with_different_content_is_reported() -> None:
    write_manifest("a.yaml", build_type("small"), build_type("same"))
    write_manifest("b.yaml", build_type("same"), build_type("small", guest=4))
    (duplicate,) = find_duplicates(load(["a.yaml", "b.yaml"]).entries)
    assert str(duplicate) == (
        'b.yaml:12:3: metadata.name: VirtualMachineClusterInstancetype "small" is also defined in a.yaml:1:1 '
        "and differs; keep one of them"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"name": "a", "namespace": "one"}, {"name": "a", "namespace": "two"}),
        ({"generateName": "a"}, {"generateName": "b"}),
        ({"name": "a"}, {"name": "b"}),
    ],
    ids=["other namespaces", "no names", "other names"],
)
def test_objects_with_different_names_or_namespaces_are_not_duplicates(first: JsonObject, second: JsonObject) -> None:
    path = write_manifest("vms.yaml", {**build_vm(), "metadata": first}, {**build_vm(), "metadata": second})
    assert list(find_duplicates(load([path]).entries)) == []


def test_device_file_in_a_folder_is_not_read() -> None:
    Path("folder").mkdir()
    Path("folder/device.yaml").symlink_to("/dev/null")
    assert problems(load(["folder"])) == ["folder/device.yaml: cannot be read: not a regular file"]
