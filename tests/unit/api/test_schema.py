"""Structural schemas: accepted by Kubernetes in a CustomResourceDefinition, and consistent with the structs."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct
from tests.support.kinds import find_kinds

from virtshape.api.description import describe
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Int32, IntOrString, JsonObject, Model, UInt32
from virtshape.api.quantity import Quantity
from virtshape.api.schema import structural_schema

every_kind = pytest.mark.parametrize("kind", find_kinds(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")


class Port(Model):
    """A named port."""

    name: str
    """Name of the port."""


class Loop(Model):
    """A struct that may contain itself."""

    inner: "Loop | None" = None
    """The next level."""


class Sample(Model, kw_only=True):
    """
    A struct with a field of every type,
    with a docstring of two lines.

    A second paragraph.
    """

    api_version: str
    kind: str
    metadata: dict[str, str] | None = None
    needed: Port
    """The required port."""
    text: str | None = None
    moment: Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | None = None
    flag: bool | None = None
    short: Int32 | None = None
    unsigned: UInt32 | None = None
    long: int | None = None
    ratio: float | None = None
    amount: Quantity | None = None
    port: IntOrString | None = None
    choice: Literal["A", "B"] | None = None
    anything: Any = None
    tree: dict[str, Any] | None = None
    labels: dict[str, str] | None = None
    ports: list[Port] | None = None


class StricterSample(Sample, kw_only=True):
    """A struct that overrides one field."""

    text: str
    """Now required."""


def schema_of(field: str) -> JsonObject:
    schema: JsonObject = structural_schema(Sample)["properties"][field]
    return schema


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        ("text", {"type": "string"}),
        ("moment", {"type": "string", "format": "date-time"}),
        ("flag", {"type": "boolean"}),
        ("short", {"type": "integer", "format": "int32"}),
        ("unsigned", {"type": "integer", "format": "int64", "minimum": 0, "maximum": 4294967295}),
        ("long", {"type": "integer", "format": "int64"}),
        ("ratio", {"type": "number", "format": "double"}),
        ("port", {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("choice", {"type": "string", "enum": ["A", "B"]}),
        ("anything", {"x-kubernetes-preserve-unknown-fields": True}),
        ("tree", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ("labels", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("metadata", {"type": "object"}),
    ],
)
def test_field_type_has_the_expected_schema(field: str, schema: JsonObject) -> None:
    assert schema_of(field) == schema


def test_schema_of_a_quantity_is_a_number_or_a_matching_string() -> None:
    schema = schema_of("amount")
    assert schema.pop("pattern").startswith("^")
    assert schema == schema_of("port")


def test_nested_struct_is_inlined_with_the_description_of_its_field() -> None:
    assert schema_of("needed") == {
        "description": "The required port.",
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Name of the port."}},
        "required": ["name"],
    }


def test_list_schema_has_its_list_type() -> None:
    assert schema_of("ports")["x-kubernetes-list-type"] == "atomic"
    assert schema_of("ports")["items"]["description"] == "A named port."


def test_api_version_kind_and_metadata_are_not_required() -> None:
    assert structural_schema(Sample)["required"] == ["needed"]


def test_schema_of_a_recursive_struct_preserves_unknown_fields_at_the_recursion() -> None:
    inner = structural_schema(Loop)["properties"]["inner"]
    assert inner["x-kubernetes-preserve-unknown-fields"] is True


def test_line_breaks_in_schema_descriptions_are_removed() -> None:
    assert describe(Sample).summary == (
        "A struct with a field of every type, with a docstring of two lines.\n\nA second paragraph."
    )


def test_inherited_field_keeps_its_description_unless_overridden() -> None:
    properties = structural_schema(StricterSample)["properties"]
    assert properties["needed"]["description"] == "The required port."
    assert properties["text"]["description"] == "Now required."


@every_kind
def test_every_schema_node_has_a_type(kind: type[Struct]) -> None:
    untyped = [
        path
        for path, node in walk(structural_schema(kind))
        if not node.keys() & {"type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
    ]
    assert untyped == []


@every_kind
def test_schema_has_no_references(kind: type[Struct]) -> None:
    assert [path for path, node in walk(structural_schema(kind)) if "$ref" in node] == []


@every_kind
def test_every_schema_field_has_a_description(kind: type[Struct]) -> None:
    undescribed = [
        path
        for path, node in walk(structural_schema(kind))
        if "description" not in node and not path.endswith(("[]", "{}")) and path != ".metadata"
    ]
    assert undescribed == []


@every_kind
def test_keys_of_map_lists_are_required_in_the_schema(kind: type[Struct]) -> None:
    for path, node in walk(structural_schema(kind)):
        keys = set(node.get("x-kubernetes-list-map-keys", ()))
        assert keys <= set(node.get("items", {}).get("required", ())), path


@pytest.mark.parametrize(
    ("path", "list_type"),
    [
        (".spec.template.metadata.finalizers", {"x-kubernetes-list-type": "set"}),
        (
            ".spec.template.metadata.ownerReferences",
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"]},
        ),
        (
            ".spec.template.spec.topologySpreadConstraints",
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["topologyKey", "whenUnsatisfiable"]},
        ),
        (".spec.template.spec.volumes", {"x-kubernetes-list-type": "atomic"}),
    ],
)
def test_lists_in_the_vm_schema_have_the_list_types_of_kubevirt(path: str, list_type: JsonObject) -> None:
    node = dict(walk(structural_schema(VirtualMachine)))[path]
    assert {key: value for key, value in node.items() if key.startswith("x-")} == list_type


def test_label_selectors_are_atomic_in_the_schema() -> None:
    nodes = dict(walk(structural_schema(VirtualMachine)))
    path = ".spec.template.spec.topologySpreadConstraints[].labelSelector"
    assert nodes[path]["x-kubernetes-map-type"] == "atomic"


def test_cpu_schema_of_a_vm_has_exactly_the_expected_fields() -> None:
    count = {"type": "integer", "format": "int64", "minimum": 0, "maximum": 4294967295}
    flag, text = {"type": "boolean"}, {"type": "string"}
    feature = {"type": "object", "properties": {"name": text, "policy": text}, "required": ["name"]}
    node = dict(walk(structural_schema(VirtualMachine)))[".spec.template.spec.domain.cpu"]
    assert without_descriptions(node) == {
        "type": "object",
        "properties": {
            "guest": count,
            "cores": count,
            "sockets": count,
            "threads": count,
            "maxSockets": count,
            "model": text,
            "features": {"type": "array", "items": feature, "x-kubernetes-list-type": "atomic"},
            "dedicatedCpuPlacement": flag,
            "isolateEmulatorThread": flag,
            "numa": {"type": "object", "properties": {"guestMappingPassthrough": {"type": "object"}}},
            "realtime": {"type": "object", "properties": {"mask": text}},
        },
    }


@pytest.mark.parametrize(
    ("struct", "required"),
    [
        pytest.param(
            v1beta1.VirtualMachineInstancetype, {".spec": ["cpu", "memory"], ".spec.memory": ["guest"]}, id="v1beta1"
        ),
        pytest.param(v1beta2.VirtualMachineInstancetype, {}, id="v1beta2"),
    ],
)
def test_only_the_schema_of_older_instancetype_versions_requires_a_size(
    struct: type[Struct], required: dict[str, list[str]]
) -> None:
    nodes = dict(walk(structural_schema(struct)))
    sizes = (".spec", ".spec.cpu", ".spec.memory")
    assert {path: nodes[path]["required"] for path in sizes if "required" in nodes[path]} == required


def test_instancetype_schema_rejects_a_vcpu_count_together_with_a_topology() -> None:
    node = dict(walk(structural_schema(v1beta2.VirtualMachineInstancetype)))[".spec.cpu"]
    assert [rule["rule"] for rule in node["x-kubernetes-validations"]] == [
        "!(has(self.guest) && self.guest > 0 && has(self.topology))"
    ]


def walk(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from walk(inner, f"{path}.{name}")
    if "items" in schema:
        yield from walk(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from walk(schema["additionalProperties"], f"{path}{{}}")


def without_descriptions(schema: Any) -> Any:
    match schema:
        case dict():
            return {key: without_descriptions(value) for key, value in schema.items() if key != "description"}
        case list():
            return [without_descriptions(value) for value in schema]
        case _:
            return schema
