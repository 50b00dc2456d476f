"""YAML output reads back unchanged and looks like kubectl's."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from virtshape.api.quantity import Quantity
from virtshape.api.yaml import read_documents, write_yaml

WRITTEN: dict[str, tuple[Any, str]] = {
    "nested": (
        {"a": {"b": {"c": 1}}, "d": [1, {"e": 2, "f": [3]}, [4, [5]], [{"g": 6}]]},
        "a:\n  b:\n    c: 1\nd:\n- 1\n- e: 2\n  f:\n  - 3\n- - 4\n  - - 5\n- - g: 6\n",
    ),
    "empty": ({"a": {}, "b": [], "c": "", "d": None}, 'a: {}\nb: []\nc: ""\nd: null\n'),
    "whole": ([], "[]\n"),
    "scalar": ("x", "x\n"),
    "order is kept": ({"b": 1, "a": 2}, "b: 1\na: 2\n"),
    "numbers": ({"a": 1.5, "b": 1e22, "c": 2.0, "d": -3, "e": 1e-7}, "a: 1.5\nb: 1e+22\nc: 2\nd: -3\ne: 1e-07\n"),
    "booleans": ([True, False], "- true\n- false\n"),
    "quantity": ({"memory": Quantity("4Gi"), "cpu": Quantity("2")}, 'memory: 4Gi\ncpu: "2"\n'),
    "looks like a boolean": (["yes", "n", "on"], '- "yes"\n- "n"\n- "on"\n'),
    "looks like a number": (["1", "0644", "1e3", "1_000", "1:30"], '- "1"\n- "0644"\n- "1e3"\n- "1_000"\n- "1:30"\n'),
    "looks like a date": (["2026-01-01"], '- "2026-01-01"\n'),
    "looks like null": (["~", "null"], '- "~"\n- "null"\n'),
    "looks like a merge": ({"<<": "<<"}, '"<<": "<<"\n'),
    "key that looks like a boolean": ({"y": "x", "1": "x"}, '"y": x\n"1": x\n'),
    "has a meaning": (
        ["a: b", "a #b", "#a", "- a", "*a", "a:", " a"],
        "- 'a: b'\n- 'a #b'\n- '#a'\n- '- a'\n- '*a'\n- 'a:'\n- ' a'\n",
    ),
    "has quotes": (["it's", "'a'", 'say "a"'], "- it's\n- '''a'''\n- say \"a\"\n"),
    "harmless": (
        ["a:b", "a#b", "-a", "http://x:80/y", "4Gi", "x,y", "=", "v1.2"],
        "- a:b\n- a#b\n- -a\n- http://x:80/y\n- 4Gi\n- x,y\n- =\n- v1.2\n",
    ),
    "unprintable": (["\x07", "a\tb", "\u2028", "\ufeff"], '- "\\x07"\n- "a\\tb"\n- "\\u2028"\n- "\\uFEFF"\n'),
    "beyond ASCII": (["é", "日本", "😀"], "- é\n- 日本\n- 😀\n"),
    "block": ({"a": "x\ny\n"}, "a: |\n  x\n  y\n"),
    "block without an end": ({"a": {"b": "x\n\n  y"}}, "a:\n  b: |-\n    x\n\n      y\n"),
    "block with more ends": (["x\n\n", 1], "- |+\n  x\n\n- 1\n"),
    "block that begins with a space": ([{"a": " x\ny\n"}], "- a: |2\n     x\n    y\n"),
    "block with tabs": (["x\n\ty\n"], "- |\n  x\n  \ty\n"),
    "lines that end with a space": (["x \ny\n"], "- |\n  x \n  y\n"),
    "only lines": (["\n", "x\n "], '- "\\n"\n- "x\\n "\n'),
    "key of two lines": ({"a\nb": 1}, '"a\\nb": 1\n'),
    "long line": ({"a": "x " * 99 + "x"}, f"a: {'x ' * 99}x\n"),
    "long key": ({"k" * 1100: {"a": [1]}, "b": 1}, f"? {'k' * 1100}\n:\n  a:\n  - 1\nb: 1\n"),
}


@pytest.mark.parametrize(("tree", "text"), WRITTEN.values(), ids=WRITTEN)
def test_yaml_looks_like_the_output_of_kubectl(tree: Any, text: str) -> None:
    assert write_yaml(tree) == text
    assert [document.tree for document in read_documents(text)] == [tree]


@pytest.mark.parametrize("value", [object(), {"a": b"x"}, {1, 2}], ids=["object", "bytes", "set"])
def test_yaml_writer_rejects_values_other_than_plain_data(value: object) -> None:
    with pytest.raises(TypeError, match="cannot write a"):
        write_yaml(value)


def test_yaml_writer_rejects_infinity() -> None:
    with pytest.raises(ValueError, match="JSON has no such numbers"):
        write_yaml({"a": float("inf")})


texts = st.text(max_size=8) | st.text(" \n\t:#-'\"ab0123.eE_xo+~\\", max_size=12)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(-(2**53), 2**53) | texts
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


@given(trees)
@example({" \n\t": [[" a\n\n"], {"- ": "\ta\n"}]})
def test_written_yaml_reads_back_unchanged(tree: Any) -> None:
    assert [document.tree for document in read_documents(write_yaml({"tree": tree}))] == [{"tree": tree}]
