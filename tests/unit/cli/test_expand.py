import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.commands import CommandResult, call_virtctl
from tests.support.manifests import write_manifest

from virtshape.api.model import JsonObject

LABEL = "instancetype.kubevirt.io/default-instancetype"
DOMAIN = "spec.template.spec.domain"
INSTANCETYPES = "virtualmachineclusterinstancetypes.instancetype.kubevirt.io"
PREFERENCES = "virtualmachineclusterpreferences.instancetype.kubevirt.io"


def build_vm(name: str = "web", domain: JsonObject | None = None, **spec: Any) -> JsonObject:
    shaped = {"devices": {}, **(domain or {})}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", **spec, "template": {"spec": {"domain": shaped}}},
    }


def build_type(name: str = "small", memory: str = "2Gi", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": 2}, "memory": {"guest": memory}, **spec},
    }


SMALL_VM = build_vm(instancetype={"name": "small"})


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _expand(*trees: JsonObject, arguments: tuple[str, ...] = ()) -> CommandResult:
    return call_virtctl("expand", "-f", write_manifest("all.yaml", *trees), *arguments)


def _memory(outcome: CommandResult) -> str:
    return str(outcome.template["domain"]["memory"]["guest"])


def _explain(*trees: JsonObject) -> dict[str, JsonObject]:
    outcome = _expand(*trees, arguments=("--explain", "-o", "json"))
    assert outcome.status == 0, outcome.err
    return {origin["field"].removeprefix(f"{DOMAIN}."): origin for origin in json.loads(outcome.out)}


def test_vm_is_printed_with_its_instancetype_expanded() -> None:
    tree = _expand(SMALL_VM, build_type()).tree
    assert "instancetype" not in tree["spec"]
    assert tree["spec"]["template"]["spec"]["domain"]["cpu"] == {"sockets": 2, "cores": 1, "threads": 1}
    assert tree["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "2Gi"}


def test_vm_and_instancetype_can_be_in_different_files() -> None:
    write_manifest("types/deep/small.yaml", build_type())
    outcome = call_virtctl("expand", "-f", write_manifest("vm.json", SMALL_VM), "-f", "types")
    assert _memory(outcome) == "2Gi"


def test_expand_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    created = call_virtctl("create", "vm", "--name", "web", "--instancetype", "u1.medium").out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(created.encode())))
    assert _memory(call_virtctl("expand", "-f", "-")) == "4Gi"


def test_expand_finds_objects_missing_in_the_files_in_the_catalog() -> None:
    vm = build_vm(instancetype={"name": "u1.medium"}, preference={"name": "fedora"})
    assert _memory(_expand(vm)) == "4Gi"
    assert _memory(_expand(vm, build_type("u1.medium", "3Gi"))) == "3Gi"


def test_expand_can_ignore_the_catalog() -> None:
    outcome = _expand(build_vm(instancetype={"name": "u1.medium"}), arguments=("--no-catalog",))
    assert (outcome.status, outcome.out) == (1, "")
    assert 'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "u1.medium" not found' in outcome.err


def test_instancetype_is_inferred_from_objects_in_the_files() -> None:
    volumes = [{"name": "root", "dataVolume": {"name": "disk"}}]
    vm = build_vm(
        instancetype={"inferFromVolume": "root"},
        dataVolumeTemplates=[
            {"metadata": {"name": "disk"}, "spec": {"sourceRef": {"kind": "DataSource", "name": "os"}, "storage": {}}}
        ],
    )
    vm["spec"]["template"]["spec"]["volumes"] = volumes
    source = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataSource",
        "metadata": {"name": "os", "labels": {LABEL: "small"}},
        "spec": {"source": {"pvc": {"name": "os", "namespace": "images"}}},
    }
    assert _memory(_expand(vm, source, build_type())) == "2Gi"


def test_expand_uses_a_revision_in_the_files() -> None:
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "kept", "namespace": "default"},
        "data": build_type(memory="1Gi"),
        "revision": 0,
    }
    vm = build_vm(instancetype={"name": "small", "revisionName": "kept"})
    assert _memory(_expand(vm, revision, build_type())) == "1Gi"
    assert _explain(vm, revision, build_type())["memory.guest"] == {
        "field": f"{DOMAIN}.memory.guest",
        "value": "1Gi",
        "source": "instance type",
        "name": "small",
        "revision": "kept",
    }


def test_kubevirt_object_in_the_files_is_used_as_the_configuration() -> None:
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": {"evictionStrategy": "LiveMigrate", "machineType": "pc-q35-9"}},
    }
    template = _expand(SMALL_VM, build_type(), kubevirt).template
    assert (template["evictionStrategy"], template["domain"]["machine"]["type"]) == ("LiveMigrate", "pc-q35-9")


def test_expand_leaves_a_vm_without_matchers_unchanged() -> None:
    vm = build_vm(domain={"memory": {"guest": "1Gi"}})
    assert _expand(vm).tree == vm


def test_several_expanded_vms_are_yaml_documents() -> None:
    outcome = _expand(build_vm("a"), build_type(), build_vm("b", instancetype={"name": "small"}))
    assert [tree["metadata"]["name"] for tree in yaml.safe_load_all(outcome.out)] == ["a", "b"]


def test_several_expanded_vms_are_a_json_list() -> None:
    listed = json.loads(_expand(build_vm("a"), build_vm("b"), arguments=("-o", "json")).out)
    assert (listed["kind"], [item["metadata"]["name"] for item in listed["items"]]) == ("List", ["a", "b"])


def test_single_expanded_vm_is_a_json_object() -> None:
    assert json.loads(_expand(build_vm(), arguments=("-o", "json")).out)["kind"] == "VirtualMachine"


def test_expand_preserves_unknown_fields_with_a_warning() -> None:
    disks = [{"name": "root", "lit": {"level": 3}}]
    vm = build_vm(domain={"devices": {"disks": disks}}, instancetype={"name": "small"}, novelty=[1])
    vm["spec"]["template"]["spec"]["volumes"] = [
        {"name": "root", "persistentVolumeClaim": {"claimName": "a"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "b"}},
    ]
    outcome = _expand(vm, build_type(glow=True))
    assert outcome.spec["novelty"] == [1]
    assert outcome.template["domain"]["devices"]["disks"] == [{"name": "root", "lit": {"level": 3}}, {"name": "data"}]
    assert outcome.err.splitlines() == [
        'warning: all.yaml:36:3: spec.glow: unknown field "glow"; it has no effect',
        'warning: all.yaml:9:3: spec.novelty: unknown field "novelty"; it is kept unchanged',
        f'warning: all.yaml:17:13: {DOMAIN}.devices.disks[0].lit: unknown field "lit"; it is kept unchanged',
    ]


def test_ignored_inference_failure_causes_a_warning() -> None:
    matcher = {"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"}
    vm = build_vm(instancetype=matcher, domain={"memory": {"guest": "512Mi"}})
    vm["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "containerDisk": {"image": "i"}}]
    outcome = _expand(vm)
    assert _memory(outcome) == "512Mi"
    assert outcome.err.startswith("warning: all.yaml:1:1: spec.instancetype: unable to infer defaults")


def test_manifest_for_gitops_omits_fields_set_by_the_server() -> None:
    vm = build_vm(instancetype={"name": "small", "revisionName": ""})
    vm["metadata"] |= {"uid": "1", "resourceVersion": "7", "creationTimestamp": None}
    outcome = _expand(vm | {"status": {"ready": True}}, build_type(), arguments=("--for", "gitops"))
    assert outcome.tree["metadata"] == {"name": "web"}
    assert outcome.tree.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert _memory(outcome) == "2Gi"


@pytest.mark.parametrize(("arguments", "expected"), [((), None), (("--for", "gitops"), "fast")])
def test_only_the_manifest_for_gitops_has_the_preferred_storage_class(
    arguments: tuple[str, ...], expected: str | None
) -> None:
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "fast"},
        "spec": {"volumes": {"preferredStorageClassName": "fast"}},
    }
    source = {"metadata": {"name": "root"}, "spec": {"source": {"blank": {}}, "storage": {}}}
    vm = build_vm(preference={"name": "fast"}, dataVolumeTemplates=[source])
    (template,) = _expand(vm, preference, arguments=arguments).spec["dataVolumeTemplates"]
    assert template["spec"]["storage"].get("storageClassName") == expected


def test_explain_prints_a_table_of_fields_values_and_sources() -> None:
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "linux"},
        "spec": {"machine": {"preferredMachineType": "pc"}},
    }
    vm = build_vm(
        instancetype={"name": "small"}, preference={"name": "linux"}, domain={"firmware": {"serial": "a" * 80}}
    )
    vm["spec"]["template"]["spec"]["accessCredentials"] = []
    lines = _expand(vm, build_type(), preference, arguments=("--explain",)).out.splitlines()
    assert lines[0].split() == ["FIELD", "VALUE", "SOURCE"]
    rows = {tuple(line.split(maxsplit=2)) for line in lines[1:]}
    assert rows >= {
        (f"{DOMAIN}.memory.guest", "2Gi", "instance type small"),
        (f"{DOMAIN}.machine.type", "pc", "preference linux"),
        (f"{DOMAIN}.firmware.serial", "a" * 59 + "…", "VM"),
        ("spec.template.spec.networks[0].pod", "{}", "default"),
        ("spec.template.spec.accessCredentials", "[]", "VM"),
    }


def test_explain_in_json_has_field_value_source_and_name() -> None:
    origins = _explain(build_vm(instancetype={"name": "small"}, domain={"clock": {"utc": {}}}), build_type())
    field = f"{DOMAIN}.memory.guest"
    assert origins["memory.guest"] == {"field": field, "value": "2Gi", "source": "instance type", "name": "small"}
    assert origins["clock.utc"] == {"field": f"{DOMAIN}.clock.utc", "value": {}, "source": "VM", "name": "web"}
    assert origins["machine.type"]["name"] is None


def test_explain_in_yaml_equals_json() -> None:
    in_json = _expand(SMALL_VM, build_type(), arguments=("--explain", "-o", "json")).out
    in_yaml = _expand(SMALL_VM, build_type(), arguments=("--explain", "-o", "yaml")).out
    assert yaml.safe_load(in_yaml) == json.loads(in_json)


def test_source_of_unknown_fields_is_the_vm() -> None:
    assert _explain(build_vm(domain={"glow": 1}))["glow"] == {
        "field": f"{DOMAIN}.glow",
        "value": 1,
        "source": "VM",
        "name": "web",
    }


def test_explain_of_several_vms_includes_their_names() -> None:
    vms = [build_vm("a"), build_vm("b")]
    assert [line.split()[0] for line in _expand(*vms, arguments=("--explain",)).out.splitlines()] == ["VM", "a", "b"]
    origins = json.loads(_expand(*vms, arguments=("--explain", "-o", "json")).out)
    assert [origin["vm"] for origin in origins] == ["a", "b"]


@pytest.mark.parametrize(
    ("trees", "lines"),
    [
        pytest.param(
            [build_vm(instancetype={"name": "smal"}, preference={"name": "fedorra"}), build_type()],
            [
                f'all.yaml:8:5: spec.instancetype.name: {INSTANCETYPES} "smal" not found; did you mean small',
                f'all.yaml:10:5: spec.preference.name: {PREFERENCES} "fedorra" not found; did you mean fedora',
            ],
            id="missing references",
        ),
        pytest.param(
            [
                build_vm(instancetype={"name": "small"}, domain={"cpu": {"cores": 1}, "memory": {"guest": "1Gi"}}),
                build_type(),
            ],
            [
                f"all.yaml:14:11: VM field(s) {DOMAIN}.cpu.cores conflicts with selected instance type",
                f"all.yaml:16:11: VM field(s) {DOMAIN}.memory.guest conflicts with selected instance type",
            ],
            id="conflicts",
        ),
        pytest.param(
            [
                build_vm("a", instancetype={"name": "small", "kind": "Typo"}),
                build_vm("b", preference={"inferFromVolume": "none"}),
            ],
            [
                "all.yaml:9:5: spec.instancetype.kind: got unexpected kind in InstancetypeMatcher: Typo",
                "all.yaml:22:5: spec.preference.inferFromVolume: unable to find volume none to infer defaults",
            ],
            id="several VMs",
        ),
        pytest.param(
            [build_vm(), build_type(), build_type(memory="3Gi")],
            ['all.yaml:25:3: metadata.name: VirtualMachineClusterInstancetype "small" is also defined in all.yaml:12:'],
            id="duplicate instance type",
        ),
    ],
)
def test_expand_reports_all_problems_with_their_positions(trees: list[JsonObject], lines: list[str]) -> None:
    outcome = _expand(*trees)
    assert (outcome.status, outcome.out) == (1, "")
    reported = [line.removeprefix("error: ").removeprefix("  - ") for line in outcome.err.splitlines()]
    reported = [line for line in reported if line.startswith("all.yaml")]
    assert len(reported) == len(lines)
    assert all(line.startswith(expected) for line, expected in zip(reported, lines, strict=True)), reported


def test_annotation_conflict_is_reported_at_its_position() -> None:
    vm = build_vm(instancetype={"name": "small"})
    vm["spec"]["template"]["metadata"] = {"annotations": {"example.com/a.b": "mine"}}
    outcome = _expand(vm, build_type(annotations={"example.com/a.b": "theirs"}))
    assert "all.yaml:15:9: VM field(s) annotations.example.com/a.b conflicts" in outcome.err


def test_expand_rejects_two_kubevirt_objects() -> None:
    kubevirts = [
        {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": name}, "spec": {}} for name in "pq"
    ]
    outcome = _expand(build_vm(), *kubevirts)
    assert outcome.status == 1
    assert "all.yaml:22:1: spec.configuration: all.yaml:12:1 has a configuration too" in outcome.err


def test_expand_accepts_equal_duplicates() -> None:
    assert _memory(_expand(SMALL_VM, build_type(), build_type())) == "2Gi"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "no VirtualMachine in the files: they contain no objects", id="empty"),
        pytest.param(
            b"{apiVersion: v1, kind: Secret}\n---\n{apiVersion: v1, kind: Secret}\n---\n{apiVersion: v1, kind: Pod}\n",
            "no VirtualMachine in the files: they contain 2 Secret, 1 Pod",
            id="other objects",
        ),
        pytest.param(b"a: b: c\n", 'f.yaml:1:5: unexpected ":": no value can follow here', id="YAML"),
        pytest.param(b"\x00\xff\xfe\x80", "f.yaml:1:2: this is not UTF-8 text", id="binary"),
    ],
)
def test_expand_rejects_files_without_a_vm(content: bytes, message: str) -> None:
    Path("f.yaml").write_bytes(content)
    outcome = call_virtctl("expand", "-f", "f.yaml")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {message}")


def test_expand_rejects_a_missing_file() -> None:
    outcome = call_virtctl("expand", "-f", "none.yaml")
    assert outcome.status == 1
    assert outcome.err.startswith("error: none.yaml: cannot be read: No such file or directory\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to expand: use --vm for a VM on the server, or -f for files"),
        (["-f", "vm.yaml", "-o", "table"], "-o table requires --explain"),
        (["-f", "vm.yaml", "-o", "xml"], "Invalid value for '-o'"),
        (["-f", "vm.yaml", "--for", "gitops", "--explain"], "--for cannot be used with --explain"),
    ],
    ids=["no file", "a table of a VM", "an unknown form", "an explanation for gitops"],
)
def test_invalid_expand_command_line_is_rejected(arguments: list[str], message: str) -> None:
    write_manifest("vm.yaml", build_vm())
    outcome = call_virtctl("expand", *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {message}")
