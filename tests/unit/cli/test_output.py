import json

import pytest
import yaml

from virtshape.api.meta import ObjectMeta
from virtshape.cli.output import print_object, print_objects, print_table

FIRST, SECOND = ObjectMeta(name="a"), ObjectMeta(name="b", labels={"x": "y"})


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_command_prints_an_object_in_its_wire_format(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_object(SECOND, output)
    text = capsys.readouterr().out
    assert yaml.safe_load(text) == {"name": "b", "labels": {"x": "y"}}
    assert text.endswith("\n")


def test_several_printed_objects_are_yaml_documents(capsys: pytest.CaptureFixture[str]) -> None:
    print_objects([FIRST, SECOND])
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == [
        {"name": "a"},
        {"name": "b", "labels": {"x": "y"}},
    ]


def test_printed_objects_are_a_json_list(capsys: pytest.CaptureFixture[str]) -> None:
    print_objects([FIRST], "json")
    assert json.loads(capsys.readouterr().out) == {"apiVersion": "v1", "kind": "List", "items": [{"name": "a"}]}


def test_table_columns_are_as_wide_as_their_longest_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["NAME", "VCPUS"], [["u1.medium", 1], ["x", 16]])
    assert capsys.readouterr().out == "NAME        VCPUS\nu1.medium   1\nx           16\n"
