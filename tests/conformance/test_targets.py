"""The table of KubeVirt releases matches KubeVirt's published API and accepts the objects that KubeVirt accepted."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject
from virtshape.api.yaml import read_documents
from virtshape.offline.lint.targets import RELEASES, Target

DEFINITIONS = {
    "v1.VirtualMachineSpec": ("kubevirt.io/v1", "VirtualMachine"),
    "v1.VirtualMachineInstanceSpec": ("kubevirt.io/v1", "VirtualMachineInstance"),
    "v1.KubeVirtSpec": ("kubevirt.io/v1", "KubeVirt"),
    "v1beta1.VirtualMachineInstancetypeSpec": ("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype"),
    "v1beta1.VirtualMachinePreferenceSpec": ("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference"),
}
LATEST = Target(f"kubevirt-{RELEASES[-1]}", lambda _: True)


def read(variable: str, file: str) -> str:
    if variable not in os.environ:
        pytest.skip(f"{variable} is not the path of a folder with {file}")
    return Path(os.environ[variable], file).read_text()


def check(tree: JsonObject) -> Iterator[tuple[str, str]]:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    for issue in LATEST.check_object(tree, kind) if kind else ():
        yield issue.rule, issue.field


def build_value(schema: Any, definitions: Any, above: tuple[str, ...] = ()) -> Any:
    """Return an object with every field of a schema."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in above:
        return None
    found = definitions[name] if name else schema
    if "properties" in found:
        return {field: build_value(inner, definitions, (*above, name)) for field, inner in found["properties"].items()}
    if found.get("type") == "array":
        return [build_value(found["items"], definitions, above)]
    return 1


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_latest_lint_target_has_every_field_of_the_published_api(definition: str) -> None:
    definitions = json.loads(read("VIRTSHAPE_REFERENCE", "kubevirt-openapi.json"))["definitions"]
    api_version, kind = DEFINITIONS[definition]
    spec = build_value({"$ref": f"#/{definition}"}, definitions)
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    assert [field for rule, field in check(tree) if rule == "target-field"] == []


def test_latest_lint_target_accepts_the_recorded_objects() -> None:
    cases = [json.loads(line) for line in read("VIRTSHAPE_VECTORS", "admitVM.jsonl").splitlines()]
    inputs = [case["input"] for case in cases if case["expect"]["allowed"]]
    vms = [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", **each["vm"]} for each in inputs]
    objects = [found for each in inputs for found in each.get("objects") or ()]
    assert [issue for tree in (*vms, *objects) for issue in check(tree)] == []


def test_latest_lint_target_accepts_common_instancetypes() -> None:
    documents = read_documents(read("VIRTSHAPE_REFERENCE", "common-instancetypes.yaml"))
    assert [issue for document in documents for issue in check(document.tree)] == []
