"""Strict decoding: valid input is decoded, invalid input is rejected with all problems."""

from typing import Annotated, Any, Literal, Self

import msgspec
import pytest

from virtshape.api import codec
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Int32, IntOrString, Model, UInt32
from virtshape.api.problems import DecodeError


class Grams(str):
    """A scalar type with its own syntax, like a quantity."""

    __slots__ = ()

    def __new__(cls, value: object) -> Self:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise TypeError(f"{value} is not a string or number")
        if not str(value).removesuffix("g").isdigit():
            raise ValueError(f"{value} is not a weight")
        return super().__new__(cls, value)


class Item(Model):
    name: str
    bus: str | None = None
    count: UInt32 | None = None


class Box(Model):
    items: list[Item] | None = None
    main: Item | None = None
    labels: dict[str, str] | None = None
    limits: dict[str, Grams] | None = None
    weight: Grams | None = None
    policy: Literal["Always", "Never"] | None = None
    port: IntOrString | None = None
    offset: Int32 | None = None
    ratio: float | None = None
    least: Annotated[int, msgspec.Meta(ge=1)] | None = None
    most: Annotated[int, msgspec.Meta(le=9)] | None = None
    open: bool | None = None
    secret: bytes | None = None
    anything: dict[str, Any] | None = None
    code: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")] | None = None


def problems_of(tree: object, struct: type = Box) -> list[FieldError]:
    with pytest.raises(DecodeError) as from_tree:
        codec.from_tree(tree, struct)
    with pytest.raises(DecodeError) as from_text:
        codec.decode(msgspec.json.encode(tree), struct)
    assert from_tree.value.causes == from_text.value.causes
    return list(from_tree.value.causes)


ONE_PROBLEM: dict[str, tuple[object, str, str, str]] = {
    "similar name": (
        {"main": {"name": "a", "buss": "b"}},
        "main.buss",
        'unknown field "buss", did you mean "bus"?',
        "unknown-field",
    ),
    "wrong case": ({"Policy": "Never"}, "Policy", 'unknown field "Policy", did you mean "policy"?', "unknown-field"),
    "no similar name": ({"zzz": 1}, "zzz", 'unknown field "zzz"', "unknown-field"),
    "set field is not suggested": (
        {"main": {"name": "a", "bus": "b", "buss": "c"}},
        "main.buss",
        'unknown field "buss"',
        "unknown-field",
    ),
    "unknown in a list": (
        {"items": [{"name": "a"}, {"name": "b", "x": 1}]},
        "items[1].x",
        'unknown field "x"',
        "unknown-field",
    ),
    "unknown with a dot": ({"a.b/c": 1}, "[a.b/c]", 'unknown field "a.b/c"', "unknown-field"),
    "missing": ({"items": [{}]}, "items[0].name", 'missing required field "name"', "missing-field"),
    "text for an integer": ({"offset": "4"}, "offset", 'expected an integer, got the string "4"', "wrong-type"),
    "fraction for an integer": (
        {"offset": 4.5},
        "offset",
        "expected an integer, got the number 4.5",
        "wrong-type",
    ),
    "boolean for an integer": ({"offset": True}, "offset", "expected an integer, got the boolean true", "wrong-type"),
    "integer for text": ({"main": {"name": 5}}, "main.name", "expected a string, got the integer 5", "wrong-type"),
    "null for text": ({"main": {"name": None}}, "main.name", "expected a string, got null", "wrong-type"),
    "text for a boolean": ({"open": "yes"}, "open", 'expected true or false, got the string "yes"', "wrong-type"),
    "text for a number": ({"ratio": "1"}, "ratio", 'expected a number, got the string "1"', "wrong-type"),
    "boolean for a number": ({"ratio": False}, "ratio", "expected a number, got the boolean false", "wrong-type"),
    "object for a list": ({"items": {}}, "items", "expected a list, got an object", "wrong-type"),
    "list for an object": ({"main": []}, "main", "expected an object, got a list", "wrong-type"),
    "text for an object": ({"labels": "a=b"}, "labels", 'expected an object, got the string "a=b"', "wrong-type"),
    "list for the object": ([], "", "expected an object, got a list", "wrong-type"),
    "neither integer nor text": (
        {"port": 1.5},
        "port",
        "expected an integer or a string, got the number 1.5",
        "wrong-type",
    ),
    "label value": ({"labels": {"app": 1}}, "labels.app", "expected a string, got the integer 1", "wrong-type"),
    "label value under a long key": (
        {"labels": {"example.com/app": True}},
        "labels[example.com/app]",
        "expected a string, got the boolean true",
        "wrong-type",
    ),
    "too small": (
        {"main": {"name": "a", "count": -1}},
        "main.count",
        "expected a number from 0 to 4294967295, got -1",
        "invalid-value",
    ),
    "too large": (
        {"offset": 2**31},
        "offset",
        "expected a number from -2147483648 to 2147483647, got 2147483648",
        "invalid-value",
    ),
    "below the minimum": ({"least": 0}, "least", "expected a number of at least 1, got 0", "invalid-value"),
    "above the maximum": ({"most": 10}, "most", "expected a number of at most 9, got 10", "invalid-value"),
    "unknown choice": (
        {"policy": "Sometimes"},
        "policy",
        'expected one of "Always", "Never", got "Sometimes"',
        "unsupported-value",
    ),
    "similar choice": (
        {"policy": "never"},
        "policy",
        'expected one of "Always", "Never", got "never", did you mean "Never"?',
        "unsupported-value",
    ),
    "bad scalar": ({"weight": "heavy"}, "weight", "heavy is not a weight", "invalid-value"),
    "bad scalar in a map": ({"limits": {"box": "4 g"}}, "limits.box", "4 g is not a weight", "invalid-value"),
    "object for a scalar": (
        {"weight": {}},
        "weight",
        "expected a quantity such as 4Gi or 250m, got an object",
        "wrong-type",
    ),
    "boolean for a scalar": (
        {"weight": True},
        "weight",
        "expected a quantity such as 4Gi or 250m, got the boolean true",
        "wrong-type",
    ),
    "bad base64": ({"secret": "!"}, "secret", "invalid base64 encoded string", "invalid-value"),
    "list for base64": ({"secret": []}, "secret", "expected base64 text, got a list", "wrong-type"),
    "bad pattern": ({"code": "A1"}, "code", "expected str matching regex '^[a-z]+$'", "invalid-value"),
    "long text is shortened": (
        {"offset": "x" * 99},
        "offset",
        f'expected an integer, got the string "{"x" * 60}…"',
        "wrong-type",
    ),
}


@pytest.mark.parametrize(("tree", "field", "message", "rule"), ONE_PROBLEM.values(), ids=ONE_PROBLEM)
def test_decode_problem_has_path_message_and_rule(tree: object, field: str, message: str, rule: str) -> None:
    assert [(one.field, one.message, one.rule) for one in problems_of(tree)] == [(field, message, rule)]


def test_all_decode_problems_are_reported_at_once() -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "label": {}},
        "spec": {
            "running": "true",
            "template": {
                "spec": {
                    "domain": {
                        "cpu": {"cores": -1},
                        "memory": {"guest": "4 Gi"},
                        "devices": {"disks": [{"name": "root", "disk": {"buss": "virtio"}}, {"disk": {}}]},
                    },
                    "dnsPolicy": "Cluster",
                }
            },
        },
    }
    assert [(problem.field, problem.rule) for problem in problems_of(vm, VirtualMachine)] == [
        ("metadata.label", "unknown-field"),
        ("spec.running", "wrong-type"),
        ("spec.template.spec.domain.cpu.cores", "invalid-value"),
        ("spec.template.spec.domain.memory.guest", "invalid-value"),
        ("spec.template.spec.domain.devices.disks[0].disk.buss", "unknown-field"),
        ("spec.template.spec.domain.devices.disks[1].name", "missing-field"),
        ("spec.template.spec.dnsPolicy", "unsupported-value"),
    ]


def test_at_most_100_decode_problems_are_collected() -> None:
    assert len(problems_of({f"field{number}": 1 for number in range(1000)})) == 100


READ: dict[str, tuple[object, object]] = {
    "nothing": ({}, Box()),
    "null is absent": ({"items": None, "offset": None}, Box()),
    "number for a scalar": ({"weight": 5}, Box(weight=Grams("5"))),
    "integer for a number": ({"ratio": 2}, Box(ratio=2.0)),
    "either type": ({"port": "http"}, Box(port="http")),
    "free content": ({"anything": {"x": [1, {"y": None}]}}, Box(anything={"x": [1, {"y": None}]})),
}


@pytest.mark.parametrize(("tree", "struct"), READ.values(), ids=READ)
def test_valid_json_is_decoded(tree: object, struct: object) -> None:
    assert codec.from_tree(tree, Box) == codec.decode(msgspec.json.encode(tree), Box) == struct


def test_custom_scalar_is_decoded_to_its_type_and_encoded_as_a_string() -> None:
    box = codec.decode('{"weight": "5g"}', Box)
    assert type(box.weight) is Grams
    assert (codec.encode(box), codec.to_tree(box)) == (b'{"weight":"5g"}', {"weight": "5g"})


NOT_JSON: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "invalid JSON at line 1, column 1: expecting value"),
    "truncated": (b'{"offset": 1', "invalid JSON at line 1, column 13: expecting ',' delimiter"),
    "no colon": (b'{\n"offset" 1}', "invalid JSON at line 2, column 10: expecting ':' delimiter"),
    "unterminated string": (b'{"code": "a}', "invalid JSON at line 1, column 10: unterminated string starting"),
    "second value": (b"{}\n{}", "invalid JSON at line 2, column 1: extra data"),
    "not a number": (b'{"ratio": NaN}', "invalid JSON: NaN is not a JSON number"),
    "unpaired surrogate": (b'{"code": "\\ud800"}', "invalid JSON: a string contains an unpaired surrogate"),
    "not UTF-8": (b'{"code": "\xff"}', "the text is not UTF-8: byte 11 is invalid"),
    "bottomless": (b'{"anything": ' + b'{"a":' * 100_000, "the text is nested too deeply"),
}


@pytest.mark.parametrize(("data", "message"), NOT_JSON.values(), ids=NOT_JSON)
def test_invalid_json_is_reported_as_one_problem_with_its_position(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as refusal:
        codec.decode(data, Box)
    assert refusal.value.causes == (FieldError("", message, rule="syntax"),)
