"""Hypothesis strategies for plain JSON trees with few distinct keys and values, so that trees often overlap."""

from typing import Any

from hypothesis import strategies as st

from virtshape.api.model import JsonObject

KEYS = st.sampled_from(["a", "b", "c", "x/y", "~"])
SCALARS: st.SearchStrategy[Any] = st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "a", "b"]) | st.just(1.5)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(KEYS, values, max_size=3),
    max_leaves=8,
)
TREES: st.SearchStrategy[JsonObject] = st.dictionaries(KEYS, VALUES, max_size=4)
