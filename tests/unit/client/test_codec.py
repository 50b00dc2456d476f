"""Codec: objects of newer servers are decoded, and encoded without losing fields."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from virtshape.api.core.config import ConfigMap
from virtshape.api.problems import DecodeError
from virtshape.client import codec as codecs
from virtshape.client.codec import ObjectCodec, drop_managed_fields

METADATA = {"name": "a", "uid": "u1", "resourceVersion": "7"}
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": METADATA, "data": {"x": "1"}}


def read(codec: ObjectCodec, tree: Any) -> ConfigMap:
    return codec.decode(json.dumps(tree).encode(), ConfigMap)


def test_unknown_fields_of_a_decoded_object_are_encoded_again() -> None:
    codec = ObjectCodec()
    tree = {**OBJECT, "future": {"deep": [1]}, "metadata": {**METADATA, "galaxy": "m31"}}
    item = replace(read(codec, tree), data={"x": "2"})
    assert json.loads(codec.encode(item)) == {**tree, "data": {"x": "2"}}


def test_unknown_fields_are_dropped_if_the_resource_version_differs() -> None:
    codec = ObjectCodec()
    read(codec, {**OBJECT, "future": 1})
    newer = read(codec, {**OBJECT, "metadata": {**METADATA, "resourceVersion": "8"}})
    assert "future" not in json.loads(codec.encode(newer))


def test_unknown_fields_are_preserved_for_a_limited_number_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "MAX_CACHED", 2)
    codec = ObjectCodec()
    items = [read(codec, {**OBJECT, "metadata": {**METADATA, "uid": f"u{n}"}, "future": n}) for n in range(3)]
    assert ["future" in json.loads(codec.encode(item)) for item in items] == [False, True, True]


def test_object_with_invalid_known_field_is_rejected() -> None:
    with pytest.raises(DecodeError):
        read(ObjectCodec(), {**OBJECT, "data": 3, "future": 1})


ITEMS: dict[str, dict[str, Any]] = {
    "whole": OBJECT,
    "without its kind": {key: value for key, value in OBJECT.items() if key not in ("apiVersion", "kind")},
    "with its kind last": {"metadata": METADATA, "data": {"x": "1"}, "kind": "ConfigMap", "apiVersion": "v1"},
    "from a newer server": {**OBJECT, "future": 1},
}


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS.keys())
def test_decoded_list_items_have_their_kind_and_version(item: dict[str, Any]) -> None:
    metadata = {"resourceVersion": "9", "continue": "more", "remainingItemCount": 3, "shardInfo": {}}
    text = json.dumps({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": [item]})
    listing = ObjectCodec().decode_list(text.encode(), ConfigMap)
    assert listing.items == [read(ObjectCodec(), OBJECT)]
    assert (listing.revision, listing.continuation, listing.remaining) == ("9", "more", 3)


@pytest.mark.parametrize("items", ["null", "[]", "[ {} ]"])
def test_empty_lists_and_empty_items_are_decoded(items: str) -> None:
    listing = ObjectCodec().decode_list(f'{{"metadata":{{}},"items":{items}}}'.encode(), ConfigMap)
    assert [item.kind for item in listing.items] == (["ConfigMap"] if "{" in items else [])


def test_undecodable_list_item_is_skipped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    broken = {**OBJECT, "metadata": {**METADATA, "name": "b", "namespace": "web"}, "data": 3}
    text = json.dumps({"metadata": {"resourceVersion": "9"}, "items": [OBJECT, broken, OBJECT]})
    listing = ObjectCodec().decode_list(text.encode(), ConfigMap)
    assert [item.metadata.name for item in listing.items] == ["a", "a"]
    assert "skipping ConfigMap web/b: it cannot be decoded: data: expected an object" in caplog.text


MANAGED = '[{"manager":"a","fieldsV1":{"f:data":{"f:x":{}}}},{"manager":"b, \\"managedFields\\":[]"}]'
MANAGED_OBJECTS = {
    "last field of the metadata": (
        f'{{"metadata":{{"name":"a","managedFields":{MANAGED}}},"data":{{"x":"1"}}}}',
        '{"metadata":{"name":"a"},"data":{"x":"1"}}',
    ),
    "between other fields": (
        f'{{"kind":"X","metadata":{{"labels":{{}},"managedFields":{MANAGED},"name":"a"}}}}',
        '{"kind":"X","metadata":{"labels":{},"name":"a"}}',
    ),
    "empty list": ('{"metadata":{"name":"a","managedFields":[]}}', '{"metadata":{"name":"a"}}'),
}


@pytest.mark.parametrize(("text", "expected"), MANAGED_OBJECTS.values(), ids=MANAGED_OBJECTS)
def test_managed_fields_are_dropped_from_compact_json(text: str, expected: str) -> None:
    assert drop_managed_fields(text.encode()) == expected.encode()


@pytest.mark.parametrize(
    "text",
    [
        '{"metadata":{"name":"a"},"data":{"managedFields":"[]"}}',
        '{"metadata": {"name": "a", "managedFields": [{"manager": "a"}]}}',
        '{"metadata":{"managedFields":[{"manager":"a"}],"name":"a"}}',
        '{"metadata":null}',
        '{"metadata":',
        "[]",
    ],
)
def test_other_json_is_not_changed(text: str) -> None:
    assert drop_managed_fields(text.encode()) == text.encode()


def test_codec_can_drop_managed_fields() -> None:
    tree = {**OBJECT, "metadata": {**METADATA, "managedFields": [{"manager": "a", "operation": "Update"}]}}
    text = json.dumps(tree, separators=(",", ":")).encode()
    assert ObjectCodec(with_managed_fields=False).decode(text, ConfigMap) == read(ObjectCodec(), OBJECT)
    assert ObjectCodec().decode(text, ConfigMap).metadata.managed_fields is not None
