"""CustomResourceDefinitions match the served kinds and are valid for a cluster."""

import pytest

from virtshape.api.apiextensions import CustomResourceDefinition
from virtshape.api.codec import from_tree
from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.definitions import list_definitions, write_definition, write_served_definition

CREATED = "2024-01-01T00:00:00Z"
each_definition = pytest.mark.parametrize("name", list_definitions())


def find_versions(name: str) -> dict[str, JsonObject]:
    return {version["name"]: version for version in write_definition(name)["spec"]["versions"]}


@each_definition
def test_generated_crd_decodes_as_a_crd(name: str) -> None:
    definition = from_tree(write_served_definition(name, CREATED), CustomResourceDefinition)
    assert definition.spec.names.plural + "." + definition.spec.group == name


@each_definition
def test_crd_has_exactly_one_storage_version(name: str) -> None:
    versions = find_versions(name)
    stored = [version for version, facts in versions.items() if facts["storage"]]
    assert len(stored) == 1
    assert write_served_definition(name, CREATED)["status"]["storedVersions"] == stored
    assert not versions[stored[0]].get("deprecated")


@each_definition
def test_every_crd_version_has_a_schema_and_columns(name: str) -> None:
    for version in find_versions(name).values():
        schema = version["schema"]["openAPIV3Schema"]
        assert schema["type"] == "object"
        assert schema["properties"]["metadata"] == {"type": "object"}
        columns = [column["name"] for column in version["additionalPrinterColumns"]]
        assert "Age" in columns
        assert "Name" not in columns


def test_crd_has_the_names_and_scope_of_its_kind() -> None:
    spec = write_definition("virtualmachineclusterinstancetypes.instancetype.kubevirt.io")["spec"]
    assert spec["scope"] == "Cluster"
    assert spec["names"] == {
        "kind": "VirtualMachineClusterInstancetype",
        "listKind": "VirtualMachineClusterInstancetypeList",
        "plural": "virtualmachineclusterinstancetypes",
        "singular": "virtualmachineclusterinstancetype",
        "shortNames": ["vmclusterinstancetype", "vmclusterinstancetypes", "vmcf", "vmcfs"],
    }


def test_crd_versions_are_sorted_newest_first() -> None:
    versions = find_versions("virtualmachinepreferences.instancetype.kubevirt.io")
    assert [(name, facts.get("deprecated", False)) for name, facts in versions.items()] == [
        ("v1beta2", False),
        ("v1beta1", False),
        ("v1alpha2", True),
        ("v1alpha1", True),
    ]


def test_deprecated_crd_version_names_its_replacement() -> None:
    warning = find_versions("virtualmachines.kubevirt.io")["v1alpha3"]["deprecationWarning"]
    assert warning == "kubevirt.io/v1alpha3 VirtualMachine is deprecated; use kubevirt.io/v1 VirtualMachine"


@pytest.mark.parametrize(
    ("name", "subresources"),
    [
        ("virtualmachines.kubevirt.io", {"status": {}}),
        ("virtualmachineinstances.kubevirt.io", None),
        ("virtualmachineinstancetypes.instancetype.kubevirt.io", None),
    ],
)
def test_crd_has_a_status_subresource_if_its_kind_has_one(name: str, subresources: JsonObject | None) -> None:
    for version in find_versions(name).values():
        assert version.get("subresources") == subresources


def test_served_crd_has_stable_metadata_and_conditions() -> None:
    name = "virtualmachines.kubevirt.io"
    served = write_served_definition(name, CREATED)
    assert served == write_served_definition(name, CREATED)
    assert served["metadata"]["creationTimestamp"] == CREATED
    assert [condition["type"] for condition in served["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert served["spec"] == write_definition(name)["spec"]
