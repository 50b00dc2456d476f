"""The schemas of `virtshape schema`, checked with a JSON Schema validator."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from msgspec.structs import fields
from tests.support.lintexamples import build_example

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.api.description import describe
from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject, Model
from virtshape.api.yaml import read_documents
from virtshape.offline.jsonschema import ENUMS, SUGGESTIONS, build_schema, list_kinds

ROOT = Path(__file__).parents[3]
EXAMPLES = [path for path in sorted((ROOT / "examples").rglob("*.yaml")) if path.parent.name != "broken"]
ALL = Draft7Validator(build_schema(list_kinds(), others=True))
VM: JsonObject = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.medium"},
        "template": {"spec": {"domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}}}},
    },
}
DOMAIN = "spec.template.spec.domain"
REMOVED = object()


def read_trees(text: bytes) -> list[Any]:
    return [document.tree for document in read_documents(text)]


def find_errors(tree: Any, validator: Draft7Validator = ALL) -> list[str]:
    """Return the path of each error, such as `spec.runStrategy`; `.` for the whole object."""
    return [error.json_path.removeprefix("$").removeprefix(".") or "." for error in validator.iter_errors(tree)]


def change(path: str, value: Any) -> JsonObject:
    """Return a copy of the VM with this value at the path; the value REMOVED removes the field."""
    tree = deepcopy(VM)
    *parents, name = path.split(".")
    at = tree
    for parent in parents:
        at = at.setdefault(parent, {})
    at[name] = value
    if value is REMOVED:
        del at[name]
    return tree


@pytest.mark.parametrize("kind", ["", *dict.fromkeys(kind.kind for kind in KINDS)])
def test_json_schema_of_every_kind_is_valid(kind: str) -> None:
    Draft7Validator.check_schema(build_schema(list_kinds(kind), others=not kind))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_matches_the_json_schema(path: Path) -> None:
    assert [find_errors(tree) for tree in read_trees(path.read_bytes()) if find_errors(tree)] == []


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_catalog_objects_match_the_json_schema(version: str) -> None:
    found = {str(each.metadata.name): find_errors(to_tree(each)) for each in catalog.load(version=version)}
    assert {name: errors for name, errors in found.items() if errors} == {}


def test_vms_that_kubevirt_admits_match_the_json_schema() -> None:
    lines = (ROOT / "tests/conformance/vectors.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case["op"] == "admitVM" and case["expect"]["allowed"]]
    names = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine"}
    assert {case["id"]: errors for case in cases if (errors := find_errors(names | case["input"]["vm"]))} == {}
    assert cases


def test_broken_example_violates_the_json_schema() -> None:
    first, *_ = read_trees((ROOT / "examples/broken/vm.yaml").read_bytes())
    assert find_errors(first) == [f"{DOMAIN}.devices.disks[0].disk"]


@pytest.mark.parametrize(
    "rule", ["not-an-object", "unknown-kind", "unknown-field", "wrong-type", "missing-field", "unsupported-value"]
)
def test_examples_of_lint_rules_violate_the_json_schema(rule: str) -> None:
    (tree,) = read_trees(build_example(rule))
    assert find_errors(tree)


@pytest.mark.parametrize(
    ("path", "value", "errors"),
    [
        ("kind", REMOVED, ["."]),
        ("apiVersion", REMOVED, ["."]),
        ("kind", "VirtualMachin", ["kind"]),
        ("apiVersion", "kubevirt.io/v2", ["apiVersion"]),
        ("apiVersion", "v1", ["apiVersion"]),
        ("specs", {}, ["."]),
        ("spec.template", REMOVED, ["spec"]),
        ("spec.runStrategy", "Sometimes", ["spec.runStrategy"]),
        ("spec.running", "yes", ["spec.running"]),
        ("metadata.labels", {"a": 1}, ["metadata.labels.a"]),
        (f"{DOMAIN}.cpu", {"cores": -1}, [f"{DOMAIN}.cpu.cores"]),
        (f"{DOMAIN}.cpu", {"cores": "2"}, [f"{DOMAIN}.cpu.cores"]),
        (f"{DOMAIN}.memory", {"guest": "4Gx"}, [f"{DOMAIN}.memory.guest"]),
        (f"{DOMAIN}.memory", {"guest": 1.5}, [f"{DOMAIN}.memory.guest"]),
        (f"{DOMAIN}.devices", {"disks": [{"disk": {"bus": "ide"}}]}, None),
        (f"{DOMAIN}.devices", {"rng": None}, [f"{DOMAIN}.devices.rng"]),
        (f"{DOMAIN}.devices", {"disks": {"name": "root"}}, [f"{DOMAIN}.devices.disks"]),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_invalid_vm_violates_the_json_schema_at_the_expected_paths(
    path: str, value: Any, errors: list[str] | None
) -> None:
    disk = f"{DOMAIN}.devices.disks[0]"
    found = find_errors(change(path, value))
    assert sorted(set(found)) == sorted(errors if errors is not None else [disk, f"{disk}.disk.bus"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.creationTimestamp", None),
        ("status", {}),
        ("spec.instancetype.kind", "virtualmachineinstancetypes"),
        (f"{DOMAIN}.memory", {"guest": 4294967296}),
        (f"{DOMAIN}.memory", {"guest": "1.5e9"}),
        ("metadata.annotations", {"example.com/note": ""}),
    ],
)
def test_unusual_but_valid_vm_matches_the_json_schema(path: str, value: Any) -> None:
    assert find_errors(change(path, value)) == []


@pytest.mark.parametrize(
    "tree",
    [
        {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["vm.yaml"]},
        {"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "spec": {}},
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "spec": {"vmiName": "web"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        {"apiVersion": "v1", "kind": "List", "items": [VM]},
    ],
    ids=lambda tree: str(tree["kind"]),
)
def test_schema_of_all_kinds_accepts_other_kinds(tree: JsonObject) -> None:
    assert find_errors(tree) == []


def test_objects_in_a_list_are_checked_by_the_json_schema() -> None:
    tree = {"apiVersion": "v1", "kind": "List", "items": [VM, change("spec.runStrategy", "Sometimes")]}
    assert find_errors(tree) == ["items[1].spec.runStrategy"]


def test_schema_of_one_kind_rejects_other_kinds() -> None:
    validator = Draft7Validator(build_schema(list_kinds("vm")))
    assert find_errors(VM, validator) == []
    assert find_errors(VM | {"apiVersion": "kubevirt.io/v1alpha3"}, validator) == []
    assert find_errors({"apiVersion": "v1", "kind": "ConfigMap"}, validator) == ["apiVersion", "kind"]


def test_kinds_with_the_same_name_are_distinguished_by_api_version() -> None:
    validator = Draft7Validator(build_schema(list_kinds("VirtualMachinePreference")))
    tree = {"kind": "VirtualMachinePreference", "spec": {"requirements": {"cpu": {"guest": 2}}}}
    assert find_errors(tree | {"apiVersion": "instancetype.kubevirt.io/v1beta2"}, validator) == []
    assert find_errors(tree | {"apiVersion": "flavor.kubevirt.io/v1alpha1"}, validator) == ["spec"]


def list_structs(struct: type[Model] = Model) -> Iterator[type[Model]]:
    for each in struct.__subclasses__():
        yield each
        yield from list_structs(each)


@pytest.mark.parametrize(("struct", "field"), [*ENUMS, *SUGGESTIONS], ids=lambda name: str(name))
def test_enums_and_suggestions_are_for_existing_fields(struct: str, field: str) -> None:
    for kind in KINDS:
        _ = kind.struct  # imports the module of the struct
    found = [each for each in list_structs() if each.__name__ == struct]
    assert [each for each in found if field in {one.encode_name for one in fields(each)}]


def test_schema_fields_have_descriptions_and_enums() -> None:
    properties = build_schema(list_kinds("vm"))["definitions"]["io.kubevirt.v1.VirtualMachineSpec"]["properties"]
    assert properties["runStrategy"]["enum"] == list(ENUMS["VirtualMachineSpec", "runStrategy"])
    described = describe(next(each for each in list_structs() if each.__name__ == "VirtualMachineSpec"))
    assert properties["runStrategy"]["description"] == described.fields["run_strategy"]
