"""Origins of fields: the object that set each field of an expanded VM."""

from typing import Any

import pytest
from tests.support.build import build_instancetype_spec, build_preference_spec, build_vm

from virtshape.api.model import JsonObject
from virtshape.engine.draft import Trace
from virtshape.engine.expand import Shape, expand_vm

TEMPLATE = "spec.template"
DOMAIN = f"{TEMPLATE}.spec.domain"


def trace(
    instancetype: JsonObject | None = None, preference: JsonObject | None = None, **vm: Any
) -> dict[str, tuple[object, str]]:
    """Return the value and origin of each leaf of the expanded template."""
    built, record = build_vm(**vm), Trace()
    shape = Shape(
        None if instancetype is None else build_instancetype_spec(**instancetype),
        None if preference is None else build_preference_spec(**preference),
    )
    assert expand_vm(built, shape, trace=record) == []
    return {path: (value, source) for path, value, source in record.walk(built.spec.template, TEMPLATE)}


def test_every_expanded_field_has_one_origin() -> None:
    origins = trace(
        {"cpu": {"guest": 2, "model": "m"}},
        {"devices": {"preferredDiskBus": "virtio", "preferredInterfaceModel": "virtio"}, "annotations": {"p": "1"}},
        domain={"devices": {"disks": [{"name": "a", "disk": {"bus": "sata"}}, {"name": "b"}]}},
        annotations={"own": "1"},
    )
    assert {path: source for path, (_, source) in origins.items()} == {
        f"{TEMPLATE}.metadata.annotations[own]": "VM",
        f"{TEMPLATE}.metadata.annotations[p]": "preference",
        f"{TEMPLATE}.spec.architecture": "default",
        f"{TEMPLATE}.spec.evictionStrategy": "default",
        f"{TEMPLATE}.spec.networks[0].name": "default",
        f"{TEMPLATE}.spec.networks[0].pod": "default",
        f"{DOMAIN}.cpu.sockets": "instance type",
        f"{DOMAIN}.cpu.cores": "instance type",
        f"{DOMAIN}.cpu.threads": "instance type",
        f"{DOMAIN}.cpu.model": "instance type",
        f"{DOMAIN}.memory.guest": "instance type",
        f"{DOMAIN}.machine.type": "default",
        f"{DOMAIN}.devices.disks[0].name": "VM",
        f"{DOMAIN}.devices.disks[0].disk.bus": "VM",
        f"{DOMAIN}.devices.disks[1].name": "VM",
        f"{DOMAIN}.devices.disks[1].disk.bus": "preference",
        f"{DOMAIN}.devices.interfaces[0].name": "default",
        f"{DOMAIN}.devices.interfaces[0].bridge": "default",
        f"{DOMAIN}.devices.interfaces[0].model": "preference",
    }


def test_traced_field_has_its_value_and_its_origin() -> None:
    origins = trace({"cpu": {"guest": 4}})
    assert origins[f"{DOMAIN}.cpu.sockets"] == (4, "instance type")
    assert origins[f"{DOMAIN}.memory.guest"] == ("2Gi", "instance type")


@pytest.mark.parametrize("instancetype", [None, {"cpu": None, "memory": None}], ids=["preference alone", "no size"])
def test_topology_from_cpu_guest_is_attributed_to_the_vm(instancetype: JsonObject | None) -> None:
    origins = trace(instancetype, {"cpu": {"preferredCPUTopology": "cores"}}, cpu_guest=4, memory="1Gi")
    assert origins[f"{DOMAIN}.cpu.cores"] == (4, "VM")
    assert origins[f"{DOMAIN}.memory.guest"] == ("1Gi", "VM")
    assert f"{DOMAIN}.cpu.guest" not in origins


def test_all_fields_are_attributed_to_a_vm_without_matchers() -> None:
    assert {source for _, source in trace(cpu_guest=4, memory="1Gi").values()} == {"VM"}


def test_gpu_is_attributed_to_the_instance_type_if_a_preference_adds_options() -> None:
    origins = trace(
        {"gpus": [{"name": "g", "deviceName": "d"}]},
        {"devices": {"preferredVirtualGPUOptions": {"display": {"enabled": True}}}},
    )
    gpu = f"{DOMAIN}.devices.gpus[0]"
    assert {path.removeprefix(gpu): source for path, (_, source) in origins.items() if path.startswith(gpu)} == {
        ".name": "instance type",
        ".deviceName": "instance type",
        ".virtualGPUOptions.display.enabled": "preference",
    }


def test_gpu_is_attributed_to_the_vm_if_a_preference_adds_options() -> None:
    origins = trace(
        None,
        {"devices": {"preferredVirtualGPUOptions": {}}},
        domain={"devices": {"gpus": [{"name": "g"}]}},
    )
    assert origins[f"{DOMAIN}.devices.gpus[0].name"][1] == "VM"
    assert origins[f"{DOMAIN}.devices.gpus[0].virtualGPUOptions"][1] == "preference"


def test_resource_requests_stay_attributed_to_the_vm_when_defaults_are_added() -> None:
    resources = {"requests": {"memory": "1Gi"}, "limits": {"cpu": "2"}}
    origins = trace(None, {}, domain={"resources": resources})
    assert {path: source for path, (_, source) in origins.items() if ".resources." in path} == {
        f"{DOMAIN}.resources.requests[memory]": "VM",
        f"{DOMAIN}.resources.requests[cpu]": "default",
        f"{DOMAIN}.resources.limits[cpu]": "VM",
    }


def test_overcommit_request_is_attributed_to_the_instance_type() -> None:
    origins = trace({"memory": {"guest": "1Gi", "overcommitPercent": 50}})
    assert origins[f"{DOMAIN}.resources.requests[memory]"] == ("512Mi", "instance type")


def test_hyperv_features_have_separate_origins() -> None:
    origins = trace(
        None,
        {"features": {"preferredHyperv": {"vapic": {}, "relaxed": {}}}},
        domain={"features": {"hyperv": {"relaxed": {"enabled": False}}}},
    )
    hyperv = f"{DOMAIN}.features.hyperv"
    assert origins[f"{hyperv}.relaxed.enabled"][1] == "VM"
    assert origins[f"{hyperv}.vapic"][1] == "preference"
    assert origins[f"{DOMAIN}.features.acpi"][1] == "preference"
