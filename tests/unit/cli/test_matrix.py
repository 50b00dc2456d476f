import csv
import io
import json
from pathlib import Path
from typing import Any

import click
import pytest
from lxml import html
from tests.support.commands import call_virtshape
from tests.support.manifests import write_manifest

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import LIFECYCLE_LABEL
from virtshape.cli.matrix import command, complete_instancetype, complete_preference, split_columns

GROUP = "instancetype.kubevirt.io"
TYPE, PREFERENCE = "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"
FEW_VCPUS = "insufficient CPU resources of 1 vCPU provided by instance type, preference requires 2 vCPU"
LITTLE_MEMORY = "insufficient Memory resources of 1Gi provided by instance type, preference requires 2Gi"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def build(kind: str, name: str, namespace: str | None = None, **spec: Any) -> JsonObject:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def build_type(name: str, vcpus: int, memory: str, kind: str = TYPE, namespace: str | None = None) -> JsonObject:
    return build(kind, name, namespace, cpu={"guest": vcpus}, memory={"guest": memory})


@pytest.fixture
def file() -> str:
    """Write two instance types and two preferences, one of which requires the larger type; return the path."""
    demanding = build(PREFERENCE, "demanding", requirements={"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}})
    objects = [build_type("small", 1, "1Gi"), build_type("large", 2, "4Gi"), build(PREFERENCE, "any"), demanding]
    return write_manifest("objects.yaml", *objects)


def print_matrix(*arguments: str) -> str:
    outcome = call_virtshape("matrix", *arguments)
    assert outcome.status == 0, outcome.err
    return outcome.out


def read_error(*arguments: str) -> str:
    outcome = call_virtshape("matrix", *arguments)
    assert (outcome.status, outcome.out) == (1, "")
    return outcome.err


def read_pairs(*arguments: str) -> list[JsonObject]:
    items: list[JsonObject] = json.loads(print_matrix(*arguments, "-o", "json"))["items"]
    return items


def test_matrix_table_refers_to_numbered_reasons(file: str) -> None:
    assert print_matrix("-f", file).splitlines() == [
        "INSTANCETYPE   any   demanding",
        "small          yes   no (1, 2)",
        "large          yes   yes",
        "",
        "3 of 4 pairs can be used together",
        f"  1  {FEW_VCPUS}",
        f"  2  {LITTLE_MEMORY}",
    ]


def test_matrix_in_csv_has_the_reasons_in_the_cells(file: str) -> None:
    assert list(csv.reader(io.StringIO(print_matrix("-f", file, "-o", "csv")))) == [
        ["instancetype", "any", "demanding"],
        ["small", "yes", f"no: {FEW_VCPUS}; {LITTLE_MEMORY}"],
        ["large", "yes", "yes"],
    ]


def test_matrix_in_json_has_the_format_of_the_check_compatibility_api(file: str) -> None:
    pairs = read_pairs("-f", file)
    assert [(each["instancetype"]["name"], each["preference"]["name"], each["compatible"]) for each in pairs] == [
        ("small", "any", True),
        ("small", "demanding", False),
        ("large", "any", True),
        ("large", "demanding", True),
    ]
    field, reason = "spec.instancetype", "FieldValueNotFound"
    assert pairs[1] == {
        "instancetype": {"name": "small", "kind": TYPE},
        "preference": {"name": "demanding", "kind": PREFERENCE},
        "compatible": False,
        "problems": [
            {"field": field, "reason": reason, "message": FEW_VCPUS},
            {"field": field, "reason": reason, "message": LITTLE_MEMORY},
        ],
    }


def test_matrix_html_page_has_the_reasons_why_pairs_are_incompatible(file: str) -> None:
    page = html.document_fromstring(print_matrix("-f", file, "-o", "html"))
    rows = [["".join(map(str, cell.itertext())) for cell in row.iter("th", "td")] for row in page.iter("tr")]
    assert rows == [
        ["Instance type", "any", "demanding"],
        ["small", "yes", f"no{FEW_VCPUS}{LITTLE_MEMORY}"],
        ["large", "yes", "yes"],
    ]
    assert [item.text for item in page.iter("li")] == [FEW_VCPUS, LITTLE_MEMORY]
    assert not list(page.iter("script", "link", "img"))


def test_matrix_html_page_escapes_names() -> None:
    file = write_manifest("objects.yaml", build_type("<script>", 1, "1Gi"), build(PREFERENCE, "<b>&"))
    page = html.document_fromstring(print_matrix("-f", file, "-o", "html"))
    assert ["".join(map(str, cell.itertext())) for cell in page.iter("th")] == ["Instance type", "<b>&", "<script>"]


def test_matrix_uses_the_catalog_without_files_or_a_server() -> None:
    assert len(read_pairs()) == len(read_pairs("--catalog")) == 71 * 57


def test_matrix_prefers_objects_in_files_over_the_catalog() -> None:
    file = write_manifest("objects.yaml", build_type("u1.nano", 64, "64Gi"))
    only = ("--instancetype", "u1.nano", "--preference", "windows.11")
    (built_in,) = read_pairs("--catalog", *only)
    (own,) = read_pairs("-f", file, "--catalog", *only)
    assert (built_in["compatible"], own["compatible"]) == (False, True)


def test_matrix_patterns_select_rows_and_columns() -> None:
    pairs = read_pairs("--catalog", "--instancetype", "u1.nano", "--instancetype", "cx1.m*", "--preference", "rhel.?")
    assert {each["instancetype"]["name"] for each in pairs} == {"u1.nano", "cx1.medium", "cx1.medium1gi"}
    assert {each["preference"]["name"] for each in pairs} == {"rhel.7", "rhel.8", "rhel.9"}


def test_pattern_without_a_match_is_an_error_with_a_similar_name() -> None:
    expected = 'error: no preference in the built-in catalog matches "windows11"; did you mean "windows.11"'
    assert read_error("--catalog", "--preference", "windows11").startswith(expected)


def test_files_without_preferences_are_an_error_with_the_next_step(file: str) -> None:
    alone = write_manifest("types.yaml", build_type("small", 1, "1Gi"))
    lines = read_error("-f", alone).splitlines()
    assert lines[0] == "error: no preferences in the files"
    assert "--catalog" in lines[1]
    assert "no preferences" not in print_matrix("-f", alone, "-f", file, "--instancetype", "large")


def test_retired_instancetype_is_shown_with_the_reason(file: str) -> None:
    retired = build_type("old", 8, "8Gi")
    retired["metadata"]["labels"] = {LIFECYCLE_LABEL: "retired"}
    other = write_manifest("retired.yaml", retired)
    pairs = read_pairs("-f", file, "-f", other, "--instancetype", "old")
    message = f'{TYPE} "old" is retired: new VMs cannot use it'
    assert [[each["message"] for each in pair["problems"]] for pair in pairs] == [[message], [message]]


def test_different_objects_with_the_same_name_in_the_files_are_an_error(file: str) -> None:
    other = write_manifest("other.yaml", build_type("small", 3, "1Gi"))
    assert "is also defined in objects.yaml:1:1 and differs" in read_error("-f", file, "-f", other)


def test_matrix_shows_names_that_occur_twice_with_kind_and_namespace() -> None:
    namespaced = "VirtualMachineInstancetype"
    types = [build_type("small", 1, "1Gi"), build_type("small", 1, "1Gi", namespaced, "dev")]
    file = write_manifest("objects.yaml", *types, build(PREFERENCE, "any"))
    lines = print_matrix("-f", file).splitlines()
    names = [f"{TYPE.lower()}/small", f"dev/{namespaced.lower()}/small"]
    assert [line.split()[0] for line in lines[1:3]] == names
    assert [each["instancetype"] for each in read_pairs("-f", file, "-n", "dev")] == [
        {"name": "small", "kind": TYPE},
        {"name": "small", "kind": namespaced, "namespace": "dev"},
    ]
    assert len(read_pairs("-f", file, "-n", "prod")) == 1


@pytest.mark.parametrize(("flags", "compatible"), [((), False), (("--architecture", "arm64"), True)])
def test_matrix_checks_compatibility_for_the_given_architecture(flags: tuple[str, ...], compatible: bool) -> None:
    arm = build(PREFERENCE, "arm", requirements={"architecture": "arm64"})
    file = write_manifest("objects.yaml", build_type("small", 1, "1Gi"), arm)
    (pair,) = read_pairs("-f", file, *flags)
    assert pair["compatible"] is compatible


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(None, [(0, 4)]), (100, [(0, 4)]), (16, [(0, 2), (2, 4)]), (1, [(0, 1), (1, 2), (2, 3), (3, 4)])],
)
def test_matrix_is_split_into_tables_that_fit_the_terminal(limit: int | None, expected: list[tuple[int, int]]) -> None:
    assert list(split_columns([5, 5, 5, 5], limit)) == expected


def test_shell_completion_offers_catalog_names_without_a_server() -> None:
    context = click.Context(command)
    sizes = complete_instancetype(context, command.params[0], "u1.2")
    assert [item.value for item in sizes] == ["u1.2xmedium", "u1.2xlarge"]
    preferences = complete_preference(context, command.params[0], "windows.11")
    assert [item.value for item in preferences] == ["windows.11", "windows.11.virtio"]
