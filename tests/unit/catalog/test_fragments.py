from typing import Any

import pytest

from virtshape.catalog.fragments import merge


@pytest.mark.parametrize(
    ("fragments", "merged"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([{"a": {"b": 1}}, {"a": {"c": 2}}], {"a": {"b": 1, "c": 2}}, id="fields of one parent"),
        pytest.param([{"a": {"b": 1}}, {"a": {"b": 2}}], {"a": {"b": 2}}, id="the later value wins"),
        pytest.param([{"a": {}}, {"a": {"b": 1}}], {"a": {"b": 1}}, id="an empty parent is filled"),
        pytest.param([{"a": {}}, {"b": {}}], {"a": {}, "b": {}}, id="an empty field is kept"),
    ],
)
def test_preference_fragments_are_merged_field_by_field(
    fragments: list[dict[str, Any]], merged: dict[str, Any]
) -> None:
    assert merge(*fragments) == merged


def test_merge_does_not_modify_its_fragments() -> None:
    first: dict[str, Any] = {"a": {"b": 1}}
    merge(first, {"a": {"c": 2}})
    assert first == {"a": {"b": 1}}
