import pytest

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.api.instancetype import v1beta1, v1beta2

INSTANCETYPE = "VirtualMachineClusterInstancetype"
PREFERENCE = "VirtualMachineClusterPreference"


def _names(objects: list[catalog.CatalogObject]) -> list[str | None]:
    return [each.metadata.name for each in objects]


def test_instancetypes_and_preferences_are_loaded_sorted_by_name() -> None:
    assert _names(catalog.load()) == [*catalog.names(INSTANCETYPE), *catalog.names(PREFERENCE)]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
@pytest.mark.parametrize(
    ("namespaced", "kinds"),
    [
        (False, {INSTANCETYPE, PREFERENCE}),
        (True, {"VirtualMachineInstancetype", "VirtualMachinePreference"}),
    ],
    ids=["cluster", "namespaced"],
)
def test_catalog_objects_have_the_requested_kinds_and_version(namespaced: bool, kinds: set[str], version: str) -> None:
    objects = catalog.load(namespaced, version)
    assert {each.kind for each in objects} == kinds
    assert {type(each).__name__ for each in objects} == kinds
    assert {each.api_version for each in objects} == {f"instancetype.kubevirt.io/{version}"}


def test_custom_sizes_are_omitted_at_v1beta1() -> None:
    left_out = set(_names(catalog.load())) - set(_names(catalog.load(version="v1beta1")))
    assert left_out == {"o1.custom", "d1.custom", "cx1.custom", "m1.custom", "n1.custom", "rt1.custom"}


def test_v1beta1_catalog_objects_are_v1beta1_structs() -> None:
    assert isinstance(catalog.load(version="v1beta1")[0], v1beta1.VirtualMachineClusterInstancetype)


@pytest.mark.parametrize(
    "kind",
    [
        INSTANCETYPE,
        "virtualmachineclusterinstancetype",
        "virtualmachineclusterinstancetypes",
        "VirtualMachineClusterInstancetypes",
    ],
)
def test_catalog_object_is_found_by_every_spelling_of_its_kind(kind: str) -> None:
    found = catalog.find(kind, "u1.medium")
    assert isinstance(found, v1beta2.VirtualMachineClusterInstancetype)
    assert to_tree(found.spec) == {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(INSTANCETYPE, "u1.enormous", id="unknown size"),
        pytest.param(INSTANCETYPE, "z9.medium", id="unknown series"),
        pytest.param(INSTANCETYPE, "medium", id="no series"),
        pytest.param(INSTANCETYPE, "u1.custom", id="u1 has no custom size"),
        pytest.param(INSTANCETYPE, "fedora", id="a preference's name"),
        pytest.param(PREFERENCE, "u1.medium", id="an instance type's name"),
        pytest.param("VirtualMachineInstancetype", "u1.medium", id="namespaced kind"),
        pytest.param("ConfigMap", "fedora", id="foreign kind"),
    ],
)
def test_unknown_catalog_object_is_not_found(kind: str, name: str) -> None:
    assert catalog.find(kind, name) is None


def test_every_catalog_object_is_found_by_kind_and_name() -> None:
    objects = catalog.load()
    assert [catalog.find(each.kind, name or "") for each, name in zip(objects, _names(objects), strict=True)] == objects


def test_catalog_returns_independent_copies() -> None:
    first = catalog.find(PREFERENCE, "fedora")
    assert isinstance(first, v1beta2.VirtualMachineClusterPreference)
    first.spec.annotations = {}
    assert first.spec.devices is not None
    first.spec.devices.preferred_disk_bus = "sata"
    again = catalog.find(PREFERENCE, "ubuntu")
    assert isinstance(again, v1beta2.VirtualMachineClusterPreference)
    assert again.spec.annotations
    assert again.spec.devices is not None
    assert again.spec.devices.preferred_disk_bus == "virtio"
