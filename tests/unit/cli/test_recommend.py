import json
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.support.commands import call_virtctl
from tests.support.manifests import write_manifest

from virtshape.api.model import JsonObject
from virtshape.cli.recommend import command, complete_preference

GROUP = "instancetype.kubevirt.io"
CLUSTER = "VirtualMachineClusterInstancetype"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def build(kind: str, name: str, namespace: str | None = None, **spec: Any) -> JsonObject:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def build_type(name: str, vcpus: int, memory: str, kind: str = CLUSTER, namespace: str | None = None) -> JsonObject:
    return build(kind, name, namespace, cpu={"guest": vcpus}, memory={"guest": memory})


def recommend(*arguments: str) -> list[str]:
    outcome = call_virtctl("recommend", *arguments, "-o", "json")
    assert outcome.status == 0, outcome.err
    return [each["name"] for each in json.loads(outcome.out)]


def read_errors(*arguments: str, status: int = 1) -> list[str]:
    outcome = call_virtctl("recommend", *arguments)
    assert (outcome.status, outcome.out) == (status, "")
    return outcome.err.splitlines()


def test_recommend_searches_the_catalog_without_a_server() -> None:
    outcome = call_virtctl("recommend", "--cpu-min", "4", "--memory-min", "8Gi", "--no-dedicated")
    assert outcome.status == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[:2] == [
        ["NAME", "VCPU", "MEMORY", "DEDICATED", "KIND"],
        ["u1.xlarge", "4", "16Gi", "false", CLUSTER],
    ]
    assert len(lines) == 6
    assert outcome.err.endswith(" more match; --all shows them\n")


def test_recommend_with_all_shows_all_matches() -> None:
    assert recommend()[0] == "u1.nano"
    everything = recommend("--all")
    assert len(everything) > 40
    assert not [name for name in everything if name.endswith(".custom")]


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["--preference", "windows.11", "--no-dedicated"], "u1.2xmedium"),
        (["--preference", "windows.11", "--preference-kind", "vmcp", "--no-dedicated"], "u1.2xmedium"),
        (["--hugepages", "--no-dedicated"], "m1.large"),
        (["--dedicated", "--hugepages=false"], "d1.nano"),
        (["--memory-min", "200Gi"], "m1.8xlarge"),
    ],
    ids=["preference", "preference of a kind", "hugepages", "dedicated without hugepages", "much memory"],
)
def test_recommend_filters_by_requirements(arguments: list[str], first: str) -> None:
    assert recommend("--catalog", *arguments)[0] == first


def test_recommend_searches_files_alone_or_with_the_catalog() -> None:
    file = write_manifest(
        "types.yaml",
        build_type("tiny", 1, "1Gi"),
        build_type("mine", 1, "2Gi", "VirtualMachineInstancetype", "dev"),
        build_type("theirs", 1, "2Gi", "VirtualMachineInstancetype", "prod"),
        build_type("u1.nano", 3, "3Gi"),
        build("VirtualMachinePreference", "hungry", requirements={"memory": {"guest": "2Gi"}}),
    )
    assert recommend("-f", file) == ["tiny", "mine", "theirs", "u1.nano"]
    assert recommend("-f", file, "-n", "dev") == ["tiny", "mine", "u1.nano"]
    kind = ("--preference", "hungry", "--preference-kind", "VirtualMachinePreference")
    assert recommend("-f", file, *kind) == ["mine", "theirs", "u1.nano"]
    both = recommend("-f", file, "--catalog", "--all")
    assert "u1.micro" in both
    assert both.count("u1.nano") == 1
    assert read_errors("-f", file, "--preference", "fedora")[0].endswith("use --catalog")


def test_recommend_supports_name_and_yaml_output() -> None:
    file = write_manifest("types.yaml", build_type("tiny", 1, "1Gi"))
    assert call_virtctl("recommend", "-f", file, "-o", "name").out == f"{CLUSTER.lower()}.{GROUP}/tiny\n"
    assert yaml.safe_load(call_virtctl("recommend", "-f", file, "-o", "yaml").out) == [
        {
            "kind": CLUSTER,
            "name": "tiny",
            "vcpus": 1,
            "memory": "1Gi",
            "dedicated": False,
            "hugepages": None,
            "gpus": 0,
        }
    ]


def test_recommend_reports_the_closest_instancetypes_if_none_matches() -> None:
    assert read_errors("--catalog", "--memory-min", "1Ti") == [
        "error: no instance type in the built-in catalog matches; the closest are",
        "  - m1.8xlarge: 256Gi of memory, at least 1Ti required",
        "  - m1.8xlarge1gi: 256Gi of memory, at least 1Ti required",
        "  - m1.4xlarge: 128Gi of memory, at least 1Ti required",
        "Relax the requirements, or create one with `virtctl create instancetype`.",
    ]


def test_recommend_reports_that_no_instancetype_has_a_size() -> None:
    file = write_manifest("types.yaml", build(CLUSTER, "open"))
    assert read_errors("-f", file) == [
        "error: no instance types with a size in the files",
        "Search elsewhere with --catalog, -f, -n or --context.",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cpu-min", "4", "--cpu-max", "2"], "--cpu-min 4 is greater than --cpu-max 2"),
        (["--memory-min", "4Gi", "--memory-max", "4G"], "--memory-min 4Gi is greater than --memory-max 4G"),
        (["--preference-kind", "vmp"], "--preference-kind requires --preference"),
        (
            ["--preference", "x", "--preference-kind", "vmf"],
            "--preference-kind: VirtualMachineInstancetype is not a preference: must be ",
        ),
        (["--memory-min", "lots"], "Invalid value for '--memory-min': expected a quantity such as 4Gi"),
        (["--cpu-min", "0"], "Invalid value for '--cpu-min': invalid number 0: must be 1-4294967295."),
    ],
    ids=["vCPUs", "memory", "no preference", "not a preference", "invalid quantity", "no vCPU"],
)
def test_invalid_recommend_command_line_is_rejected(arguments: list[str], message: str) -> None:
    assert read_errors(*arguments, status=2)[0].startswith(f"error: {message}")


def test_missing_preference_is_reported_with_similar_names() -> None:
    (error, _) = read_errors("--preference", "fedroa")
    assert error == 'error: there is no VirtualMachineClusterPreference "fedroa"; did you mean fedora?'


def test_recommend_completes_preferences() -> None:
    offered = complete_preference(click.Context(command), command.params[0], "fedora.a")
    assert [item.value for item in offered] == ["fedora.arm64"]
