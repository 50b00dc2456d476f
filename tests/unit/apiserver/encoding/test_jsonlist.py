"""JSON lists: the same result for few and for many items."""

import json

import pytest

from virtshape.apiserver.encoding.jsonlist import ITEMS_AT_ONCE, join_items


@pytest.mark.parametrize("count", [0, 1, 2, ITEMS_AT_ONCE, ITEMS_AT_ONCE + 1, 2 * ITEMS_AT_ONCE, 2 * ITEMS_AT_ONCE + 5])
def test_list_contains_all_items_in_order(count: int) -> None:
    joined = join_items(b'{"items":[', [str(number).encode() for number in range(count)], b"]}")
    assert json.loads(joined) == {"items": list(range(count))}
