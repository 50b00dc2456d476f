"""The storage class for volumes that a VM has made for it."""

import pytest
from tests.build import Tree, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.instancetype.preference import VolumePreferences
from virtshape.engine.volumes import apply_storage_class


@pytest.mark.parametrize(
    ("spec", "filled"),
    [
        ({"storage": {}}, {"storage": {"storageClassName": "fast"}}),
        ({"pvc": {}}, {"pvc": {"storageClassName": "fast"}}),
        ({"storage": {"storageClassName": "own"}}, {"storage": {"storageClassName": "own"}}),
        ({"pvc": {"storageClassName": ""}}, {"pvc": {"storageClassName": ""}}),
        ({"storage": {}, "pvc": {}}, {"storage": {"storageClassName": "fast"}, "pvc": {"storageClassName": "fast"}}),
        ({}, {}),
    ],
    ids=["storage", "claim", "own class", "the empty class is a choice", "both", "neither"],
)
def test_a_class_goes_to_what_names_none(spec: Tree, filled: Tree) -> None:
    vm = build_vm(dataVolumeTemplates=[{"spec": spec}, {"spec": spec}])
    apply_storage_class(vm, VolumePreferences(preferred_storage_class_name="fast"))
    assert to_tree(vm.spec.data_volume_templates) == [{"spec": filled}, {"spec": filled}]


@pytest.mark.parametrize("name", [None, ""])
def test_without_a_preferred_class_nothing_is_written(name: str | None) -> None:
    vm = build_vm(dataVolumeTemplates=[{"spec": {"storage": {}}}])
    apply_storage_class(vm, VolumePreferences(preferred_storage_class_name=name))
    assert to_tree(vm.spec.data_volume_templates) == [{"spec": {"storage": {}}}]


def test_a_vm_without_templates_is_left_alone() -> None:
    vm = build_vm()
    apply_storage_class(vm, VolumePreferences(preferred_storage_class_name="fast"))
    assert vm == build_vm()
