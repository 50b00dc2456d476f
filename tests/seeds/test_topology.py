"""Examples of the topology design: vCPUs laid out by a preference and by the instance type."""

import pytest
from tests.support.admission import check_vm
from tests.support.build import build_instancetype, build_preference
from tests.support.commands import call_virtctl

from virtshape.admission.instancetype import check_instancetype
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape

CREATE = (
    "create",
    "vm",
    "--instancetype=virtualmachineinstancetype/instancetype-example",
    "--volume-containerdisk=src:registry:5000/kubevirt/alpine-container-disk-demo:devel,name:alpine-disk",
    "--name=example",
)
WITH_PREFERENCE = (*CREATE, "--preference=virtualmachinepreference/preference-example")
MEMORY: JsonObject = {"guest": "128Mi"}
TOPOLOGY: JsonObject = {"sockets": 3, "cores": 2, "threads": 1}
PREFER_CORES = build_preference(
    "preference-example", namespace="default", version="v1beta1", cpu={"preferredCPUTopology": "preferCores"}
)


@pytest.mark.parametrize(
    ("given", "command", "cpu"),
    [
        pytest.param(
            {"guest": 2},
            WITH_PREFERENCE,
            {"cores": 2, "model": "host-model", "sockets": 1, "threads": 1},
            id="preferred",
        ),
        pytest.param({"topology": TOPOLOGY}, CREATE, {**TOPOLOGY, "model": "host-model"}, id="instance type"),
        pytest.param(
            {"topology": TOPOLOGY},
            WITH_PREFERENCE,
            {**TOPOLOGY, "model": "host-model"},
            id="instance type overrides the preference",
        ),
    ],
)
def test_preference_or_instance_type_determines_the_vcpu_topology(
    given: JsonObject, command: tuple[str, ...], cpu: JsonObject
) -> None:
    instancetype = build_instancetype(
        "instancetype-example", namespace="default", version="v1beta1", cpu=given, memory=MEMORY
    )
    assert check_instancetype(instancetype.spec, "v1beta1").causes == []
    vm = from_tree(call_virtctl(*command).tree, VirtualMachine)
    shape = get_shape(vm, Objects([instancetype, PREFER_CORES]).find)
    assert check_vm(vm, shape) == []
    _, spec = make_instance(vm, shape, firmware_uuid="5d307ca9-b3ef-428c-8861-06e72d69f223")
    assert to_tree(spec.domain.cpu) == cpu
