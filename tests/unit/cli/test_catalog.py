import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from virtshape.cli.catalog import command, complete_series, complete_size

CUSTOM = {"o1.custom", "d1.custom", "cx1.custom", "m1.custom", "n1.custom", "rt1.custom"}


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def _documents(*arguments: str) -> list[dict[str, Any]]:
    result = _run(*arguments)
    assert result.exit_code == 0, result.output
    return list(yaml.load_all(result.stdout, yaml.CSafeLoader))


def _names(*arguments: str) -> list[str]:
    return [each["metadata"]["name"] for each in _documents(*arguments)]


def test_all_catalog_objects_are_printed_cluster_wide_by_default() -> None:
    documents = _documents()
    kinds = [each["kind"] for each in documents]
    assert kinds == ["VirtualMachineClusterInstancetype"] * 71 + ["VirtualMachineClusterPreference"] * 57
    assert {each["apiVersion"] for each in documents} == {"instancetype.kubevirt.io/v1beta2"}


def test_namespaced_catalog_objects_have_no_namespace() -> None:
    documents = _documents("--kind", "namespaced")
    assert {each["kind"] for each in documents} == {"VirtualMachineInstancetype", "VirtualMachinePreference"}
    assert not any("namespace" in each["metadata"] for each in documents)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param(["--size", "nano"], ["u1.nano", "o1.nano", "d1.nano"], id="one size of all series"),
        pytest.param(["--series", "u1", "--size", "nano"], ["u1.nano"], id="one size of one series"),
        pytest.param(
            ["--series", "m1", "--series", "u1", "--size", "nano", "--size", "large"],
            ["u1.nano", "u1.large", "m1.large"],
            id="several sizes and series",
        ),
    ],
)
def test_series_and_size_select_instancetypes(arguments: list[str], names: list[str]) -> None:
    assert _names(*arguments) == names


@pytest.mark.parametrize(
    ("arguments", "instancetypes", "preferences"),
    [
        (["--instancetypes"], 71, 0),
        (["--preferences"], 0, 57),
        (["--instancetypes", "--preferences"], 71, 57),
        (["--series", "u1"], 10, 0),
        (["--series", "u1", "--preferences"], 10, 57),
    ],
    ids=["instance types", "preferences", "both", "series", "series and preferences"],
)
def test_catalog_flags_select_instancetypes_or_preferences(
    arguments: list[str], instancetypes: int, preferences: int
) -> None:
    kinds = [each["kind"] for each in _documents(*arguments)]
    assert kinds.count("VirtualMachineClusterInstancetype") == instancetypes
    assert kinds.count("VirtualMachineClusterPreference") == preferences


def test_custom_sizes_are_omitted_at_v1beta1_with_a_note() -> None:
    result = _run("--api-version", "v1beta1")
    documents = list(yaml.load_all(result.stdout, yaml.CSafeLoader))
    assert not CUSTOM & {each["metadata"]["name"] for each in documents}
    assert {each["apiVersion"] for each in documents} == {"instancetype.kubevirt.io/v1beta1"}
    assert result.stderr.startswith("note: skipped ")
    assert all(name in result.stderr for name in CUSTOM)


@pytest.mark.parametrize(
    "arguments",
    [["--api-version", "v1beta1", "--preferences"], ["--api-version", "v1beta1", "--series", "u1"], []],
    ids=["no instance types", "no custom size", "v1beta2"],
)
def test_catalog_prints_no_note_if_no_custom_size_is_omitted(arguments: list[str]) -> None:
    assert _run(*arguments).stderr == ""


def test_catalog_in_json_is_a_list() -> None:
    printed = json.loads(_run("--series", "u1", "--size", "small", "-o", "json").stdout)
    assert (printed["apiVersion"], printed["kind"]) == ("v1", "List")
    assert [each["spec"] for each in printed["items"]] == [{"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}]


def test_catalog_table_shows_the_sizes_and_features_of_instancetypes() -> None:
    assert _run("--series", "cx1", "--size", "large1gi", "--size", "custom", "-o", "table").stdout.splitlines() == [
        "NAME           VCPUS    MEMORY   HUGEPAGES   DEDICATED   CLASS               TITLE",
        "cx1.large1gi   2        4Gi      1Gi         true        compute.exclusive   Compute with exclusive CPUs",
        "cx1.custom     custom   custom   2Mi         true        compute.exclusive   Compute with exclusive CPUs",
    ]


def test_instancetypes_and_preferences_are_separate_tables() -> None:
    first, second = _run("-o", "table").stdout.split("\n\n")
    assert first.startswith("NAME ")
    assert second.startswith("NAME ")
    assert "linux                      <none>      <none>       <none>   linux     Linux" in second.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--series", "cx"], 'unknown series "cx"; did you mean "cx1"?', id="similar series"),
        pytest.param(
            ["--series", "zz"], 'unknown series "zz"; must be one of u1, o1, d1, cx1, m1, n1, rt1', id="unknown series"
        ),
        pytest.param(["--size", "mediun"], 'unknown size "mediun"; did you mean "medium"', id="similar size"),
        pytest.param(
            ["--series", "n1", "--size", "nano"],
            'unknown size "nano"; must be one of medium, large, xlarge, 2xlarge, 4xlarge, 8xlarge, custom',
            id="size of other series",
        ),
        pytest.param(
            ["--size", "custom", "--api-version", "v1beta1"],
            "custom sizes have no vCPUs and memory, but v1beta1 requires them; use --api-version v1beta2",
            id="only custom sizes at v1beta1",
        ),
    ],
)
def test_invalid_catalog_selection_is_rejected_with_the_valid_values(arguments: list[str], message: str) -> None:
    result = _run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr


def test_shell_completion_offers_series_and_sizes() -> None:
    context = command.make_context("catalog", ["--series", "n1"])
    parameter = command.params[0]
    assert [item.value for item in complete_series(context, parameter, "c")] == ["cx1"]
    assert [item.value for item in complete_size(context, parameter, "")][:2] == ["medium", "large"]
