"""Fields are read by path, and the rest of an object is skipped."""

import json
from typing import Any

import msgspec
import pytest

from virtshape.apiserver.encoding.fieldreader import FieldReader

OBJECT = {
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {"cpu": {"guest": 2, "topology": {"sockets": 2}}, "running": None},
    "status": {
        "conditions": [
            {"type": "Paused", "status": "False"},
            {"type": "Ready", "status": "True", "reason": "Started"},
            {"type": "Odd"},
        ],
        "interfaces": [{"name": "default", "ipAddress": "10.0.0.2"}],
        "none": [],
        "empty": None,
    },
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".metadata.name", "web"),
        (".metadata.labels", {"a": "b"}),
        (".metadata.uid", None),
        (".spec.cpu.guest", 2),
        (".spec.cpu.topology", {"sockets": 2}),
        (".spec.memory.guest", None),
        (".spec.running", None),
        (".status.conditions[?(@.type=='Ready')].status", "True"),
        (".status.conditions[?(@.type=='Odd')].status", None),
        (".status.conditions[?(@.type=='LiveMigratable')].status", None),
        (".status.interfaces[0].ipAddress", "10.0.0.2"),
        (".status.interfaces[1].ipAddress", None),
        (".status.none[0].ipAddress", None),
        (".status.none[?(@.type=='Ready')].status", None),
        (".status.absent[0].ipAddress", None),
        (".status.empty.below.it", None),
        (".status.empty[0].below", None),
        (".absent.below", None),
    ],
)
def test_field_reader_returns_the_value_at_a_path_or_none(path: str, value: Any) -> None:
    assert FieldReader([path]).read(json.dumps(OBJECT).encode()) == [value]


def test_field_reader_returns_values_in_the_order_of_paths() -> None:
    paths = [
        ".status.conditions[?(@.type=='Ready')].status",
        ".spec.cpu.guest",
        ".metadata.name",
        ".status.conditions[?(@.type=='Paused')].status",
    ]
    assert FieldReader(paths).read(json.dumps(OBJECT).encode()) == ["True", 2, "web", "False"]


def test_null_parent_affects_only_the_paths_below_it() -> None:
    reader = FieldReader([".spec.cpu.guest", ".metadata.name", ".status.conditions[?(@.type=='Ready')].status"])
    data = b'{"spec":null,"metadata":{"name":"web"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    assert reader.read(data) == [None, "web", "True"]


def test_field_reader_decodes_a_value_as_the_given_type() -> None:
    reader = FieldReader({".metadata": msgspec.Raw, ".spec.cpu.guest": Any})
    metadata, guest = reader.read(b'{"metadata": {"name":"web"}, "spec":{"cpu":{"guest":2}}}')
    assert (bytes(metadata), guest) == (b'{"name":"web"}', 2)


@pytest.mark.parametrize("path", ["", "metadata.name", ".metadata..name", ".spec[*]", ".spec.cpu["])
def test_field_reader_rejects_an_invalid_path(path: str) -> None:
    with pytest.raises(ValueError, match="is not a field path"):
        FieldReader([path])


@pytest.mark.parametrize("paths", [[".spec", ".spec.cpu"], [".spec.cpu", ".spec"]])
def test_field_reader_rejects_overlapping_paths(paths: list[str]) -> None:
    with pytest.raises(TypeError, match="already"):
        FieldReader(paths)
