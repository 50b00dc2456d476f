import json

import click
import pytest
from tests.support.commands import call_virtshape

from virtshape.api.model import JsonObject
from virtshape.cli.schema import command, complete_kind, complete_version


def print_schema(*arguments: str) -> JsonObject:
    outcome = call_virtshape("schema", *arguments)
    assert outcome.status == 0, outcome.err
    tree: JsonObject = json.loads(outcome.out)
    return tree


def test_schema_without_a_kind_is_for_all_kinds_that_affect_vms() -> None:
    schema = print_schema()
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    names = schema["properties"]["kind"]["anyOf"][0]["enum"]
    assert {"VirtualMachine", "VirtualMachinePreference", "DataVolume", "PersistentVolumeClaim"} <= set(names)


@pytest.mark.parametrize("name", ["VirtualMachine", "virtualmachines", "vm", "VM"])
def test_kind_is_accepted_in_the_spellings_of_kubectl(name: str) -> None:
    schema = print_schema(name)
    assert schema["title"] == "VirtualMachine"
    assert schema["properties"]["kind"]["enum"] == ["VirtualMachine"]
    assert schema["properties"]["apiVersion"]["enum"] == ["kubevirt.io/v1", "kubevirt.io/v1alpha3"]


def test_api_version_flag_selects_the_schema_of_one_version() -> None:
    schema = print_schema("vmpref", "--api-version", "instancetype.kubevirt.io/v1beta1")
    assert schema["properties"]["apiVersion"]["enum"] == ["instancetype.kubevirt.io/v1beta1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["VirtualMachin"], 'error: unknown kind "VirtualMachin"; did you mean "VirtualMachine"'),
        (["kv", "--api-version", "v1"], 'error: unknown API version "v1": must be one of kubevirt.io/v1, kubevirt.io'),
    ],
    ids=["kind", "version"],
)
def test_schema_of_an_unknown_kind_or_version_is_an_error(arguments: list[str], message: str) -> None:
    outcome = call_virtshape("schema", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(message)


def test_shell_completion_offers_kinds_and_versions() -> None:
    context = click.Context(command)
    kinds = [item.value for item in complete_kind(context, command.params[0], "virtualmachinef")]
    assert kinds == ["VirtualMachineFlavor"]
    context.params = {"kind": "vmpref"}
    versions = [item.value for item in complete_version(context, command.params[1], "instancetype.kubevirt.io/v1b")]
    assert versions == ["instancetype.kubevirt.io/v1beta2", "instancetype.kubevirt.io/v1beta1"]
