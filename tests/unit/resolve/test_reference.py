"""References to objects, and errors for missing objects."""

import pytest

from virtshape.api.fielderror import FieldError
from virtshape.resolve.reference import NotFoundError, Reference

SMALL = Reference("instancetype.kubevirt.io", "VirtualMachineClusterInstancetype", "", "smal")
MESSAGE = 'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "smal" not found'


@pytest.mark.parametrize(
    ("group", "kind", "resource"),
    [
        ("", "PersistentVolumeClaim", "persistentvolumeclaims"),
        ("apps", "ControllerRevision", "controllerrevisions.apps"),
        ("cdi.kubevirt.io", "DataSource", "datasources.cdi.kubevirt.io"),
        (
            "instancetype.kubevirt.io",
            "VirtualMachinePreference",
            "virtualmachinepreferences.instancetype.kubevirt.io",
        ),
        ("flavor.kubevirt.io", "VirtualMachineFlavor", "virtualmachineflavors.flavor.kubevirt.io"),
        ("flavor.kubevirt.io", "VirtualMachinePreference", "virtualmachineflavorpreferences.flavor.kubevirt.io"),
        (
            "flavor.kubevirt.io",
            "VirtualMachineClusterPreference",
            "virtualmachineclusterflavorpreferences.flavor.kubevirt.io",
        ),
        ("example.com", "Gadget", "gadgets.example.com"),
    ],
)
def test_resource_of_a_reference_is_the_plural_of_its_kind_with_the_group(group: str, kind: str, resource: str) -> None:
    assert Reference(group, kind, "", "x").resource == resource


def test_not_found_error_names_object_and_field() -> None:
    error = NotFoundError(SMALL, "spec.instancetype.name")
    assert (error.code, error.reason, error.message) == (404, "NotFound", MESSAGE)
    assert error.causes == (FieldError("spec.instancetype.name", MESSAGE, "FieldValueNotFound", "missing-reference"),)


@pytest.mark.parametrize(
    ("names", "suffix"),
    [
        ([], ""),
        (["windows"], ""),
        (["small"], "; did you mean small?"),
        (["windows", "small", "smalls"], "; did you mean small or smalls?"),
        (["smal1", "smal2", "smal3", "smal4"], "; did you mean smal4 or smal3 or smal2?"),
    ],
    ids=["no candidates", "no similar names", "one", "two", "at most three"],
)
def test_not_found_error_suggests_similar_names(names: list[str], suffix: str) -> None:
    error = NotFoundError(SMALL, "spec.instancetype.name").suggest(names)
    assert error.message == f"{MESSAGE}{suffix}"
    assert (error.reference, error.field) == (SMALL, "spec.instancetype.name")


def test_references_are_compared_by_value() -> None:
    assert {SMALL: 1}[Reference(SMALL.group, SMALL.kind, "", "smal")] == 1
