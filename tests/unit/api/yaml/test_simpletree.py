"""The reader of simple YAML returns what the parser returns, or leaves the document to the parser."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from virtshape.api.model import JsonObject
from virtshape.api.yaml.simpletree import NOT_SIMPLE, read_simple_tree
from virtshape.api.yaml.tree import read_tree

SIMPLE: dict[str, tuple[str, object]] = {
    "empty": ("", None),
    "comment": ("# nothing\n\n", None),
    "nested mappings": ("a:\n  b:\n    c: 1\n  d: x\ne:\n", {"a": {"b": {"c": 1}, "d": "x"}, "e": None}),
    "list with the indentation of its key": ("a:\n- x\n- c: 1\n  d: 2\nb: 3\n", {"a": ["x", {"c": 1, "d": 2}], "b": 3}),
    "list with more indentation": ("a:\n  - b:\n      - c\n  - d\n", {"a": [{"b": ["c"]}, "d"]}),
    "list at the top": ("- a\n-   b: 1\n    c: 2\n", ["a", {"b": 1, "c": 2}]),
    "quotes": ("a: \"x: #1\"\nb: 'y'\nc: ''\n", {"a": "x: #1", "b": "y", "c": ""}),
    "scalars of YAML 1.1": ("a: yes\nb: 0644\nc: 1:30\nd: -1\n", {"a": True, "b": 420, "c": "1:30", "d": -1}),
    "empty containers": ("a: {}\nb: []\n", {"a": {}, "b": []}),
    "comments": ("a: # one\n  # two\n  b: x#y # three\n", {"a": {"b": "x#y"}}),
    "literal block": (
        "a: |\n  #!/bin/sh\n\n    x: y\n\nb: |-\n  z\n",
        {"a": "#!/bin/sh\n\n  x: y\n", "b": "z"},
    ),
    "literal block in a list": ("- |\n  a\n- b\n", ["a\n", "b"]),
}
NOT_SIMPLE_TEXTS = {
    "duplicate key": "a: 1\na: 2\n",
    "boolean key": "on: 1\n",
    "numeric key": "1: x\n",
    "merge key": "<<: {}\n",
    "flow list": "a: [b]\n",
    "alias": "a: &x 1\nb: *x\n",
    "tag": "a: !!str 1\n",
    "folded block": "a: >\n  b\n",
    "scalar in two lines": "a: b\n  c\n",
    "mapping below a scalar": "a: b\n  c: d\n",
    "less indentation than the siblings": "a:\n    b: 1\n  c: 2\n",
    "list item between mappings": "a: 1\n- b\n",
    "list in a list": "- - a\n",
    "empty list item": "-\n",
    "colon in a value": "a: b: c\n",
    "tab": "a:\tb\n",
    "carriage return": "a: b\r\n",
    "escape": 'a: "\\n"\n',
    "float": "a: 1.5\n",
    "number with too many digits": f"a: {'1' * 5000}\n",
    "text beyond ASCII": "a: é\n",
    "document end": "a: 1\n...\n",
    "directive": "%YAML 1.1\n",
    "scalar at the top": "a\n",
    "two objects at the top": "  a: 1\nb: 2\n",
    "block without content": "a: |\nb: 1\n",
    "block with less indentation": "a: |\n   x\n  y\n",
    "block with a long blank line": "a: |\n     \n  x\n",
    "deep nesting": "".join(f"{' ' * depth}a:\n" for depth in range(150)),
    "long text": "a: 1\n" + "#\n" * 600_000,
}


@pytest.mark.parametrize(("text", "tree"), SIMPLE.values(), ids=SIMPLE)
def test_simple_document_is_read_without_the_parser(text: str, tree: JsonObject) -> None:
    assert read_simple_tree(text) == tree
    assert read_tree(text) == tree


@pytest.mark.parametrize("text", NOT_SIMPLE_TEXTS.values(), ids=NOT_SIMPLE_TEXTS)
def test_other_syntax_is_left_to_the_parser(text: str) -> None:
    assert read_simple_tree(text) is NOT_SIMPLE


KEYS = st.sampled_from(["a:", "b:", "c.d/e:", "_:", "y:", "1:", '"q":', "a b:", "<<:"])
WORDS = """x 1 0x1F y ~ -1 - a:b a: a#b #c 'x' '' 'it''s' "q" "\\n" {} [] [a] | |- |+ > *a .inf 1e3 %x ... + << = é"""
TEXTS = ["- x", "a: b", "a #b", "&a x", "!!str 1", "a  b", "x, y", "? a", ": b", "'a' b", '"a"#b', "'a' # c", "a\tb"]
VALUES = st.sampled_from([*WORDS.split(), *TEXTS])
LINES = st.builds(
    lambda indent, dash, key, value, end: f"{' ' * indent}{dash}{key}{' ' if key and value else ''}{value}{end}",
    st.sampled_from([0, 0, 0, 2, 2, 2, 4, 4, 1, 3, 6]),
    st.sampled_from(["", "", "", "- ", "- ", "-   ", "-", "- - "]),
    KEYS | st.just("a:") | st.just("b:") | st.just(""),
    VALUES | st.just("") | st.just("x"),
    st.sampled_from(["", "", "", " ", " # c", "#"]),
)


@given(st.lists(LINES, min_size=1, max_size=8).map(lambda lines: "\n".join(lines) + "\n"))
@example("a: |\n\n  x\n \n\n# c\n")
@example("a:\n# c\n- b:\n  - c:\n")
def test_result_is_that_of_the_parser(text: str) -> None:
    tree = read_simple_tree(text)
    if tree is not NOT_SIMPLE:
        assert repr(tree) == repr(read_tree(text))
