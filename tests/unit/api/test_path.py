"""Field paths are formatted as in Kubernetes and can be parsed again."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.api.path import Part, format_path, parse_path

PATHS: dict[str, tuple[tuple[Part, ...], str]] = {
    "whole object": ((), ""),
    "one field": (("spec",), "spec"),
    "fields and items": (("spec", "disks", 0, "disk", "bus"), "spec.disks[0].disk.bus"),
    "list of lists": (("a", 1, 2), "a[1][2]"),
    "simple key": (("labels", "app"), "labels.app"),
    "key with a dot": (("annotations", "example.com/os"), "annotations[example.com/os]"),
    "first key with a dot": (("a.b", "c"), "[a.b].c"),
    "empty key": (("data", "", "x"), "data[].x"),
    "key with brackets": (("data", "a[0]b"), "data[a[0]b]"),
}


@pytest.mark.parametrize(("parts", "path"), PATHS.values(), ids=PATHS)
def test_format_path_and_parse_path_are_inverses(parts: tuple[Part, ...], path: str) -> None:
    assert format_path(parts) == path
    assert parse_path(path) == tuple(map(str, parts))


@given(st.lists(st.text("ab.0-/ é") | st.integers(0, 99)))
def test_field_paths_without_brackets_round_trip(parts: list[Part]) -> None:
    assert parse_path(format_path(parts)) == tuple(map(str, parts))


@pytest.mark.parametrize(
    "path", ["[" * 20_000, "[a]x" * 5_000, "[a]" * 5_000], ids=["unclosed brackets", "keys and names", "only keys"]
)
def test_parse_path_takes_linear_time(path: str) -> None:
    began = time.process_time()
    parse_path(path)
    assert time.process_time() - began < 1
