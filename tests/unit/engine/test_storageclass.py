"""Preferred storage class of DataVolume templates."""

import pytest
from tests.support.build import build_vm

from virtshape.api.codec import to_tree
from virtshape.api.instancetype.preference import VolumePreferences
from virtshape.api.model import JsonObject
from virtshape.engine.storageclass import apply_storage_class


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
    ids=["storage", "claim", "class of the template", "empty class is kept", "both", "neither"],
)
def test_preferred_storage_class_fills_unset_classes(spec: JsonObject, filled: JsonObject) -> None:
    vm = build_vm(dataVolumeTemplates=[{"spec": spec}, {"spec": spec}])
    apply_storage_class(vm, VolumePreferences(preferred_storage_class_name="fast"))
    assert to_tree(vm.spec.data_volume_templates) == [{"spec": filled}, {"spec": filled}]


@pytest.mark.parametrize("name", [None, ""])
def test_no_storage_class_is_written_without_a_preference(name: str | None) -> None:
    vm = build_vm(dataVolumeTemplates=[{"spec": {"storage": {}}}])
    apply_storage_class(vm, VolumePreferences(preferred_storage_class_name=name))
    assert to_tree(vm.spec.data_volume_templates) == [{"spec": {"storage": {}}}]


def test_vm_without_data_volume_templates_is_unchanged() -> None:
    vm = build_vm()
    apply_storage_class(vm, VolumePreferences(preferred_storage_class_name="fast"))
    assert vm == build_vm()
