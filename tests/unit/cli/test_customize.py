import io
import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tests.support.commands import call_virtctl
from tests.support.manifests import write_manifest

from virtshape.api.model import JsonObject
from virtshape.cli.customize import command, complete_source

GROUP = "instancetype.kubevirt.io"


def build_type(name: str = "small", kind: str = "VirtualMachineClusterInstancetype", **spec: Any) -> JsonObject:
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"team": "blue", f"{GROUP}/size": name}, "uid": "7d0a"},
        "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}, **spec},
    }


def build_preference(name: str = "linux", kind: str = "VirtualMachineClusterPreference", **spec: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


LAID_OUT = {"topology": {"sockets": 2, "threads": 2}}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _customize(*arguments: str) -> JsonObject:
    return call_virtctl("customize", *arguments, "--name", "mine").tree


def _customize_file(*trees: JsonObject, arguments: tuple[str, ...]) -> JsonObject:
    return _customize(*arguments, "-f", write_manifest("all.yaml", *trees))


def _read_error(*arguments: str, name: str = "mine", status: int = 1) -> str:
    outcome = call_virtctl("customize", *arguments, "--name", name)
    assert (outcome.status, outcome.out) == (status, "")
    return outcome.err


def test_customize_changes_the_size_of_a_catalog_instancetype() -> None:
    outcome = call_virtctl("customize", "u1.medium", "--name", "u1.mysize", "--vcpus", "4", "--memory", "4Gi")
    assert outcome.tree == {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "u1.mysize"},
        "spec": {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}},
    }
    assert outcome.err == ""


def test_customized_instancetype_can_be_used_by_a_vm() -> None:
    sized = call_virtctl("customize", "u1.medium", "--name", "u1.mysize", "--vcpus", "4", "--memory", "6Gi").out
    vm = call_virtctl("create", "vm", "--instancetype", "virtualmachineinstancetype/u1.mysize").out
    Path("both.yaml").write_text(f"{sized}---\n{vm}")
    domain = call_virtctl("expand", "-f", "both.yaml").template["domain"]
    assert (domain["cpu"]["sockets"], domain["memory"]["guest"]) == (4, "6Gi")


def test_vm_sets_the_size_that_a_customized_instancetype_omits() -> None:
    sized = call_virtctl("customize", "cx1.medium", "--name", "mine", "--vcpus", "open", "--memory", "open").out
    matcher = ("--instancetype", "virtualmachineinstancetype/mine")
    vm = call_virtctl("create", "vm", *matcher, "--vcpus", "4", "--memory", "6Gi").out
    Path("both.yaml").write_text(f"{sized}---\n{vm}")
    domain = call_virtctl("expand", "-f", "both.yaml").template["domain"]
    assert (domain["cpu"]["sockets"], domain["memory"]["guest"]) == (4, "6Gi")


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        pytest.param(["--memory", "1024Mi"], {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}, id="memory"),
        pytest.param(
            ["--topology", "sockets=2,cores=4"],
            {"cpu": {"topology": {"sockets": 2, "cores": 4}}, "memory": {"guest": "4Gi"}},
            id="topology in place of a count",
        ),
        pytest.param([], {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}, id="nothing"),
    ],
)
def test_customize_changes_only_the_requested_fields(arguments: list[str], spec: JsonObject) -> None:
    assert _customize("u1.medium", *arguments)["spec"] == spec


def test_preference_can_be_customized() -> None:
    tree = _customize("fedora")
    assert tree["kind"] == "VirtualMachinePreference"
    assert tree["metadata"] == {
        "name": "mine",
        "annotations": {"openshift.io/display-name": "Fedora Linux, amd64"},
    }
    assert tree["spec"]["devices"]["preferredDiskBus"] == "virtio"


@pytest.mark.parametrize("cluster", ["true", "false"])
def test_customize_flags_change_a_preference(cluster: str) -> None:
    source = build_preference(devices={"preferredDiskBus": "virtio", "preferredRng": {}})
    flags = ("--disk-bus", "scsi", "--cdrom-bus", "sata", "--interface-model", "e1000e", "--firmware", "secure-boot")
    more = ("--machine-type=q35", "--cpu-topology=cores", "--timezone=Europe/Oslo", "--volume-storage-class=fast")
    tree = _customize_file(source, arguments=("linux", f"--cluster={cluster}", *flags, *more))
    assert tree["kind"] == ("VirtualMachineClusterPreference" if cluster == "true" else "VirtualMachinePreference")
    assert tree["spec"] == {
        "devices": {
            "preferredDiskBus": "scsi",
            "preferredCdromBus": "sata",
            "preferredInterfaceModel": "e1000e",
            "preferredRng": {},
        },
        "cpu": {"preferredCPUTopology": "cores"},
        "features": {"preferredSmm": {}},
        "firmware": {"preferredEfi": {"secureBoot": True}},
        "machine": {"preferredMachineType": "q35"},
        "clock": {"preferredClockOffset": {"timezone": "Europe/Oslo"}},
        "volumes": {"preferredStorageClassName": "fast"},
    }


def test_customized_preference_can_be_used_by_a_vm() -> None:
    preference = call_virtctl("customize", "fedora", "--name", "mine", "--disk-bus", "scsi", "--firmware", "bios").out
    flags = ("--instancetype", "u1.medium", "--preference", "virtualmachinepreference/mine", "--volume-pvc", "src:root")
    Path("both.yaml").write_text(f"{preference}---\n{call_virtctl('create', 'vm', *flags).out}")
    domain = call_virtctl("expand", "-f", "both.yaml").template["domain"]
    assert domain["devices"]["disks"][0]["disk"] == {"bus": "scsi"}
    assert domain["firmware"]["bootloader"] == {"bios": {}}


def test_preference_flags_are_rejected_for_an_instancetype() -> None:
    error = _read_error("u1.medium", "--disk-bus", "scsi")
    assert "u1.medium: an instance type has no buses" in error
    assert error.endswith("Remove the preference flags, or choose a preference.\n")


def test_customize_rejects_an_unknown_firmware() -> None:
    error = _read_error("fedora", "--firmware", "uefi", status=2)
    assert 'unknown value "uefi"; did you mean "efi"' in error


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["u1.medium"], "VirtualMachineInstancetype"),
        (["u1.medium", "--cluster"], "VirtualMachineClusterInstancetype"),
        (["u1.medium", "--cluster=false"], "VirtualMachineInstancetype"),
        (["fedora", "--cluster"], "VirtualMachineClusterPreference"),
    ],
    ids=["by default", "cluster", "namespaced", "cluster preference"],
)
def test_scope_of_the_customized_object_can_be_selected(arguments: list[str], kind: str) -> None:
    assert _customize(*arguments)["kind"] == kind


@pytest.mark.parametrize(
    ("spelling", "printed"),
    [
        ("VirtualMachineClusterInstancetype", "cluster-type"),
        ("virtualmachineclusterinstancetypes", "cluster-type"),
        ("vmclusterinstancetype", "cluster-type"),
        ("vmcfs", "cluster-type"),
        ("virtualmachineclusterinstancetype.instancetype.kubevirt.io", "cluster-type"),
        ("VIRTUALMACHINEINSTANCETYPE", "type"),
        ("vminstancetypes", "type"),
        ("vmf", "type"),
        ("virtualmachineclusterpreferences", "cluster-preference"),
        ("vmcp", "cluster-preference"),
        ("virtualmachinepreference", "preference"),
        ("vmprefs", "preference"),
        ("vmp", "preference"),
    ],
)
def test_kind_of_the_source_can_be_spelled_as_in_kubectl(spelling: str, printed: str) -> None:
    trees = [
        build_type("same"),
        build_type("same", "VirtualMachineInstancetype"),
        build_preference("same"),
        build_preference("same", "VirtualMachinePreference"),
    ]
    for tree, label in zip(trees, ["cluster-type", "type", "cluster-preference", "preference"], strict=True):
        tree["metadata"]["labels"] = {"which": label}
    assert _customize_file(*trees, arguments=(f"{spelling}/same",))["metadata"]["labels"] == {"which": printed}


def test_customize_removes_server_set_metadata() -> None:
    tree = _customize_file(build_type(), arguments=("small", "--vcpus", "3"))
    assert tree == {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "mine", "labels": {"team": "blue"}},
        "spec": {"cpu": {"guest": 3}, "memory": {"guest": "2Gi"}},
    }


def test_customize_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = yaml.safe_dump(build_type()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert _customize("small", "-f", "-")["spec"]["memory"] == {"guest": "2Gi"}


def test_customize_prefers_files_over_the_catalog() -> None:
    own = build_type("u1.medium")
    assert _customize_file(own, arguments=("u1.medium", "--catalog"))["spec"]["cpu"] == {"guest": 2}
    assert _customize_file(own, arguments=("u1.large", "--catalog"))["spec"]["memory"] == {"guest": "8Gi"}


def test_customize_ignores_other_objects_in_a_file() -> None:
    broken = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": "?"}
    assert _customize_file(broken, build_type(), arguments=("small",))["kind"] == "VirtualMachineInstancetype"


def test_keep_metadata_flag_warns_about_size_labels() -> None:
    write_manifest("all.yaml", build_type())
    outcome = call_virtctl("customize", "small", "-f", "all.yaml", "--name", "mine", "--vcpus", "3", "--keep-metadata")
    assert outcome.tree["metadata"] == {"name": "mine", "labels": {"team": "blue", f"{GROUP}/size": "small"}}
    assert outcome.err == f"warning: --keep-metadata keeps {GROUP}/size=small, which describes the size of the source\n"


@pytest.mark.parametrize("arguments", [["--keep-metadata"], ["--vcpus", "3"]], ids=["no size", "no metadata"])
def test_no_warning_is_printed_unless_labels_are_kept_and_the_size_changes(arguments: list[str]) -> None:
    write_manifest("all.yaml", build_type())
    assert call_virtctl("customize", "small", "-f", "all.yaml", "--name", "mine", *arguments).err == ""


def test_instancetype_without_a_size_is_printed_as_v1beta2() -> None:
    assert _customize("cx1.custom", "--vcpus", "2")["apiVersion"] == f"{GROUP}/v1beta2"
    older = build_type(cpu={"model": "host-model"})
    assert _customize_file(older, arguments=("small",))["apiVersion"] == f"{GROUP}/v1beta2"
    assert _customize_file(older, arguments=("small", "--vcpus", "1"))["apiVersion"] == f"{GROUP}/v1beta1"


LIMITS: JsonObject = {
    "cpu": {"limits": {"min": 2, "max": 16, "step": 2}},
    "memory": {"limits": {"step": "1Gi", "perVCPU": {"min": "1Gi", "max": "4Gi"}}},
}
LIMITED = {**build_type(**LIMITS), "apiVersion": f"{GROUP}/v1beta2"}


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        ((), LIMITS),
        (("--vcpus", "open", "--memory", "open"), LIMITS),
        (("--vcpus", "4"), {**LIMITS, "cpu": {"guest": 4}}),
        (("--memory", "9Gi"), {"cpu": {"limits": {"min": 4, "max": 8, "step": 2}}, "memory": {"guest": "9Gi"}}),
        (("--vcpus", "16", "--memory", "64Gi"), {"cpu": {"guest": 16}, "memory": {"guest": "64Gi"}}),
        (("--vcpus", "4", "--memory", "16Gi"), {"cpu": {"guest": 4}, "memory": {"guest": "16Gi"}}),
        (("--topology", "cores=2"), {**LIMITS, "cpu": {"topology": {"cores": 2}}}),
    ],
    ids=["unchanged", "size still open", "vCPUs", "memory", "the maximum", "both", "topology"],
)
def test_customize_copies_limits_only_for_sizes_that_are_not_fixed(
    arguments: tuple[str, ...], spec: JsonObject
) -> None:
    assert _customize_file(LIMITED, arguments=("small", *arguments))["spec"] == spec


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (
            ["--vcpus", "5", "--memory", "30Gi"],
            (
                "spec.cpu.guest '5': the instance type allows 2 to 16 vCPUs in steps of 2; "
                "the nearest allowed values are 4 and 6; "
                "spec.memory.guest '30Gi': the instance type allows 6Gi to 24Gi in steps of 1Gi with 6 vCPUs; "
                "the nearest allowed value is 24Gi"
            ),
        ),
        (
            ["--topology", "cores=3"],
            (
                "spec.cpu.topology '3': the instance type allows 2 to 16 vCPUs in steps of 2; "
                "the nearest allowed values are 2 and 4"
            ),
        ),
        (
            ["--memory", "100Gi"],
            (
                "spec.memory.guest '100Gi': the instance type allows 16Gi to 64Gi in steps of 1Gi with 16 vCPUs; "
                "the nearest allowed value is 64Gi"
            ),
        ),
    ],
    ids=["both", "topology", "memory"],
)
def test_size_outside_the_limits_of_the_source_is_rejected(arguments: list[str], messages: str) -> None:
    write_manifest("all.yaml", LIMITED)
    assert _read_error("small", "-f", "all.yaml", *arguments).splitlines() == [
        f"error: small: {messages}",
        "Use one of these values, or choose another instance type.",
    ]


def test_customize_copies_unknown_fields_with_a_warning() -> None:
    tree = build_type(glow=True, cpu={"guest": 1, "speed": {"ghz": 3}})
    tree["metadata"]["novelty"] = 1
    write_manifest("all.yaml", tree)
    outcome = call_virtctl("customize", "small", "-f", "all.yaml", "--name", "mine", "--vcpus", "2")
    assert outcome.spec == {"cpu": {"guest": 2, "speed": {"ghz": 3}}, "memory": {"guest": "2Gi"}, "glow": True}
    assert "novelty" not in outcome.tree["metadata"]
    assert outcome.err.splitlines() == [
        'warning: all.yaml:13:5: spec.cpu.speed: unknown field "speed"; it is kept unchanged',
        'warning: all.yaml:17:3: spec.glow: unknown field "glow"; it is kept unchanged',
    ]


def test_customize_supports_json_output() -> None:
    outcome = call_virtctl("customize", "u1.medium", "--name", "mine", "-o", "json")
    assert json.loads(outcome.out)["metadata"] == {"name": "mine"}


def test_vcpus_with_an_exact_topology_are_rejected_with_advice() -> None:
    write_manifest("all.yaml", build_type(cpu=LAID_OUT))
    assert _read_error("small", "-f", "all.yaml", "--vcpus", "8") == (
        "error: small: the exact topology 2x1x2 does not define a layout for 8 vCPUs\n"
        "Use --topology, such as --topology sockets=4,cores=1,threads=2, "
        "or choose an instance type without a topology.\n"
    )
    assert _customize("small", "-f", "all.yaml", "--topology", "sockets=4,threads=2")["spec"]["cpu"] == {
        "topology": {"sockets": 4, "threads": 2}
    }


@pytest.mark.parametrize("arguments", [["--vcpus", "2"], ["--memory", "1Gi"], ["--topology", "cores=2"]])
def test_size_flags_are_rejected_for_a_preference(arguments: list[str]) -> None:
    assert _read_error("fedora", *arguments).splitlines() == [
        "error: fedora: a preference has no size: only instance types set vCPUs and memory",
        "Remove the size flags, or choose an instance type.",
    ]


def test_customize_rejects_an_invalid_result() -> None:
    write_manifest("all.yaml", build_type(memory={"guest": "2Gi", "overcommitPercent": 200}))
    lines = _read_error("small", "-f", "all.yaml").splitlines()
    assert lines[0] == "error: the result is invalid"
    assert lines[1].startswith("  - spec.memory.overcommitPercent '200'")


def test_customize_prints_admission_warnings() -> None:
    write_manifest("all.yaml", build_preference(cpu={"preferredCPUTopology": "preferCores"}))
    outcome = call_virtctl("customize", "linux", "-f", "all.yaml", "--name", "mine")
    assert outcome.spec == {"cpu": {"preferredCPUTopology": "preferCores"}}
    assert outcome.err.startswith("warning: PreferredCPUTopology preferCores is deprecated")


CLUSTER_KINDS = "VirtualMachineClusterInstancetype and no VirtualMachineClusterPreference"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["u1.mediun"], f'there is no {CLUSTER_KINDS} "u1.mediun"; did you mean u1.medium', id="similar name"
        ),
        pytest.param(
            ["smal", "-f", "all.yaml"],
            f'there is no {CLUSTER_KINDS} "smal"; did you mean small?',
            id="similar name in a file",
        ),
        pytest.param(["zzzzzz"], f'there is no {CLUSTER_KINDS} "zzzzzz"\n', id="no similar name"),
        pytest.param(
            ["vmf/u1.medium"],
            'there is no VirtualMachineInstancetype "u1.medium"; the built-in catalog has a '
            "VirtualMachineClusterInstancetype: use virtualmachineclusterinstancetype/u1.medium",
            id="other kind in the catalog",
        ),
        pytest.param(
            ["local", "-f", "all.yaml"],
            f'there is no {CLUSTER_KINDS} "local"; all.yaml:15:1 has a '
            "VirtualMachineInstancetype: use virtualmachineinstancetype/local",
            id="other kind in the file",
        ),
        pytest.param(
            ["u1.medium", "-f", "all.yaml"],
            f'there is no {CLUSTER_KINDS} "u1.medium"; the built-in catalog has a '
            "VirtualMachineClusterInstancetype: use --catalog",
            id="only in the catalog",
        ),
        pytest.param(
            ["both", "-f", "all.yaml"],
            '"both" is ambiguous: a VirtualMachineClusterInstancetype in all.yaml:29:1, '
            "a VirtualMachineClusterPreference in all.yaml:43:1; write KIND/NAME",
            id="two kinds",
        ),
        pytest.param(
            ["twice", "-f", "all.yaml"],
            '"twice" is ambiguous: a VirtualMachineClusterPreference in all.yaml:49:1, '
            "a VirtualMachineClusterPreference in all.yaml:55:1; keep one of them",
            id="duplicate object",
        ),
        pytest.param(["small", "-f", "none.yaml"], "none.yaml: cannot be read: No such file", id="no file"),
        pytest.param(["small", "-f", "bad.yaml"], "bad.yaml:1:5: unexpected ", id="broken file"),
    ],
)
def test_customize_rejects_a_missing_or_ambiguous_source(arguments: list[str], message: str) -> None:
    Path("bad.yaml").write_text("a: b: c\n")
    write_manifest(
        "all.yaml",
        build_type("small"),
        build_type("local", "VirtualMachineInstancetype"),
        build_type("both"),
        build_preference("both"),
        build_preference("twice"),
        build_preference("twice"),
    )
    assert _read_error(*arguments).startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["u1.medium", "--vcpus", "0"], "Invalid value for '--vcpus': invalid number 0: must be 1-", id="0 vCPUs"
        ),
        pytest.param(
            ["u1.medium", "--vcpus", "-2"], "Invalid value for '--vcpus': invalid number -2", id="negative vCPUs"
        ),
        pytest.param(["u1.medium", "--vcpus", "4294967296"], "Invalid value for '--vcpus'", id="too many vCPUs"),
        pytest.param(["u1.medium", "--topology", "cores=0"], "Invalid value for '--topology'", id="0 cores"),
        pytest.param(["u1.medium", "--memory", "0"], '--memory: invalid amount "0"', id="no memory"),
        pytest.param(["u1.medium", "--memory=-1Gi"], '--memory: invalid amount "-1Gi"', id="negative memory"),
        pytest.param(
            ["u1.medium", "--memory", "4GB"], "--memory: expected a quantity such as 4Gi", id="invalid quantity"
        ),
        pytest.param(
            ["u1.medium", "--vcpus", "2", "--topology", "cores=2"],
            "--vcpus and --topology are mutually exclusive",
            id="both",
        ),
        pytest.param(
            ["vmclustertype/a"], '[KIND/]NAME: unknown kind "vmclustertype"; did you mean "vmcluster', id="no kind"
        ),
        pytest.param(["a/b/c"], '[KIND/]NAME: "a/b/c" has more than one slash', id="two slashes"),
        pytest.param(["vmf/"], '[KIND/]NAME: "vmf/" has no name', id="no name"),
        pytest.param([], "Missing argument '[KIND/]NAME'", id="no source"),
    ],
)
def test_invalid_customize_command_line_is_rejected(arguments: list[str], message: str) -> None:
    assert _read_error(*arguments, status=2).startswith(f"error: {message}")


@pytest.mark.parametrize("name", ["", "Big", "a_b", "-a", "a-", "a..b", "a" * 254])
def test_customize_rejects_an_invalid_name(name: str) -> None:
    assert _read_error("u1.medium", name=name, status=2).startswith(f'error: --name: invalid name "{name}"')


def test_customize_reports_all_problems_of_flags_at_once() -> None:
    lines = _read_error("what/u1.medium", "--memory", "x", name="A", status=2).splitlines()
    assert lines[0] == "error: 3 problems with the flags"


def test_customize_requires_a_name() -> None:
    outcome = call_virtctl("customize", "u1.medium")
    assert (outcome.status, outcome.err.splitlines()[0]) == (2, "error: Missing option '--name'.")


def test_customize_completes_catalog_names() -> None:
    offered = complete_source(click.Context(command), command.params[0], "u1.2x")
    assert [item.value for item in offered] == ["u1.2xmedium", "u1.2xlarge"]
