"""Label selectors match the same objects as in Kubernetes, and invalid selectors get the same messages."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.selectors.labelselector import (
    Labels,
    compile_label_selector,
    compile_requirements,
    parse_label_selector,
    read_selector,
)

OBJECTS: dict[str, Labels] = {
    "1": {"scn": "ls", "env": "prod", "tier": "a", "n": "5"},
    "2": {"scn": "ls", "env": "dev", "n": "-7"},
    "3": {"scn": "ls", "tier": "b", "n": "many"},
    "4": {"env": "", "example.com/os": "x"},
}

SELECTED: dict[str, str] = {
    "": "1234",
    "  ": "1234",
    "scn=ls,env=prod": "1",
    "scn=ls,env==prod": "1",
    "scn = ls , env == prod": "1",
    "scn=ls,env!=prod": "23",
    "scn=ls,env in (prod,dev)": "12",
    "scn=ls,env in ( prod , dev )": "12",
    "scn=ls,env notin (prod)": "23",
    "scn=ls,env": "12",
    "scn=ls,!env": "3",
    "! env": "3",
    "scn=ls,tier,env": "1",
    "scn=ls,tier in (a,b),env!=dev": "13",
    "env=": "4",
    "env=,example.com/os": "4",
    "env!=": "123",
    "env in ()": "4",
    "env in (,prod)": "14",
    "env in (prod,)": "14",
    "env in (prod,,dev)": "124",
    "n>4": "1",
    "n>5": "",
    "n<5": "2",
    "n < 6": "12",
    "in": "",
    "in=in": "",
    "scn=notin": "",
    "scn=ls,scn=other": "",
    "example.com/os=x": "4",
}

NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

REFUSED: dict[str, str] = {
    "env in prod": "unable to parse requirement: found 'prod' expected: '('",
    "bad key!=1": "unable to parse requirement: found 'key', expected: in, notin, =, ==, !=, gt, lt",
    "a=b c": "found 'c', expected: ',' or 'end of string'",
    "a,": "found '', expected: identifier after ','",
    "a,,b": "found ',', expected: identifier after ','",
    "=a": "found '=', expected: !, identifier, or 'end of string'",
    "!=a": "found '!=', expected: !, identifier, or 'end of string'",
    "!": "unable to parse requirement: found '', expected: identifier",
    "!a=b": "found '=', expected: ',' or 'end of string'",
    "a=(": "unable to parse requirement: found '(', expected: identifier",
    "a in (": "unable to parse requirement: found '', expected: ',', ')' or identifier",
    "a in (=)": "unable to parse requirement: found '=', expected: ',', ')' or identifier",
    "a in (b": "unable to parse requirement: found '', expected: ',' or ')'",
    "a in (b c)": "unable to parse requirement: found 'c', expected: ',' or ')'",
    "a>x": (
        'unable to parse requirement: values[0]: Invalid value: "x": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    ),
    "-a=b": f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME_PART}',
    "a=b:c": f'unable to parse requirement: values[0][a]: Invalid value: "b:c": {LABEL_VALUE}',
}


@pytest.mark.parametrize(("text", "expected"), SELECTED.items(), ids=SELECTED)
def test_label_selector_matches_as_in_kubernetes(text: str, expected: str) -> None:
    matches = compile_label_selector(text)
    assert "".join(name for name, labels in OBJECTS.items() if matches(labels)) == expected


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_invalid_label_selector_is_rejected(text: str, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_label_selector(text)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)


def expression(key: str, operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


READ: dict[str, tuple[JsonObject, str]] = {
    "empty": ({}, "1234"),
    "nulls": ({"matchLabels": None, "matchExpressions": None}, "1234"),
    "labels": ({"matchLabels": {"scn": "ls", "env": "dev"}}, "2"),
    "In": (expression("env", "In", "dev", ""), "24"),
    "NotIn": (expression("env", "NotIn", "dev", ""), "13"),
    "Exists": (expression("tier", "Exists"), "13"),
    "DoesNotExist": (expression("tier", "DoesNotExist"), "24"),
    "both": ({"matchLabels": {"scn": "ls"}, **expression("env", "Exists")}, "12"),
}

UNREADABLE: dict[str, JsonObject] = {
    "unknown operator": expression("env", "Like", "x"),
    "no operator": {"matchExpressions": [{"key": "env"}]},
    "no key": {"matchExpressions": [{"operator": "Exists"}]},
    "In nothing": expression("env", "In"),
    "Exists with a value": expression("env", "Exists", "x"),
    "bad key": {"matchLabels": {"a/b/c": "x"}},
    "bad value": {"matchLabels": {"a": "x y"}},
}


@pytest.mark.parametrize(("selector", "expected"), READ.values(), ids=READ)
def test_label_selector_object_is_parsed(selector: JsonObject, expected: str) -> None:
    matches = compile_requirements(read_selector(selector))
    assert "".join(name for name, labels in OBJECTS.items() if matches(labels)) == expected


@pytest.mark.parametrize("selector", UNREADABLE.values(), ids=UNREADABLE)
def test_invalid_label_selector_object_is_rejected(selector: JsonObject) -> None:
    with pytest.raises(StatusError) as caught:
        read_selector(selector)
    assert caught.value.code == 400


@given(st.text("ab=!<>(), in", max_size=12))
def test_arbitrary_label_selector_is_parsed_or_rejected(text: str) -> None:
    with suppress(StatusError):
        compile_label_selector(text)({"a": "b"})


def test_long_row_of_spaces_in_a_label_selector_is_parsed_in_linear_time() -> None:
    began = time.process_time()
    assert compile_label_selector("a=b" + " " * 60_000)({"a": "b"})
    assert time.process_time() - began < 1  # it took a minute and a half
