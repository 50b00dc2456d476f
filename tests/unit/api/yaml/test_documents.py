"""YAML documents: errors with positions, positions of fields, and Lists split into their items."""

import json
import subprocess
import sys

import pytest

from virtshape.api.status import StatusError
from virtshape.api.yaml import Document, YAMLError, read_documents, scan_documents
from virtshape.api.yaml import tree as tree_module

INDENTATION = "this line does not continue the lines above it; check the indentation"

REFUSED: dict[str, tuple[str, int, int, str]] = {
    "duplicate key": ("a: 1\nb: 2\na: 3\n", 3, 1, 'the key "a" appears twice in the same object'),
    "duplicate key in a flow mapping": ("x: {a: 1, a: 2}\n", 1, 11, 'the key "a" appears twice in the same object'),
    "duplicate key in JSON": ('{"a": 1,\n "a": 2}', 2, 2, 'the key "a" appears twice in the same object'),
    "duplicate key with other quotes": (
        "true: a\n'true': b\n",
        2,
        1,
        'the key "true" appears twice in the same object',
    ),
    "duplicate key after a merge": ("<<: {x: 1}\nx: 2\nx: 3\n", 3, 1, 'the key "x" appears twice in the same object'),
    "duplicate key in a later object": (
        '{"a": 1}\n{"b": 1}\n{"c": 1,\n"c": 2}',
        3,
        1,
        'invalid JSON: the key "c" appears twice in the same object',
    ),
    "infinity": ("a: .inf\n", 1, 4, "infinity and NaN cannot be used: JSON has no such numbers"),
    "null key": ("~: x\n", 1, 1, "null cannot be a key; put it in quotes"),
    "large key": (
        "9223372036854775808: x\n",
        1,
        1,
        "the number 9223372036854775808 is too large for a key; put it in quotes",
    ),
    "list as a key": (
        "? [a]\n: x\n",
        1,
        3,
        "a list or an object cannot be a key; quote text that begins with { or [",
    ),
    "alias of a list as a key": ("a: &x [1]\n*x : b\n", 2, 1, "a list or an object cannot be a key"),
    "template": (
        "a: {{ .Values.x }}\n",
        1,
        5,
        "a list or an object cannot be a key; quote text that begins with { or [",
    ),
    "wrong tag": ("a: !!int abc\n", 1, 4, '"abc" is not of the type !!int'),
    "wrong base64": ("a: !!binary '!'\n", 1, 4, "a !!binary value must be base64"),
    "merge of a number": ("a:\n  <<: 5\n", 2, 7, "only objects can be merged with <<"),
    "merge of an alias of a list": ("b: &b [{x: 1}]\na:\n  <<: *b\n", 3, 7, "only objects can be merged with <<"),
    "undefined alias": ("a: *x\n", 1, 4, "unknown alias *x: no &x comes before it"),
    "alias of another document": ("a: &x 1\n---\nb: *x\n", 3, 4, "unknown alias *x: no &x comes before it"),
    "recursive alias": ("a: &x [*x]\n", 1, 8, "&x contains itself"),
    "tab": ("a:\n\tb: 1\n", 2, 1, "tabs are not allowed for indentation: use spaces"),
    "text after the separator": ("a: 1\n--- {b: 1}\n", 2, 4, 'only a comment can follow "---" on its line'),
    "document after an end marker": (
        "a: 1\n...\nb: 2\n",
        3,
        1,
        'a document needs a line "---" before it, and directives such as %YAML are not supported',
    ),
    "invalid second document": ("a: 1\n---\nb:\n  c: 1\n d: 2\n", 5, 2, INDENTATION),
    "colon in a value": (
        "a: b: c\n",
        1,
        5,
        'unexpected ":": no value can follow here; quote text that contains ": ", and check the indentation',
    ),
    "no colon": ("a: 1\nb\nc: 2\n", 2, 1, 'a key without ":"'),
    "wrong indentation": ("a:\n  b: 1\n c: 2\n", 3, 2, INDENTATION),
    "unterminated quotes": ('a: "x\nb: 1\n', 1, 4, "this quoted text is never closed"),
    "unclosed bracket": ("a: [1, 2\n", 1, 4, 'this "[" is never closed, or a "," is missing after it'),
    "unclosed brace": ("a: {b: 1\nc: 2\n", 1, 4, 'this "{" is never closed, or a "," is missing after it'),
    "reserved character": ("a: @x\n", 1, 4, 'text that begins with "@" needs quotes'),
    "star": ("a: *.txt\n", 1, 5, 'text that begins with "*" or "&" needs quotes'),
    "escape": (
        'a: "C:\\dir"\n',
        1,
        7,
        'text in double quotes has an unknown escape after "\\"; use single quotes, or write "\\\\"',
    ),
    "control character": (
        "a: x\nb: y\x07\n",
        2,
        5,
        "the character U+0007 is not allowed in YAML; write it as an escape in double quotes",
    ),
    "list on the line of its key": (
        "a: - x\n",
        1,
        4,
        'a list cannot begin on the line of its key; put "- " on the next line',
    ),
    "broken JSON": ('{"a": 1', 1, 8, "invalid JSON: expecting ',' delimiter"),
    "JSON followed by YAML": ('{"a": 1}\n{"b": 1}\nc: 2\n', 3, 1, "invalid JSON: expecting value"),
    "JSON followed by broken YAML": ('{"a": 1}\n---\nb: @\n', 3, 4, 'text that begins with "@" needs quotes'),
    "unpaired surrogate": ('{"a": "\\ud83d"}', 1, 10, "an escape in double quotes is not a valid character"),
    "JSON nested too deep": ('{"a": ' * 100_000, 1, 1201, "the document is nested more than 200 levels deep"),
    "nested too deep": (f"a: {'[' * 300}", 1, 203, "the document is nested more than 200 levels deep"),
}


@pytest.mark.parametrize(("text", "line", "column", "problem"), REFUSED.values(), ids=REFUSED)
def test_invalid_yaml_is_refused_with_position_and_reason(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(YAMLError) as refusal:
        read_documents(text, "vm.yaml")
    error = refusal.value
    assert (error.source, error.line, error.column, error.problem) == ("vm.yaml", line, column, problem)


def test_yaml_syntax_error_raises_a_status_error_with_its_position() -> None:
    with pytest.raises(StatusError) as refusal:
        read_documents("a: @", "vm.yaml")
    assert (refusal.value.code, str(refusal.value)) == (400, 'vm.yaml:1:4: text that begins with "@" needs quotes')


@pytest.mark.parametrize(
    "name", ["no colon", "unterminated quotes", "wrong indentation", "tab", "unclosed bracket", "colon in a value"]
)
def test_pure_python_yaml_parser_reports_the_same_errors_as_libyaml(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "Parser", tree_module.PureParser)
    text, line, _, problem = REFUSED[name]
    with pytest.raises(YAMLError) as refusal:
        read_documents(text)
    assert (refusal.value.line, refusal.value.problem) == (line, problem)


NOT_TEXT: dict[str, tuple[bytes, str]] = {
    "UTF-16": ("a: 1".encode("utf-16"), "<stdin>:1:1: the text is UTF-16: save it as UTF-8"),
    "Latin-1": ("a: 1\nb: é".encode("latin-1"), "<stdin>:2:4: this is not UTF-8 text"),
    "after a byte order mark": (b"\xef\xbb\xbfa\xff", "<stdin>:1:2: this is not UTF-8 text"),
}


@pytest.mark.parametrize(("data", "message"), NOT_TEXT.values(), ids=NOT_TEXT)
def test_yaml_bytes_must_be_utf_8(data: bytes, message: str) -> None:
    with pytest.raises(YAMLError) as refusal:
        read_documents(data)
    assert str(refusal.value) == message


BOMBS = {
    "lists of lists": "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [{f'*a{n}, ' * 9}]\n" for n in range(9)),
    "merges of merges": "a0: &a0 {x: [y]}\n"
    + "".join(f"a{n + 1}: &a{n + 1} {{b: *a{n}, c: *a{n}}}\n" for n in range(30)),
    "a chain": "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(2000)),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_expansion_of_aliases_is_limited(text: str) -> None:
    with pytest.raises(YAMLError, match=r"(expand to|nested) more than"):
        read_documents(text)


VIRTUAL_MACHINES = """\
# two of them
apiVersion: v1
kind: Machine
metadata:
  annotations:
    example.com/os: linux
spec:
  disks:
  - name: root
    size: 1Gi
  - {name: data}
---

spec:
    "disks": [ 1, [2, 3] ]
    same: &x
      deep: 1
    again: *x
"""

POSITIONS: dict[str, tuple[int, str, tuple[int, int]]] = {
    "whole": (0, "", (2, 1)),
    "field": (0, "kind", (3, 1)),
    "nested field": (0, "spec.disks", (8, 3)),
    "list item": (0, "spec.disks[0]", (9, 5)),
    "first field of an item": (0, "spec.disks[0].name", (9, 5)),
    "second field of an item": (0, "spec.disks[0].size", (10, 5)),
    "field in a flow": (0, "spec.disks[1].name", (11, 6)),
    "key with a dot": (0, "metadata.annotations[example.com/os]", (6, 5)),
    "absent field": (0, "spec.disks[0].bus.type", (9, 5)),
    "absent item": (0, "spec.disks[7].name", (8, 3)),
    "absent top-level field": (0, "status", (2, 1)),
    "second document": (1, "spec", (14, 1)),
    "quoted key": (1, "spec.disks", (15, 5)),
    "item in a flow": (1, "spec.disks[1][0]", (15, 20)),
    "under an alias": (1, "spec.again.deep", (18, 5)),
}


@pytest.mark.parametrize(("index", "path", "position"), POSITIONS.values(), ids=POSITIONS)
def test_yaml_field_has_the_position_of_its_key(index: int, path: str, position: tuple[int, int]) -> None:
    assert read_documents(VIRTUAL_MACHINES)[index].position(path) == position


def test_json_fields_have_positions() -> None:
    text = '{"a": 1}\n  {"b": {\n"c": [0,\n 1]}} {"d": 1}'
    first, second, third = read_documents(text)
    assert [first.position("a"), second.position("b"), second.position("b.c[1]"), third.position("d")] == [
        (1, 2),
        (2, 4),
        (4, 2),
        (4, 8),
    ]


def test_empty_yaml_object_has_a_position() -> None:
    (document,) = read_documents("---\n{}\n")
    assert document.position("a") == (2, 1)


@pytest.mark.parametrize("kind", ["List", "MachineList"])
def test_yaml_list_object_is_split_and_its_items_keep_their_positions(kind: str) -> None:
    items = "- kind: A\n  apiVersion: v2\n- kind: B\n  apiVersion: v2\n  spec:\n    x: 1\n"
    text = f"kind: {kind}\napiVersion: v1\nitems:\n{items}"
    first, second = read_documents(text, "list.yaml")
    assert [first.tree, second.tree] == [
        {"kind": "A", "apiVersion": "v2"},
        {"kind": "B", "apiVersion": "v2", "spec": {"x": 1}},
    ]
    assert (second.source, second.position("spec.x"), second.position("nope")) == ("list.yaml", (9, 5), (6, 3))


LISTS: dict[str, tuple[object, list[object]]] = {
    "empty": ({"kind": "List", "items": []}, []),
    "items take the kind of their list": (
        {"kind": "MachineList", "apiVersion": "v1", "items": [{"spec": {}}]},
        [{"apiVersion": "v1", "kind": "Machine", "spec": {}}],
    ),
    "lists of lists": (
        {"kind": "List", "items": [{"kind": "List", "items": [{"kind": "A"}]}, {"kind": "B"}]},
        [{"kind": "A"}, {"kind": "B"}],
    ),
    "null items": ({"kind": "List", "items": [None]}, []),
    "not a list": ({"kind": "Playlist", "items": {}}, [{"kind": "Playlist", "items": {}}]),
}


@pytest.mark.parametrize(("tree", "items"), LISTS.values(), ids=LISTS)
def test_list_objects_are_split_into_their_items(tree: object, items: list[object]) -> None:
    assert [document.tree for document in read_documents(json.dumps(tree))] == items


def test_yaml_parser_is_imported_only_when_needed() -> None:
    code = "import sys, virtshape.api.yaml; virtshape.api.yaml.read_documents('{}'); print('yaml' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_yaml_documents_have_independent_positions() -> None:
    documents = read_documents("a: 1\n---\na: 2\n")
    assert all(isinstance(document, Document) for document in documents)
    assert [document.position("a") for document in documents] == [(1, 1), (3, 1)]


def test_invalid_yaml_document_does_not_hide_other_documents() -> None:
    scanned = list(scan_documents("a: 1\n---\na: 1\na: 2\n---\nb: [1\n---\nc: 3\n", "file.yaml"))
    assert [str(each) if isinstance(each, YAMLError) else each.tree for each in scanned] == [
        {"a": 1},
        'file.yaml:4:1: the key "a" appears twice in the same object',
        'file.yaml:6:4: this "[" is never closed, or a "," is missing after it',
        {"c": 3},
    ]


LONG = "x" * 500_000
ECHOES = {
    "unknown alias": f"a: *{LONG}",
    "alias in itself": f"a: &{LONG} [*{LONG}]",
    "key twice": f"{{{LONG}: 1, {LONG}: 2}}",
    "key twice on separate lines": f"? {LONG}\n: 1\n? {LONG}\n: 2\n",
    "not a number": f"a: !!int {LONG}",
    "many digits": f"a: {'9' * 500_000}\n{'9' * 500_000}: 1",
    "tag": f"a: !{LONG}!b c",
}


@pytest.mark.parametrize("text", ECHOES.values(), ids=ECHOES)
def test_error_messages_repeat_only_a_part_of_the_input(text: str) -> None:
    with pytest.raises(YAMLError) as refused:
        read_documents(text)
    assert len(str(refused.value)) < 1000
