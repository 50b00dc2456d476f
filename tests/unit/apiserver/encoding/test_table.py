"""Tables: rows of cells, each with the object, its metadata or nothing, as the client requests."""

import json
from typing import Any

import pytest

from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.table import render_table

CREATED = "2024-01-01T00:00:00Z"
NOW = 1704067200.0 + 90  # 90 seconds after CREATED


def kind_of(api_version: str, name: str) -> Kind:
    kind = find_kind(api_version, name)
    assert kind is not None
    return kind


VM = kind_of("kubevirt.io/v1", "VirtualMachine")
NAMESPACE = kind_of("v1", "Namespace")


def build_object(kind: Kind, **parts: Any) -> JsonObject:
    metadata = {"name": "one", "creationTimestamp": CREATED, "resourceVersion": "7"} | parts.pop("metadata", {})
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata} | parts


def encode(*trees: JsonObject) -> list[bytes]:
    return [json.dumps(tree, separators=(",", ":")).encode() for tree in trees]


def read_table(kind: Kind, *trees: JsonObject, **options: Any) -> JsonObject:
    table: JsonObject = json.loads(render_table(kind, encode(*trees), now=NOW, **options))
    return table


def test_table_row_contains_metadata_by_default() -> None:
    vm = build_object(VM, spec={"secret": 1}, metadata={"labels": {"a": "b"}})
    (row,) = read_table(VM, vm)["rows"]
    assert row["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": vm["metadata"],
    }


@pytest.mark.parametrize(("include", "expected"), [("None", None), ("Object", build_object(NAMESPACE))])
def test_table_row_contains_the_object_or_nothing_on_request(include: str, expected: JsonObject | None) -> None:
    (row,) = read_table(NAMESPACE, build_object(NAMESPACE), include=include)["rows"]
    assert row["object"] == expected


def test_unknown_include_object_value_is_rejected() -> None:
    with pytest.raises(StatusError, match="unrecognized includeObject value"):
        read_table(NAMESPACE, include="Half")


def test_requested_version_applies_to_table_and_rows() -> None:
    table = read_table(NAMESPACE, build_object(NAMESPACE), version="v1beta1")
    assert table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_table_of_an_empty_list_has_columns_and_no_rows() -> None:
    table = read_table(NAMESPACE, revision="12")
    assert table["rows"] == []
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Status", "Age"]
    assert table["metadata"] == {"resourceVersion": "12"}


def test_table_has_the_continue_token() -> None:
    metadata = {"resourceVersion": "12", "continue": "abc", "remainingItemCount": 3}
    assert read_table(NAMESPACE, metadata=metadata)["metadata"] == metadata


def test_table_of_one_object_has_its_resource_version() -> None:
    assert read_table(NAMESPACE, build_object(NAMESPACE))["metadata"] == {"resourceVersion": "7"}


def test_table_for_a_later_watch_event_has_rows_but_no_columns() -> None:
    table = read_table(NAMESPACE, build_object(NAMESPACE), columns=False)
    assert table["columnDefinitions"] is None
    assert len(table["rows"]) == 1


def test_table_cells_of_missing_values_are_null() -> None:
    (row,) = read_table(VM, build_object(VM))["rows"]
    assert row["cells"] == ["one", "90s", None, None, None, None, None, None]


def test_table_columns_have_descriptions() -> None:
    assert read_table(VM)["columnDefinitions"][:2] == [
        {"name": "Name", "type": "string", "format": "name", "description": "Name of the object.", "priority": 0},
        {
            "name": "Age",
            "type": "date",
            "format": "",
            "description": "Time since the object was created.",
            "priority": 0,
        },
    ]


@pytest.mark.parametrize("kind", KINDS, ids=[f"{kind.api_version} {kind.kind}" for kind in KINDS])
def test_empty_object_of_every_kind_is_rendered_as_a_table(kind: Kind) -> None:
    table = read_table(kind, build_object(kind))
    (row,) = table["rows"]
    assert len(row["cells"]) == len(table["columnDefinitions"])
    name = next(place for place, column in enumerate(table["columnDefinitions"]) if column["format"] == "name")
    assert row["cells"][name] == "one"
