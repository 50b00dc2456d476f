import re

import click
import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.create.instancetype import command
from virtshape.cli.create.limitflags import CPULimitsType

SIZE = ["--cpu=2", "--memory=1Gi"]


def _create(*arguments: str) -> JsonObject:
    return call_virtctl("create", "instancetype", *arguments).tree


def test_instancetype_is_cluster_wide_by_default() -> None:
    assert _create("--name=i", "--cpu", "2", "--memory", "1024Mi") == {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "i"},
        "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}},
    }


@pytest.mark.parametrize(
    ("arguments", "kind", "metadata"),
    [
        pytest.param(["--namespaced"], "VirtualMachineInstancetype", {"name": "i"}, id="namespaced"),
        pytest.param(
            ["-n", "shop"], "VirtualMachineInstancetype", {"name": "i", "namespace": "shop"}, id="with a namespace"
        ),
        pytest.param(["--namespaced=false"], "VirtualMachineClusterInstancetype", {"name": "i"}, id="cluster-wide"),
    ],
)
def test_kind_of_a_created_instancetype_depends_on_the_scope(
    arguments: list[str], kind: str, metadata: JsonObject
) -> None:
    tree = _create("--name=i", *SIZE, *arguments)
    assert (tree["kind"], tree["metadata"]) == (kind, metadata)


@pytest.mark.parametrize(("arguments", "prefix"), [([], "clusterinstancetype"), (["--namespaced"], "instancetype")])
def test_created_instancetype_without_a_name_gets_a_generated_name(arguments: list[str], prefix: str) -> None:
    assert re.fullmatch(f"{prefix}-[a-z0-9]{{5}}", _create(*SIZE, *arguments)["metadata"]["name"])


def test_empty_instancetype_name_is_accepted_with_a_warning() -> None:
    outcome = call_virtctl("create", "instancetype", "--name=", *SIZE)
    assert outcome.tree["metadata"] == {}
    assert outcome.err.startswith("warning: --name is empty")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        pytest.param(
            ["--gpu=name:g,devicename:a", "--gpu=devicename:b,name:h"],
            {"gpus": [{"name": "g", "deviceName": "a"}, {"name": "h", "deviceName": "b"}]},
            id="GPUs",
        ),
        pytest.param(
            ["--hostdevice=name:d,devicename:a"], {"hostDevices": [{"name": "d", "deviceName": "a"}]}, id="host device"
        ),
        pytest.param(["--iothreadspolicy=auto"], {"ioThreadsPolicy": "auto"}, id="I/O threads"),
    ],
)
def test_instancetype_devices_and_io_threads_are_set_by_flags(arguments: list[str], part: JsonObject) -> None:
    assert _create(*SIZE, *arguments)["spec"] == {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}} | part


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        pytest.param(["--cpu=open", "--memory=1Gi"], {"memory": {"guest": "1Gi"}}, id="vCPUs"),
        pytest.param(["--cpu=2", "--memory=open"], {"cpu": {"guest": 2}}, id="memory"),
        pytest.param(["--cpu=open", "--memory=open"], {}, id="both"),
        pytest.param(["--topology=cores=2", "--memory=open"], {"cpu": {"topology": {"cores": 2}}}, id="only memory"),
    ],
)
def test_size_flag_with_the_value_open_omits_the_size_and_requires_v1beta2(
    arguments: list[str], spec: JsonObject
) -> None:
    tree = _create("--name=i", *arguments)
    assert (tree["apiVersion"], tree["spec"]) == ("instancetype.kubevirt.io/v1beta2", spec)


def test_topology_flag_replaces_the_vcpu_count() -> None:
    spec = _create("--topology", "sockets=2,cores=4,threads=2", "--memory=1Gi")["spec"]
    assert spec["cpu"] == {"topology": {"sockets": 2, "cores": 4, "threads": 2}}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param([], "exactly one of --cpu and --topology is required", id="nothing"),
        pytest.param(["--cpu=2"], "--memory is required", id="no memory"),
        pytest.param(["--memory=1Gi"], "exactly one of --cpu and --topology is required", id="no vCPUs"),
        pytest.param([*SIZE, "--topology=cores=2"], "exactly one of --cpu and --topology is required", id="both"),
        pytest.param(["--cpu=oepn", "--memory=1Gi"], "must be an integer or open.", id="misspelt open"),
        pytest.param(["--cpu=0", "--memory=1Gi"], "'--cpu': invalid number 0: must be", id="zero vCPUs"),
        pytest.param(["--cpu=2.5", "--memory=1Gi"], "must be an integer", id="fractional vCPU"),
        pytest.param(["--cpu=2", "--memory=1Gb"], "--memory: ", id="invalid memory"),
        pytest.param([*SIZE, "--gpu=name:g"], "--gpu: devicename is required", id="GPU without a device"),
        pytest.param([*SIZE, "--gpu=devicename:g"], "--gpu: name is required", id="GPU without a name"),
        pytest.param([*SIZE, "--hostdevice="], "--hostdevice: the value is empty", id="no host device"),
        pytest.param([*SIZE, "--iothreadspolicy="], "--iothreadspolicy", id="no policy"),
        pytest.param([*SIZE, "--iothreadspolicy=Auto"], "--iothreadspolicy", id="policy in capitals"),
        pytest.param([*SIZE, "stray"], "stray", id="unexpected argument"),
    ],
)
def test_invalid_create_instancetype_flags_are_rejected(arguments: list[str], error: str) -> None:
    outcome = call_virtctl("create", "instancetype", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert error in outcome.err


def test_instancetype_with_zero_memory_causes_a_warning() -> None:
    assert "warning: --memory 0" in call_virtctl("create", "instancetype", "--cpu=1", "--memory=0").err


def test_limit_flags_set_the_limits_of_omitted_sizes() -> None:
    tree = _create(
        "--name=i",
        "--cpu=open",
        "--cpu-limits=min=2,max=16,step=2",
        "--memory=open",
        "--memory-limits=step=1Gi,max=96Gi,per-vcpu-min=2Gi,per-vcpu-max=8Gi",
    )
    assert tree["apiVersion"] == "instancetype.kubevirt.io/v1beta2"
    assert tree["spec"] == {
        "cpu": {"limits": {"min": 2, "max": 16, "step": 2}},
        "memory": {"limits": {"step": "1Gi", "max": "96Gi", "perVCPU": {"min": "2Gi", "max": "8Gi"}}},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cpu=2", "--memory=1Gi", "--cpu-limits=min=1"], "--cpu-limits requires --cpu open"),
        (["--cpu=2", "--memory=1Gi", "--memory-limits=min=1Gi"], "--memory-limits requires --memory open"),
        (["--cpu=open", "--memory=1Gi", "--cpu-limits=mim=1"], 'invalid limit "mim=1"; did you mean "min"?'),
        (["--cpu=open", "--memory=1Gi", "--cpu-limits=min=0,max=x"], 'min: invalid number "0"'),
        (["--cpu=open", "--memory=1Gi", "--cpu-limits=min=1,min=2"], "min is given twice"),
        (["--cpu=2", "--memory=open", "--memory-limits=min=-1Gi"], 'min: invalid amount "-1Gi"'),
        (["--cpu=2", "--memory=open", "--memory-limits=min=4Gx"], "min: expected a quantity such as 4Gi, got '4Gx'"),
        (["--cpu=open", "--memory=1Gi", "--cpu-limits=min=4,max=2"], "spec.cpu.limits.min"),
    ],
    ids=["cpu", "memory", "unknown", "number", "twice", "negative", "quantity", "order"],
)
def test_invalid_limits_are_rejected(arguments: list[str], message: str) -> None:
    outcome = call_virtctl("create", "instancetype", "--name=i", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


def test_shell_completion_offers_the_remaining_keys_of_limits() -> None:
    ctx, param = click.Context(command), command.params[0]
    completed = CPULimitsType().shell_complete(ctx, param, "min=1,")
    assert [item.value for item in completed] == ["min=1,max=", "min=1,step="]
