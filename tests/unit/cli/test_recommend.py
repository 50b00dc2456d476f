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
    lines = [line.split("   ") for line in outcome.out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[:2] == [
        ["NAME", "VCPU", "MEMORY", "DEDICATED", "WASTE", "KIND", "REASON"],
        [
            "u1.xlarge",
            "4",
            "16Gi",
            "false",
            "0% CPU, 50% memory",
            CLUSTER,
            "4 of 4 vCPUs needed; 8Gi of 16Gi needed",
        ],
    ]
    assert len(lines) == 6
    assert outcome.err.endswith(" more instance types match; --all shows them\n")


def test_recommend_with_all_shows_all_matches() -> None:
    assert recommend()[0] == "u1.nano"
    everything = recommend("--all")
    assert len(everything) > 40
    assert not [name for name in everything if name.endswith(".custom")]


def test_recommend_includes_custom_sizes_on_request() -> None:
    arguments = ("--catalog", "--cpu-min", "5", "--memory-min", "12Gi", "--no-dedicated")
    outcome = call_virtctl("recommend", *arguments, "--custom", "-o", "json")
    first, *_ = json.loads(outcome.out)
    assert first == {
        "kind": CLUSTER,
        "name": "o1.custom",
        "vcpus": 5,
        "memory": "12Gi",
        "custom": True,
        "dedicated": False,
        "hugepages": None,
        "gpus": 0,
        "waste": {"cpu": 0, "memory": 0},
        "reason": "5 of 5 vCPUs needed; 12Gi of 12Gi needed; 50% of the memory overcommitted",
    }
    assert recommend(*arguments)[0] == "u1.2xlarge"


def test_recommend_suggests_a_custom_size_if_nothing_else_matches() -> None:
    lines = read_errors("--catalog", "--cpu-min", "32", "--memory-min", "300Gi")
    assert lines[0] == "error: no instance type in the built-in catalog matches; the closest are"
    assert lines[-1] == "With --custom, d1.custom matches, for a VM with 32 vCPUs and 300Gi."


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["--preference", "windows.11", "--no-dedicated"], "u1.2xmedium"),
        (["--preference", "windows.11", "--preference-kind", "vmcp", "--no-dedicated"], "u1.2xmedium"),
        (["--hugepages", "--no-dedicated"], "m1.large"),
        (["--dedicated", "--hugepages=false"], "d1.nano"),
        (["--memory-min", "200Gi"], "m1.8xlarge"),
        (["--like", "aws:m5.large"], "u1.large"),
        (["--like", "aws:c5.xlarge", "--no-dedicated"], "u1.xlarge"),
        (["--like", "azure:Standard_E4s_v5"], "m1.xlarge"),
        (["--like", "gcp:e2-standard-2", "--memory-min", "9Gi", "--hugepages=false"], "u1.xlarge"),
        (["--usage", "cpu=2.3,memory=6Gi", "--no-dedicated"], "u1.xlarge"),
        (["--usage", "cpu=2.3,memory=6Gi", "--headroom", "200%", "--no-dedicated"], "u1.2xlarge"),
        (["--usage", "memory=6Gi", "--headroom", "0"], "u1.large"),
        (["--cpu-min", "3", "--memory-min", "10Gi", "--max-waste", "40%"], "u1.xlarge"),
    ],
    ids=[
        "preference",
        "preference of a kind",
        "hugepages",
        "dedicated without hugepages",
        "much memory",
        "like m5",
        "like c5",
        "like E4s",
        "flags override the size of a cloud",
        "usage",
        "usage with headroom",
        "usage of memory",
        "maximum waste",
    ],
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


def test_recommend_omits_deprecated_and_retired_instancetypes() -> None:
    small, u1, tiny = build_type("small", 1, "1Gi"), build_type("u1.nano", 1, "512Mi"), build_type("tiny", 1, "1Gi")
    small["metadata"]["labels"] = {f"{GROUP}/deprecated": "true"}
    u1["metadata"]["labels"] = {"virtshape.io/lifecycle": "retired"}
    write_manifest("types.yaml", small, u1, tiny)
    assert recommend("-f", "types.yaml") == ["tiny"]
    assert "u1.nano" not in recommend("-f", "types.yaml", "--catalog", "--all")


def test_recommend_supports_name_and_yaml_output() -> None:
    file = write_manifest("types.yaml", build_type("tiny", 1, "1Gi"))
    assert call_virtctl("recommend", "-f", file, "-o", "name").out == f"{CLUSTER.lower()}.{GROUP}/tiny\n"
    assert yaml.safe_load(call_virtctl("recommend", "-f", file, "-o", "yaml").out) == [
        {
            "kind": CLUSTER,
            "name": "tiny",
            "vcpus": 1,
            "memory": "1Gi",
            "custom": False,
            "dedicated": False,
            "hugepages": None,
            "gpus": 0,
            "waste": {"cpu": None, "memory": None},
            "reason": "",
        }
    ]


def test_recommend_reports_the_closest_instancetypes_if_none_matches() -> None:
    assert read_errors("--catalog", "--memory-min", "1Ti") == [
        "error: no instance type in the built-in catalog matches; the closest are",
        "  - m1.8xlarge: 256Gi of memory, at least 1Ti required",
        "  - m1.8xlarge1gi: 256Gi of memory, at least 1Ti required",
        "  - m1.4xlarge: 128Gi of memory, at least 1Ti required",
        "Relax the requirements, or create an instance type with `virtctl create instancetype`.",
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
        (
            ["--max-waste", "some"],
            "Invalid value for '--max-waste': invalid percentage \"some\": must be from 0% to 100%.",
        ),
        (
            ["--max-waste", "101%"],
            "Invalid value for '--max-waste': invalid percentage \"101%\": must be from 0% to 100%.",
        ),
        (["--usage", "disk=1"], "Invalid value for '--usage': invalid usage \"disk=1\": must be like "),
        (["--usage", "cpu=1,cpu=2"], "Invalid value for '--usage': invalid usage \"cpu=1,cpu=2\": must be like "),
        (["--usage", "cpu=0"], "Invalid value for '--usage': cpu: invalid amount \"0\": must be greater than 0."),
        (["--usage", "memory=x"], "Invalid value for '--usage': memory: "),
        (["--like", "aws:m5.larg"], "Invalid value for '--like': unknown instance type \"aws:m5.larg\"; did you mean "),
        (
            ["--like", "x"],
            "Invalid value for '--like': unknown instance type \"x\"; must start with aws:, azure:, gcp:",
        ),
        (["--like", "aws:m5.large", "--usage", "cpu=1"], "--like and --usage are mutually exclusive"),
        (["--like", "aws:m5.large", "--for-vm", "web"], "--like and --for-vm are mutually exclusive"),
        (["--rewrite"], "--rewrite requires --for-vm"),
        (["--for-vm", "web", "--rewrite", "--custom"], "--rewrite and --custom are mutually exclusive"),
        (["--for-vm", "web", "--rewrite", "-o", "name"], "--rewrite prints a VM: -o must be yaml or json"),
    ],
    ids=[
        "vCPUs",
        "memory",
        "no preference",
        "not a preference",
        "invalid quantity",
        "no vCPU",
        "no percentage",
        "more than all",
        "other resource",
        "resource twice",
        "no usage",
        "no quantity of usage",
        "misspelt cloud size",
        "unknown cloud",
        "cloud and usage",
        "cloud and VM",
        "rewrite without a VM",
        "rewrite with a custom size",
        "name of a rewritten VM",
    ],
)
def test_invalid_recommend_command_line_is_rejected(arguments: list[str], message: str) -> None:
    assert read_errors(*arguments, status=2)[0].startswith(f"error: {message}")


def test_missing_preference_is_reported_with_similar_names() -> None:
    (error, _) = read_errors("--preference", "fedroa")
    assert error == 'error: there is no VirtualMachineClusterPreference "fedroa"; did you mean fedora?'


def test_recommend_completes_preferences() -> None:
    offered = complete_preference(click.Context(command), command.params[0], "fedora.a")
    assert [item.value for item in offered] == ["fedora.arm64"]


def build_vm(domain: JsonObject, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"runStrategy": "Always", **spec, "template": {"spec": {"domain": {"devices": {}, **domain}}}},
    }


PLAIN = build_vm({"cpu": {"cores": 4}, "memory": {"guest": "10Gi"}}, preference={"name": "fedora"})


def test_recommend_with_a_gpu_excludes_instancetypes_without_one() -> None:
    gpus = [{"name": "g", "deviceName": "maker.com/gpu"}]
    seeing = build(CLUSTER, "seeing", cpu={"guest": 4}, memory={"guest": "16Gi"}, gpus=gpus)
    file = write_manifest("types.yaml", build_type("plain", 4, "16Gi"), seeing)
    assert recommend("-f", file, "--gpu") == ["seeing"]
    assert recommend("-f", file, "--like", "aws:g4dn.xlarge") == ["seeing"]


def test_recommend_for_a_plain_vm_uses_its_size_and_omits_special_instancetypes() -> None:
    file = write_manifest("vm.yaml", PLAIN)
    outcome = call_virtctl("recommend", "--for-vm", "web", "-f", file, "--catalog", "-o", "json")
    first, *others = json.loads(outcome.out)
    assert (first["name"], first["waste"]) == ("u1.xlarge", {"cpu": 0.0, "memory": 37.5})
    assert not [each for each in others if each["dedicated"] or each["hugepages"]]


@pytest.mark.parametrize(
    ("vm", "arguments", "first"),
    [
        (build_vm({}, instancetype={"name": "d1.large"}), [], "d1.large"),
        (build_vm({}, instancetype={"name": "u1.2xlarge"}), ["--usage", "cpu=0.4,memory=1Gi"], "u1.small"),
        (PLAIN, ["--memory-min", "20Gi"], "u1.2xlarge"),
        (PLAIN, ["--dedicated"], "d1.xlarge"),
        (build_vm({"memory": {"guest": "4Gi"}}, preference={"name": "windows.11"}), [], "u1.2xmedium"),
        (build_vm({"cpu": {"cores": 2, "dedicatedCpuPlacement": True}, "memory": {"guest": "4Gi"}}), [], "u1.2xmedium"),
        (build_vm({"resources": {"requests": {"memory": "3Gi"}}}), [], "u1.medium"),
    ],
    ids=["same instance type", "usage", "minimum", "feature", "requirements", "own placement", "memory request"],
)
def test_recommend_for_a_vm_considers_its_spec_and_the_filters(
    vm: JsonObject, arguments: list[str], first: str
) -> None:
    file = write_manifest("vm.yaml", vm)
    assert recommend("--for-vm", "web", "-f", file, "--catalog", *arguments)[0] == first


def test_recommend_rewrites_a_vm_to_use_the_best_instancetype() -> None:
    file = write_manifest("vm.yaml", PLAIN | {"status": {"ready": True}})
    outcome = call_virtctl("recommend", "--for-vm", "web", "-f", file, "--catalog", "--rewrite")
    assert outcome.tree == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "runStrategy": "Always",
            "preference": {"name": "fedora"},
            "instancetype": {"kind": CLUSTER, "name": "u1.xlarge"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }
    assert outcome.err.splitlines() == [
        "web uses u1.xlarge, without spec.template.spec.domain.cpu.cores, spec.template.spec.domain.memory.guest",
        "warning: the guest changes: spec.template.spec.domain.cpu.sockets: 1 -> 4",
        "warning: the guest changes: spec.template.spec.domain.cpu.cores: 4 -> 1",
        "warning: the guest changes: spec.template.spec.domain.memory.guest: 10Gi -> 16Gi",
        "warning: the guest changes: spec.template.spec.domain.resources.requests[memory]: 10Gi -> 16Gi",
    ]
    result = write_manifest("rewritten.yaml", outcome.tree)
    assert call_virtctl("expand", "-f", result).template["domain"]["memory"] == {"guest": "16Gi"}


def test_recommend_does_not_rewrite_a_vm_with_a_flavor() -> None:
    flavor = {"apiVersion": "flavor.kubevirt.io/v1alpha1", "kind": "VirtualMachineClusterFlavor"}
    file = write_manifest(
        "vm.yaml",
        {**flavor, "metadata": {"name": "small"}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}},
        build_vm({}, flavor={"name": "small"}),
    )
    errors = read_errors("--for-vm", "web", "-f", file, "--catalog", "--rewrite")
    assert errors[0] == "error: web uses a flavor and cannot be rewritten"


def test_recommend_reports_a_missing_or_ambiguous_vm_in_the_files() -> None:
    file = write_manifest("vm.yaml", PLAIN)
    assert read_errors("--for-vm", "wep", "-f", file)[0] == (
        'error: VM "wep" not found in the files; did you mean "web"?'
    )
    twice = write_manifest("twice.yaml", PLAIN, PLAIN)
    assert read_errors("--for-vm", "web", "-f", twice)[0].startswith('error: VM "web" is ambiguous: ')


def test_recommend_for_a_vm_requires_a_server_or_files() -> None:
    assert read_errors("--for-vm", "web")[0] == "error: no server is configured"
    assert read_errors("--for-vm", "web", "--catalog")[0] == "error: no server is configured"


@pytest.mark.parametrize(
    ("flag", "incomplete", "completed"),
    [
        ("--usage", "", ["cpu=", "memory="]),
        ("--usage", "cpu=2,m", ["cpu=2,memory="]),
        ("--like", "a", ["aws:", "azure:"]),
        ("--like", "aws:t2.m", ["aws:t2.micro", "aws:t2.medium"]),
    ],
)
def test_recommend_completes_usage_and_cloud_sizes(flag: str, incomplete: str, completed: list[str]) -> None:
    parameter = next(param for param in command.params if flag in param.opts)
    offered = parameter.shell_complete(click.Context(command), incomplete)
    assert [item.value for item in offered] == completed
