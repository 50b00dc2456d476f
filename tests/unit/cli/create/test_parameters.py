from dataclasses import dataclass

import pytest

from virtshape.api.quantity import Quantity
from virtshape.cli.create.parameters import Label, ParameterError, parse_parameters, read_quantity, required, split_name


@dataclass(frozen=True)
class Sample:
    src: str = required()
    name: Label | None = None
    note: str | None = None
    size: Quantity | None = None
    bootorder: int | None = None
    headers: list[str] | None = None


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        pytest.param("src:a", Sample(src="a"), id="one"),
        pytest.param("src:http://h:80/a?b=c", Sample(src="http://h:80/a?b=c"), id="colons in a value"),
        pytest.param("bootorder:01,src:a", Sample(src="a", bootorder=1), id="number"),
        pytest.param("src:a,size:1024Mi", Sample(src="a", size=Quantity("1Gi")), id="quantity"),
        pytest.param("src:a,headers:x: 1;y: 2", Sample(src="a", headers=["x: 1", "y: 2"]), id="list"),
        pytest.param("src:a,note:", Sample(src="a"), id="empty value"),
        pytest.param("src:a,src:b", Sample(src="b"), id="last value wins"),
    ],
)
def test_parameters_of_a_flag_are_parsed_into_a_dataclass(text: str, sample: Sample) -> None:
    assert parse_parameters(text, Sample) == sample


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("", ["the value is empty; write key:value,key:value"], id="empty"),
        pytest.param("a,src:b,", ['"a" has no colon', '"" has no colon'], id="no colon"),
        pytest.param("src:a,siz:1Gi", ['unknown parameter "siz"; did you mean "size"?'], id="misspelled"),
        pytest.param("src:a,Src:b", ['unknown parameter "Src"; did you mean "src"?'], id="case matters"),
        pytest.param("src:a,qqq:b", ["must be one of src, name, note, size, bootorder, headers"], id="unknown"),
        pytest.param("src:", ["src is required"], id="required but empty"),
        pytest.param("src:a,name:", ['name: invalid volume name ""'], id="empty name"),
        pytest.param("src:a,bootorder:-1", ['bootorder: invalid number "-1": must be an integer'], id="negative"),
        pytest.param("src:a,bootorder:4294967296", ["must be an integer"], id="too large"),
        pytest.param(
            "bootorder:x,size:y,z:1",
            ['bootorder: invalid number "x"', "size: expected a quantity", 'unknown parameter "z"', "src is required"],
            id="several problems",
        ),
    ],
)
def test_all_problems_of_a_parameter_flag_are_reported(text: str, problems: list[str]) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_parameters(text, Sample)
    assert len(caught.value.problems) == len(problems)
    for problem, expected in zip(caught.value.problems, problems, strict=True):
        assert expected in problem


@pytest.mark.parametrize(("text", "parts"), [("b", ("", "b")), ("a/b", ("a", "b")), ("/b", ("", "b"))])
def test_object_name_is_split_at_a_slash(text: str, parts: tuple[str, str]) -> None:
    assert split_name(text) == parts


@pytest.mark.parametrize("text", ["", "/", "a/", "a/b/c"])
def test_empty_object_name_or_two_slashes_are_rejected(text: str) -> None:
    with pytest.raises(ParameterError):
        split_name(text)


@pytest.mark.parametrize("text", ["a", "0", "a-b", "x" * 63])
def test_valid_dns_label_is_unchanged(text: str) -> None:
    assert Label(text) == text


@pytest.mark.parametrize("text", ["", "A", "a.b", "-a", "a-", "a_b", "ä", "a\n", "x" * 64])
def test_invalid_dns_label_is_rejected(text: str) -> None:
    with pytest.raises(ParameterError):
        Label(text)


@pytest.mark.parametrize("text", ["", "x", " 1Gi", "1Gi ", "1 Gi"])
def test_invalid_quantity_is_rejected(text: str) -> None:
    with pytest.raises(ParameterError):
        read_quantity(text)
