"""Named schemas refer to each other, state their kind, and are valid in OpenAPI v2 and v3."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec import Struct
from tests.support.kinds import find_kinds

from virtshape.api.core.namespace import Namespace
from virtshape.api.deployment import Deployment
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kubevirt import domain
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.openapi import component_name, write_components, write_definitions
from virtshape.api.snapshot import VolumeSnapshot


class ServedKind(NamedTuple):
    group: str
    version: str
    struct: type[Struct]

    @property
    def kind(self) -> str:
        return self.struct.__name__


INSTANCETYPE = ServedKind("instancetype.kubevirt.io", "v1beta1", v1beta1.VirtualMachineInstancetype)
KINDS = [ServedKind("example.com", "v1", kind) for kind in find_kinds()]

both_documents = pytest.mark.parametrize(
    ("write", "prefix"),
    [
        pytest.param(write_components, "#/components/schemas/", id="v3"),
        pytest.param(write_definitions, "#/definitions/", id="v2"),
    ],
)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (INSTANCETYPE, "io.kubevirt.instancetype.v1beta1.VirtualMachineInstancetype"),
        (ServedKind("", "v1", Namespace), "io.k8s.api.core.v1.Namespace"),
        (ServedKind("apps", "v1", Deployment), "io.k8s.api.apps.v1.Deployment"),
        (
            ServedKind("flavor.kubevirt.io", "v1alpha1", flavor.VirtualMachinePreference),
            "io.kubevirt.flavor.v1alpha1.VirtualMachinePreference",
        ),
        (
            ServedKind("instancetype.kubevirt.io", "v1alpha1", v1beta2.VirtualMachinePreference),
            "io.kubevirt.instancetype.v1alpha1.VirtualMachinePreference",
        ),
        (ServedKind("kubevirt.io", "v1", VirtualMachine), "io.kubevirt.v1.VirtualMachine"),
        (ServedKind("snapshot.storage.k8s.io", "v1", VolumeSnapshot), "io.k8s.storage.snapshot.v1.VolumeSnapshot"),
    ],
)
def test_schema_is_named_after_group_and_version(kind: ServedKind, name: str) -> None:
    assert component_name(kind) == name


@pytest.mark.parametrize("suffix", ["", "List"])
def test_kind_and_list_schemas_have_their_group_version_kind(suffix: str) -> None:
    schema = write_components([INSTANCETYPE])[component_name(INSTANCETYPE) + suffix]
    assert schema["x-kubernetes-group-version-kind"] == [
        {
            "group": "instancetype.kubevirt.io",
            "version": "v1beta1",
            "kind": f"VirtualMachineInstancetype{suffix}",
        }
    ]


@both_documents
def test_every_openapi_reference_has_a_target(write: Any, prefix: str) -> None:
    schemas = write(KINDS)
    targets = {target for schema in schemas.values() for target in find_values(schema, "$ref")}
    assert targets <= {f"{prefix}{name}" for name in schemas}


@both_documents
def test_schema_of_a_kind_contains_the_required_fields_of_its_spec(write: Any, prefix: str) -> None:
    properties = write([INSTANCETYPE])[component_name(INSTANCETYPE)]["properties"]
    assert properties["spec"]["required"] == ["cpu", "memory"]
    assert list(find_values(properties["metadata"], "$ref")) == [
        f"{prefix}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    ]


def test_openapi_reference_has_the_description_of_its_field() -> None:
    spec = write_components([INSTANCETYPE])[component_name(INSTANCETYPE)]["properties"]["spec"]
    assert spec["properties"]["cpu"] == {
        "description": "The guest's vCPUs: either a number or an exact topology.",
        "allOf": [{"$ref": "#/components/schemas/io.kubevirt.instancetype.v1beta2.CPUInstancetype"}],
    }


def test_openapi_v2_uses_neither_any_of_nor_all_of() -> None:
    for schema in write_definitions(KINDS).values():
        assert not list(find_values(schema, "anyOf"))
        assert not list(find_values(schema, "allOf"))


class CPUTopology(Model):
    """A struct that has the same name as a struct of the API."""


class WrapperSpec(Model):
    """A spec with two structs of the same name."""

    ours: CPUTopology
    theirs: domain.CPUTopology


class Wrapper(Model):
    """A kind whose spec has two structs of the same name."""

    spec: WrapperSpec


def test_two_structs_with_the_same_name_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CPUTopology, "__module__", domain.__name__)
    with pytest.raises(ValueError, match="would both be called"):
        write_components([ServedKind("kubevirt.io", "v1", Wrapper)])


def find_values(schema: Any, keyword: str) -> Iterator[Any]:
    """Yield the values of a keyword in a schema and in its nested schemas; skip properties named like the keyword."""
    if keyword in schema:
        yield schema[keyword]
    inner = [*schema.get("properties", {}).values(), *schema.get("allOf", ())]
    inner += [schema[nested] for nested in ("items", "additionalProperties") if nested in schema]
    for node in inner:
        yield from find_values(node, keyword)
