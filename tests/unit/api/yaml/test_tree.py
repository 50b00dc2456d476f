"""YAML is read as kubectl reads it; the expected values were recorded from the libraries that kubectl uses."""

import json

import pytest

from virtshape.api.yaml import read_documents
from virtshape.api.yaml import tree as tree_module

SCALARS: dict[str, object] = {
    "y": True,
    "Y": True,
    "yes": True,
    "YES": True,
    "yEs": "yEs",
    "n": False,
    "no": False,
    "NO": False,
    "on": True,
    "ON": True,
    "off": False,
    "Off": False,
    "true": True,
    "TRUE": True,
    "tRUE": "tRUE",
    "false": False,
    "~": None,
    "null": None,
    "NULL": None,
    "nUll": "nUll",
    "1": 1,
    "+1": 1,
    "-1": -1,
    "-0": 0,
    "007": 7,
    "08": 8,
    "018": 18,
    "0644": 420,
    "-0644": -420,
    "0o17": 15,
    "0o8": "0o8",
    "0b11": 3,
    "-0b11": -3,
    "0b12": "0b12",
    "0x1F": 31,
    "0X1f": 31,
    "0xg": "0xg",
    "0_7": 7,
    "1_000": 1000,
    "1_": 1,
    "_1": "_1",
    "1_000.5": 1000.5,
    "1:30": "1:30",
    "190:20:30": "190:20:30",
    "52:54:00:12:34:56": "52:54:00:12:34:56",
    "1e3": 1000,
    "1E3": 1000,
    "1e-3": 0.001,
    "1e999": "1e999",
    "1e": "1e",
    ".5": 0.5,
    "-.5": -0.5,
    ".": ".",
    "5.": 5,
    "1.0": 1,
    "1.10": 1.1,
    "-0.0": 0,
    ".1_0": 0.1,
    "._1": "._1",
    "1e20": 100000000000000000000,
    "1e21": 1e21,
    "1.5e-10": 1.5e-10,
    ".Nan": ".Nan",
    "inf": "inf",
    "NaN": "NaN",
    "9223372036854775808": 9223372036854775808,
    "18446744073709551615": 18446744073709551615,
    "18446744073709551616": 18446744073709552000,
    "-9223372036854775809": -9223372036854776000,
    "123456789012345678901234567890": 1.2345678901234568e29,
    "0x1FFFFFFFFFFFFFFFF": "0x1FFFFFFFFFFFFFFFF",
    "0777777777777777777777777": 7.777777777777778e23,
    "12345678901234567.0": 12345678901234568,
    "2026-01-01": "2026-01-01",
    "2026-01-01T10:00:00Z": "2026-01-01T10:00:00Z",
    "4Gi": "4Gi",
    "250m": "250m",
    "1e3Mi": "1e3Mi",
    "1.2.3": "1.2.3",
    "10.0.0.1": "10.0.0.1",
    "0x1p4": "0x1p4",
    "<<": "<<",
    "=": "=",
    "--": "--",
    "+a": "+a",
}

KEYS = {
    "y": "true",
    "n": "false",
    "yes": "true",
    "no": "false",
    "on": "true",
    "off": "false",
    "true": "true",
    "1": "1",
    "1.5": "1.5",
    "1e3": "1000",
    "1e6": "1e+06",
    "1000000.0": "1e+06",
    "0x10": "16",
    "08": "8",
    "0644": "420",
    "1_000": "1000",
    "1:30": "1:30",
    "2026-01-01": "2026-01-01",
    ".5": "0.5",
    "3.141592653589793": "3.1415927",
    "1e-5": "1e-05",
    "0.0001": "0.0001",
    "0.00001": "1e-05",
    "123456.0": "123456",
    "1234567.0": "1.234567e+06",
    "100000.0": "100000",
    "16777217.0": "1.6777216e+07",
    "0.1": "0.1",
    ".inf": ".inf",
    "-.inf": "-.inf",
    ".nan": ".nan",
    "9223372036854775807": "9223372036854775807",
    "-1": "-1",
    "0b11": "3",
    "-0.0": "-0",
    "1e21": "1e+21",
    "1e20": "1e+20",
    "1.5e300": ".inf",
    "1e-50": "0",
}

TEXTS: dict[str, tuple[str, list[object]]] = {
    "!!str 5": ("a: !!str 5\n", [{"a": "5"}]),
    "!!str": ("a: !!str\n", [{"a": ""}]),
    '!!int "5"': ('a: !!int "5"\n', [{"a": 5}]),
    "!!float 5": ("a: !!float 5\n", [{"a": 5}]),
    "!!float 0x10": ("a: !!float 0x10\n", [{"a": 16}]),
    "!!bool yes": ("a: !!bool yes\n", [{"a": True}]),
    "!!null ''": ("a: !!null ''\n", [{"a": None}]),
    "!!binary aGVsbG8=": ("a: !!binary aGVsbG8=\n", [{"a": "hello"}]),
    "!!binary /w==": ("a: !!binary /w==\n", [{"a": "�"}]),
    "!!timestamp 2026-01-01": ("a: !!timestamp 2026-01-01\n", [{"a": "2026-01-01"}]),
    "!foo 5": ("a: !foo 5\n", [{"a": "5"}]),
    "! 5": ("a: ! 5\n", [{"a": "5"}]),
    "!!set {a, b}": ("a: !!set {a, b}\n", [{"a": {"a": None, "b": None}}]),
    "!!omap [a: b]": ("a: !!omap [a: b]\n", [{"a": [{"a": "b"}]}]),
    "!!map [a]": ("a: !!map [a]\n", [{"a": ["a"]}]),
    "!!python/object:os.system x": ("a: !!python/object:os.system x\n", [{"a": "x"}]),
    "merge simple": (
        "b: &b {x: 1, w: 2}\na:\n  <<: *b\n  z: 3\n",
        [{"a": {"w": 2, "x": 1, "z": 3}, "b": {"w": 2, "x": 1}}],
    ),
    "merge override after": (
        "b: &b {x: 1, w: 2}\na:\n  <<: *b\n  x: 3\n",
        [{"a": {"w": 2, "x": 3}, "b": {"w": 2, "x": 1}}],
    ),
    "merge override before": (
        "b: &b {x: 1, w: 2}\na:\n  x: 3\n  <<: *b\n",
        [{"a": {"w": 2, "x": 1}, "b": {"w": 2, "x": 1}}],
    ),
    "merge list": (
        "b: &b {x: 1}\nc: &c {x: 2, w: 2}\na:\n  <<: [*b, *c]\n",
        [{"a": {"w": 2, "x": 1}, "b": {"x": 1}, "c": {"w": 2, "x": 2}}],
    ),
    "merge list override": (
        "b: &b {x: 1}\nc: &c {x: 2, w: 2}\na:\n  <<: [*b, *c]\n  w: 5\n",
        [{"a": {"w": 5, "x": 1}, "b": {"x": 1}, "c": {"w": 2, "x": 2}}],
    ),
    "merge twice same": (
        "b: &b {x: 1}\nc: &c {x: 2}\na:\n  <<: *b\n  <<: *c\n",
        [{"a": {"x": 2}, "b": {"x": 1}, "c": {"x": 2}}],
    ),
    "merge inline map": ("a:\n  <<: {x: 1}\n  w: 2\n", [{"a": {"w": 2, "x": 1}}]),
    "merge empty list": ("a:\n  <<: []\n  x: 1\n", [{"a": {"x": 1}}]),
    "merge quoted key": ('a:\n  "<<": {x: 1}\n', [{"a": {"<<": {"x": 1}}}]),
    "merge nested": (
        "c: &c {x: 1}\nb: &b {<<: *c, w: 2}\na: {<<: *b, z: 3}\n",
        [{"a": {"w": 2, "x": 1, "z": 3}, "b": {"w": 2, "x": 1}, "c": {"x": 1}}],
    ),
    "merge tag": ("a:\n  !!merge <<: {x: 1}\n", [{"a": {"x": 1}}]),
    "merge root": ("<<: {x: 1}\nw: 2\n", [{"w": 2, "x": 1}]),
    "alias scalar": ("a: &x 5\nb: *x\n", [{"a": 5, "b": 5}]),
    "alias list": ("a: &x [1, 2]\nb: [*x, *x]\n", [{"a": [1, 2], "b": [[1, 2], [1, 2]]}]),
    "alias redefined": ("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", [{"a": 1, "b": 1, "c": 2, "d": 2}]),
    "alias null": ("a: &x\nb: *x\n", [{"a": None, "b": None}]),
    "alias key": ("&k a: b\nc: *k\n", [{"a": "b", "c": "a"}]),
    "anchor on map": ("a: &x\n  b: 1\nc: *x\n", [{"a": {"b": 1}, "c": {"b": 1}}]),
    "key alias": ("a: &x k\n*x : v\n", [{"a": "k", "k": "v"}]),
    "key explicit no value": ("? a\n", [{"a": None}]),
    "key multiline": ("? |\n  a\n  b\n: x\n", [{"a\nb\n": "x"}]),
    "key binary": ("!!binary aGk=: y\n", [{"hi": True}]),
    "tab after colon": ("a:\tb\n", [{"a": "b"}]),
    "tab before comment": ("a: b\t# c\n", [{"a": "b"}]),
    "tab flow": ("a: {\n\tb: 1\n}\n", [{"a": {"b": 1}}]),
    "tab in literal": ("a: |\n  x\ty\n  \tz\n", [{"a": "x\ty\n\tz\n"}]),
    "bom": ("\ufeffa: 1\n", [{"a": 1}]),
    "bom second document": ("a: 1\n---\n\ufeffb: 1\n", [{"a": 1}, {"b": 1}]),
    "bom inside": ("a: \ufeffx\n", [{"a": "\ufeffx"}]),
    "crlf literal": ("a: |\r\n  x\r\n  y\r\n", [{"a": "x\ny\n"}]),
    "cr only": ("a: 1\rb: 2\r", [{"a": 1, "b": 2}]),
    "empty": ("", []),
    "spaces": ("   \n", []),
    "comment only": ("# hello\n", []),
    "separator only": ("---\n", []),
    "separator and comment": ("--- # c\na: 1\n", [{"a": 1}]),
    "separator comment between": ("a: 1\n---\n# c\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    "separator in literal unindented": ("a: |\n x\n---\nb: 1\n", [{"a": "x\n"}, {"b": 1}]),
    "separator crlf": ("a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
    "separator no newline": ("a: 1\n---", [{"a": 1}]),
    "document end": ("a: 1\n...\n", [{"a": 1}]),
    "document end then separator": ("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    "documents many": ("a: 1\n---\nb: 2\n---\nc: 3\n", [{"a": 1}, {"b": 2}, {"c": 3}]),
    "json": ('{"a": [1, 2.5, true, null, "x"]}', [{"a": [1, 2.5, True, None, "x"]}]),
    "json tabs": ('{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n', [{"a": {"b": 1}}]),
    "json escapes": ('{"a": "\\/ \\u00e9 \\ud83d\\ude00 \\n"}', [{"a": "/ é 😀 \n"}]),
    "json stream": ('{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}]),
    "json stream lines": ('{"a": 1}\n{"b": 2}\n{"c": 3}\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
    "json then yaml": ('{"a": 1}\n---\nb: 2\n', [{"a": 1}, {"b": 2}]),
    "json trailing comma": ('{"a": 1,}', [{"a": 1}]),
    "json single quotes": ("{'a': 1}", [{"a": 1}]),
    "json leading blank": ('\n\n  {"a": 1}\n', [{"a": 1}]),
    "json array": ('[{"a": 1}]', [[{"a": 1}]]),
    "json nan": ('{"a": NaN}', [{"a": "NaN"}]),
    "flow no value": ("{a, b: }\n", [{"a": None, "b": None}]),
    "flow pair in list": ("[a: b]\n", [[{"a": "b"}]]),
    "flow colon glued": ("{a:b}\n", [{"a:b": None}]),
    "flow json colon glued": ('{"a":b}\n', [{"a": "b"}]),
    "flow url": ("{a: http://x/y}\n", [{"a": "http://x/y"}]),
    "flow comment": ("a: [1, # one\n 2]\n", [{"a": [1, 2]}]),
    "scalar document": ("hello\n", ["hello"]),
    "number document": ("5\n", [5]),
    "string with hash": ("a: b #c\nd: e#f\n", [{"a": "b", "d": "e#f"}]),
    "plain multi line": ("a: x\n  y\n\n  z\n", [{"a": "x y\nz"}]),
    "literal strip": ("a: |-\n  x\n  y\n\n", [{"a": "x\ny"}]),
    "literal keep": ("a: |+\n  x\n\n\nb: 1\n", [{"a": "x\n\n\n", "b": 1}]),
    "literal indent": ("a: |2\n    x\n   y\n", [{"a": "  x\n y\n"}]),
    "literal empty": ("a: |\nb: 1\n", [{"a": "", "b": 1}]),
    "literal no newline at end": ("a: |\n  x", [{"a": "x\n"}]),
    "literal leading blank": ("a: |\n\n  x\n", [{"a": "\nx\n"}]),
    "folded more indented": ("a: >\n  x\n    y\n  z\n", [{"a": "x\n  y\nz\n"}]),
    "folded keep": ("a: >+\n  x\n\n", [{"a": "x\n\n"}]),
    "single quoted multi": ("a: 'x\n  y\n\n  z'\n", [{"a": "x y\nz"}]),
    "double quoted escapes": (
        'a: "\\t\\n\\"\\\\ \\x41 \\u00e9 \\U0001F600 \\e \\0 \\N \\_ \\L \\P \\  \\a\\b\\f\\v\\r"\n',
        [{"a": '\t\n"\\ A é 😀 \x1b \x00 \x85 \xa0 \u2028 \u2029   \x07\x08\x0c\x0b\r'}],
    ),
    "double quoted continuation": ('a: "x\\\n  y"\n', [{"a": "xy"}]),
    "line separator quoted": ('a: "x\u2028y"\n', [{"a": "x\u2028y"}]),
    "list under key": ("a:\n- 1\n- 2\n", [{"a": [1, 2]}]),
    "list of lists": ("a:\n- - 1\n  - 2\n- - 3\n", [{"a": [[1, 2], [3]]}]),
    "list empty item": ("a:\n-\n- 1\n", [{"a": [None, 1]}]),
    "map no space": ("a:1\n", ["a:1"]),
    "comment between": ("a:\n# x\n  b: 1\n  # y\n\n  c: 2\n", [{"a": {"b": 1, "c": 2}}]),
    "colon first": ("a: :x\n", [{"a": ":x"}]),
    "question": ("a: ?x\n", [{"a": "?x"}]),
    "exclamation": ("a: !\n", [{"a": ""}]),
    "windows path": ("a: C:\\dir\n", [{"a": "C:\\dir"}]),
    "template quoted": ('a: "{{ x }}"\n', [{"a": "{{ x }}"}]),
    "equals": ("a: =\n", [{"a": "="}]),
}


def trees_of(text: str | bytes) -> list[object]:
    return [document.tree for document in read_documents(text)]


def as_json(value: object) -> str:
    """Encode a value as JSON, which distinguishes 1 from true and from 1.0."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("word", SCALARS)
def test_unquoted_yaml_scalar_has_the_value_that_kubectl_reads(word: str) -> None:
    assert as_json(trees_of(f"a: {word}\n")) == as_json([{"a": SCALARS[word]}])


@pytest.mark.parametrize("word", SCALARS)
def test_quoted_yaml_scalar_is_a_string(word: str) -> None:
    assert trees_of(f"a: '{word}'\nb: \"{word}\"\n") == [{"a": word, "b": word}]


@pytest.mark.parametrize("word", KEYS)
def test_yaml_key_is_converted_to_the_text_of_its_value(word: str) -> None:
    assert trees_of(f"{word}: x\n") == [{KEYS[word]: "x"}]


@pytest.mark.parametrize(("text", "trees"), TEXTS.values(), ids=TEXTS)
def test_yaml_text_has_the_documents_that_kubectl_reads(text: str, trees: list[object]) -> None:
    assert as_json(trees_of(text)) == as_json(trees)
    assert as_json(trees_of(text.encode())) == as_json(trees)


# The pure Python parser refuses most tabs.
TEXTS_WITHOUT_TABS = {name: case for name, case in TEXTS.items() if "\t" not in case[0]}


@pytest.mark.parametrize(("text", "trees"), TEXTS_WITHOUT_TABS.values(), ids=TEXTS_WITHOUT_TABS)
def test_pure_python_yaml_parser_returns_the_same_documents_as_libyaml(
    text: str, trees: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "Parser", tree_module.PureParser)
    assert as_json(trees_of(text)) == as_json(trees)


def test_yaml_aliases_are_independent_copies() -> None:
    (tree,) = trees_of("a: &x {k: [1]}\nb: *x\n")
    assert isinstance(tree, dict)
    tree["b"]["k"].append(2)
    assert tree == {"a": {"k": [1]}, "b": {"k": [1, 2]}}
