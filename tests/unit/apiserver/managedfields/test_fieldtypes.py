"""Which fields are granular or atomic, derived from structs and list types."""

from collections.abc import Iterator
from functools import cache

import pytest
from msgspec import inspect

from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.apiserver.managedfields.fieldtypes import UNKNOWN, FieldType, ListType, MapType, object_type
from virtshape.apiserver.managedfields.listtypes import (
    ALWAYS_PRESENT_FIELDS,
    ATOMIC_FIELDS,
    ATOMIC_STRUCTS,
    BUILT_IN_GROUPS,
    GRANULAR_FIELDS,
    MERGED_LISTS,
)


@cache
def built_in_structs() -> dict[str, set[str]]:
    """Return the JSON names of the fields of each struct of a built-in kind."""
    found: dict[str, set[str]] = {}
    for kind in KINDS:
        if kind.group in BUILT_IN_GROUPS:
            _collect(inspect.type_info(kind.struct), found)
    return found


def _collect(type_: inspect.Type, found: dict[str, set[str]]) -> None:
    match type_:
        case inspect.StructType(cls=cls, fields=fields) if cls.__name__ not in found:
            found[cls.__name__] = {field.encode_name for field in fields}
            for field in fields:
                _collect(field.type, found)
        case inspect.UnionType(types=types):
            for each in types:
                _collect(each, found)
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner) | inspect.Metadata(type=inner):
            _collect(inner, found)


def facts() -> Iterator[tuple[str, str]]:
    yield from ATOMIC_FIELDS | GRANULAR_FIELDS
    yield from ((struct, name) for struct, names in ALWAYS_PRESENT_FIELDS.items() for name in names)
    yield from ((struct, name) for struct, lists in MERGED_LISTS.items() for name in lists)


@pytest.mark.parametrize(("struct", "name"), sorted(facts()), ids=str)
def test_list_types_name_existing_fields(struct: str, name: str) -> None:
    assert name in built_in_structs()[struct]


def test_structs_listed_as_atomic_exist() -> None:
    assert built_in_structs().keys() >= ATOMIC_STRUCTS


def find_type(api_version: str, kind: str, path: str) -> FieldType:
    found = find_kind(api_version, kind)
    assert isinstance(found, Kind)
    type_: FieldType = object_type(found).fields
    for name in path.split("."):
        assert isinstance(type_, MapType)
        type_ = type_.fields.get(name, type_.element)
    return type_


@pytest.mark.parametrize(
    ("api_version", "kind", "path"),
    [
        pytest.param("kubevirt.io/v1", "VirtualMachine", "spec.template.spec.volumes", id="a plain list"),
        pytest.param("kubevirt.io/v1", "VirtualMachine", "spec.running", id="a scalar"),
        pytest.param("apps/v1", "Deployment", "spec.selector", id="a selector"),
        pytest.param("v1", "Service", "spec.selector", id="selector map"),
        pytest.param("v1", "Event", "involvedObject", id="a reference"),
        pytest.param("v1", "ConfigMap", "data.any", id="a value in a map"),
    ],
)
def test_plain_lists_scalars_selectors_and_references_are_atomic(api_version: str, kind: str, path: str) -> None:
    assert find_type(api_version, kind, path) is None


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "keys"),
    [
        pytest.param(
            "kubevirt.io/v1",
            "VirtualMachine",
            "spec.template.spec.topologySpreadConstraints",
            ("topologyKey", "whenUnsatisfiable"),
            id="of a custom kind",
        ),
        pytest.param("v1", "Pod", "spec.containers", ("name",), id="of a built-in kind"),
        pytest.param("v1", "Pod", "metadata.ownerReferences", ("uid",), id="of every kind"),
        pytest.param("v1", "Node", "spec.podCIDRs", (), id="by value"),
    ],
)
def test_list_has_the_merge_keys_of_its_type(api_version: str, kind: str, path: str, keys: tuple[str, ...]) -> None:
    type_ = find_type(api_version, kind, path)
    assert isinstance(type_, ListType)
    assert type_.keys == keys


def test_builtin_list_types_do_not_apply_to_custom_resources() -> None:
    template = find_type("kubevirt.io/v1", "VirtualMachine", "spec.dataVolumeTemplates")
    claim = find_type("cdi.kubevirt.io/v1beta1", "DataVolume", "spec.pvc")
    assert template is None
    assert isinstance(claim, MapType)
    assert claim.always_present == frozenset()


def test_field_that_is_not_in_the_schema_has_an_unknown_type() -> None:
    assert find_type("kubevirt.io/v1", "VirtualMachine", "spec.unheardOf.deeper") is UNKNOWN
