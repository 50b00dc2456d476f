"""Duplicate keys and the positions of keys in JSON text."""

import pytest

from virtshape.api.jsontext import find_duplicate_keys, scan_keys
from virtshape.api.path import format_path

DUPLICATES: dict[str, tuple[str, list[str]]] = {
    "none": ('{"a": 1, "b": {"a": 2}}', []),
    "scalar": ("5", []),
    "one": ('{"a": 1, "a": 1}', ["a"]),
    "three occurrences": ('{"a": 1, "a": 2, "a": 3}', ["a"]),
    "escaped differently": ('{"a": 1, "\\u0061": 2}', ["a"]),
    "deep": ('{"spec": {"disks": [{}, {"name": 1, "name": 2}]}}', ["spec.disks[1].name"]),
    "map keys": ('{"labels": {"x.y/z": "1", "x.y/z": "2"}}', ["labels[x.y/z]"]),
    "several, in order": (
        '{"a": {"x": 1, "x": 2}, "b": [[{"y": 1, "y": 2}]], "c": {"z": 0, "z": 0}}',
        ["a.x", "b[0][0].y", "c.z"],
    ),
    "same key in two objects": ('{"a": {"x": 1}, "a": {"x": 2}}', ["a"]),
    "empty object": ('{"a": [], "b": {}, "c": [["x", 1], ["x", 2]]}', []),
}


@pytest.mark.parametrize(("text", "paths"), DUPLICATES.values(), ids=DUPLICATES)
def test_duplicate_json_keys_are_found_with_their_paths(text: str, paths: list[str]) -> None:
    assert find_duplicate_keys(text) == find_duplicate_keys(text.encode()) == paths


def test_every_json_key_and_item_has_its_offset() -> None:
    text = '{"a": [1, {"b,": "x]"}, []], "c\\"": {"d": null}, "e": "{"}'
    found = {format_path(path): text[offset:].split(":")[0] for path, offset in scan_keys(text)}
    assert found == {
        "a": '"a"',
        "a[0]": '1, {"b,"',
        "a[1]": '{"b,"',
        "a[1][b,]": '"b,"',
        "a[2]": '[]], "c\\""',
        '[c"]': '"c\\""',
        '[c"].d': '"d"',
        "e": '"e"',
    }


def test_json_keys_after_an_empty_object_are_found() -> None:
    text = '{"a": [{}, {"b": 1}, []], "c": {}, "d": 2}'
    assert [format_path(path) for path, _ in scan_keys(text)] == ["a", "a[0]", "a[1]", "a[1].b", "a[2]", "c", "d"]
