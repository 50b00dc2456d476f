"""Unknown fields survive decoding to structs and encoding."""

from typing import Any

import pytest

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.problems import DecodeError
from virtshape.api.unknownfields import decode_with_unknown, restore


def build_vm(domain: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"domain": domain or {"devices": {}}}}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"template": template, **spec}}


def build_disks(*disks: Any) -> dict[str, Any]:
    return {"devices": {"disks": list(disks)}}


KEPT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing unknown": (build_vm(), []),
    "at the top": ({**build_vm(), "extra": [1]}, ['extra: unknown field "extra"']),
    "nested": (build_vm(newField={"a": [1, {"b": None}]}), ['spec.newField: unknown field "newField"']),
    "in list items": (
        build_vm(build_disks({"name": "a", "x": 1}, {"name": "b"}, {"name": "c", "disk": {"buss": "sata"}})),
        [
            'spec.template.spec.domain.devices.disks[0].x: unknown field "x"',
            'spec.template.spec.domain.devices.disks[2].disk.buss: unknown field "buss", did you mean "bus"?',
        ],
    ),
    "null": (build_vm(newField=None), ['spec.newField: unknown field "newField"']),
    "key with a dot": (build_vm(**{"a.b/c": 1}), ['spec[a.b/c]: unknown field "a.b/c"']),
    "alone in its object": (
        build_vm({"devices": {"y": 1}}),
        ['spec.template.spec.domain.devices.y: unknown field "y"'],
    ),
    "more than fit in an error": (
        build_vm(**{f"field{number}": number for number in range(200)}),
        [f'spec.field{number}: unknown field "field{number}"' for number in range(200)],
    ),
}


@pytest.mark.parametrize(("tree", "warnings"), KEPT.values(), ids=KEPT)
def test_unknown_fields_are_set_aside_and_restored(tree: dict[str, Any], warnings: list[str]) -> None:
    vm, unknown = decode_with_unknown(tree, VirtualMachine)
    assert [str(field.problem) for field in unknown] == warnings
    assert restore(to_tree(vm), unknown) == tree


def test_setting_unknown_fields_aside_does_not_change_the_input() -> None:
    tree = build_vm(newField=1)
    decode_with_unknown(tree, VirtualMachine)
    assert tree == build_vm(newField=1)


def test_decode_problems_are_reported_together_with_unknown_fields() -> None:
    with pytest.raises(DecodeError) as refusal:
        decode_with_unknown(build_vm(running="yes", newField=1), VirtualMachine)
    assert [problem.field for problem in refusal.value.causes] == ["spec.running", "spec.newField"]


OUTPUTS: dict[str, tuple[Any, Any]] = {
    "list grew": ({"l": [{"a": 1}, {"a": 2}]}, {"l": [{"a": 1, "x": 0}, {"a": 2}]}),
    "list shrank": ({"l": []}, {"l": []}),
    "list is gone": ({}, {}),
    "list became an object": ({"l": {}}, {"l": {}}),
    "item became a text": ({"l": ["a"]}, {"l": ["a"]}),
    "field was set in the meantime": ({"l": [{"x": 5}]}, {"l": [{"x": 5}]}),
}


@pytest.mark.parametrize(("output", "restored"), OUTPUTS.values(), ids=OUTPUTS)
def test_unknown_field_is_restored_only_if_its_parent_exists_and_does_not_set_it(output: Any, restored: Any) -> None:
    _, unknown = decode_with_unknown(build_vm(build_disks({"name": "a", "x": 0})), VirtualMachine)
    moved = tuple(field._replace(at=("l", 0, "x")) for field in unknown)
    assert restore(output, moved) == restored
