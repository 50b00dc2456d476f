"""
Effect of every field of instance types and flavors, as a table.

A test compares the table with the structs, and fails if a field has no row.
"""

from dataclasses import dataclass, field

import pytest
from tests.support.build import build_flavor, build_instancetype_spec, build_spec
from tests.support.engine import SIZED, apply_to_spec, apply_trees, list_conflicts
from tests.support.fields import list_fields

from virtshape.api.codec import to_tree
from virtshape.api.flavor.v1alpha1 import VirtualMachineFlavorSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.engine.apply import apply
from virtshape.engine.draft import Draft
from virtshape.engine.sizingpolicy import check_asked_size
from virtshape.resolve.find import instancetype_spec

SEV = {"sev": {"policy": {"encryptedState": True}}}


@dataclass(frozen=True)
class FieldEffect:
    """The effect of one instance type field, and the VM field that conflicts with it."""

    instancetype: JsonObject
    domain: JsonObject = field(default_factory=dict)
    spec: JsonObject = field(default_factory=dict)
    conflicting: JsonObject = field(default_factory=dict)
    conflict: str | None = None


EFFECTS = {
    "cpu.guest": FieldEffect(
        {"cpu": {"guest": 4}},
        {"cpu": {"sockets": 4, "cores": 1, "threads": 1}},
        conflicting={"cpu": {"guest": 4}},
        conflict="domain.cpu.guest",
    ),
    "cpu.topology": FieldEffect(
        {"cpu": {"topology": {"sockets": 3, "cores": 2, "threads": 1}}},
        {"cpu": {"sockets": 3, "cores": 2, "threads": 1}},
        conflicting={"cpu": {"cores": 2}},
        conflict="domain.cpu.cores",
    ),
    "cpu.maxSockets": FieldEffect(
        {"cpu": {"guest": 1, "maxSockets": 8}}, {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "maxSockets": 8}}
    ),
    "cpu.model": FieldEffect(
        {"cpu": {"guest": 1, "model": "Skylake-Server"}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "model": "Skylake-Server"}},
        conflicting={"cpu": {"model": "host-model"}},
        conflict="domain.cpu.model",
    ),
    "cpu.dedicatedCPUPlacement": FieldEffect(
        {"cpu": {"guest": 1, "dedicatedCPUPlacement": True}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "dedicatedCpuPlacement": True}},
        conflicting={"cpu": {"dedicatedCpuPlacement": True}},
        conflict="domain.cpu.dedicatedCPUPlacement",
    ),
    "cpu.isolateEmulatorThread": FieldEffect(
        {"cpu": {"guest": 1, "isolateEmulatorThread": True}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "isolateEmulatorThread": True}},
        conflicting={"cpu": {"isolateEmulatorThread": True}},
        conflict="domain.cpu.isolateEmulatorThread",
    ),
    "cpu.numa": FieldEffect(
        {"cpu": {"guest": 1, "numa": {"guestMappingPassthrough": {}}}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "numa": {"guestMappingPassthrough": {}}}},
        conflicting={"cpu": {"numa": {}}},
        conflict="domain.cpu.numa",
    ),
    "cpu.realtime": FieldEffect(
        {"cpu": {"guest": 1, "realtime": {"mask": "0-3"}}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "realtime": {"mask": "0-3"}}},
        conflicting={"cpu": {"realtime": {}}},
        conflict="domain.cpu.realtime",
    ),
    "memory.guest": FieldEffect(
        {"memory": {"guest": "4Gi"}},
        {"memory": {"guest": "4Gi"}},
        conflicting={"memory": {"guest": "4Gi"}},
        conflict="domain.memory.guest",
    ),
    "memory.maxGuest": FieldEffect(
        {"memory": {"guest": "1Gi", "maxGuest": "8Gi"}},
        {"memory": {"guest": "1Gi", "maxGuest": "8Gi"}},
        conflicting={"memory": {"maxGuest": "8Gi"}},
        conflict="domain.memory.maxGuest",
    ),
    "memory.hugepages": FieldEffect(
        {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
        {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
        conflicting={"memory": {"hugepages": {"pageSize": "1Gi"}}},
        conflict="domain.memory.hugepages",
    ),
    "memory.overcommitPercent": FieldEffect(
        {"memory": {"guest": "1Gi", "overcommitPercent": 50}},
        {"memory": {"guest": "1Gi"}, "resources": {"requests": {"memory": "512Mi"}}},
        conflicting={"resources": {"requests": {"memory": "1Gi"}}},
        conflict="domain.resources.requests.memory",
    ),
    "gpus": FieldEffect(
        {"gpus": [{"name": "g", "deviceName": "nvidia.com/A100"}]},
        {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/A100"}]}},
        conflicting={"devices": {"gpus": [{"name": "own"}]}},
        conflict="domain.devices.gpus",
    ),
    "hostDevices": FieldEffect(
        {"hostDevices": [{"name": "h", "deviceName": "intel.com/qat"}]},
        {"devices": {"hostDevices": [{"name": "h", "deviceName": "intel.com/qat"}]}},
        conflicting={"devices": {"hostDevices": [{"name": "own"}]}},
        conflict="domain.devices.hostDevices",
    ),
    "ioThreadsPolicy": FieldEffect(
        {"ioThreadsPolicy": "auto"},
        {"ioThreadsPolicy": "auto"},
        conflicting={"ioThreadsPolicy": "shared"},
        conflict="domain.ioThreadsPolicy",
    ),
    "ioThreads": FieldEffect(
        {"ioThreads": {"supplementalPoolThreadCount": 4}},
        {"ioThreads": {"supplementalPoolThreadCount": 4}},
        conflicting={"ioThreads": {"supplementalPoolThreadCount": 2}},
        conflict="domain.ioThreads.supplementalPoolThreadCount",
    ),
    "launchSecurity": FieldEffect(
        {"launchSecurity": SEV},
        {"launchSecurity": SEV},
        conflicting={"launchSecurity": {}},
        conflict="domain.launchSecurity",
    ),
    "nodeSelector": FieldEffect({"nodeSelector": {"pool": "fast"}}, spec={"nodeSelector": {"pool": "fast"}}),
    "schedulerName": FieldEffect({"schedulerName": "packer"}, spec={"schedulerName": "packer"}),
    "annotations": FieldEffect({"annotations": {"a": "1"}}),
}
OPEN_TYPE: JsonObject = {"cpu": {}, "memory": {}}


@dataclass(frozen=True)
class LimitEffect:
    """A limit for VMs, with a size that it allows and a size that it rejects: vCPU count and memory quantity."""

    instancetype: JsonObject
    allowed: tuple[int, str]
    rejected: tuple[int, str]
    field: str


LIMITS = {
    "cpu.limits.min": LimitEffect({"cpu": {"limits": {"min": 2}}}, (2, "1Gi"), (1, "1Gi"), "cpu.guest"),
    "cpu.limits.max": LimitEffect({"cpu": {"limits": {"max": 8}}}, (8, "1Gi"), (9, "1Gi"), "cpu.guest"),
    "cpu.limits.step": LimitEffect({"cpu": {"limits": {"step": 4}}}, (4, "1Gi"), (6, "1Gi"), "cpu.guest"),
    "memory.limits.min": LimitEffect({"memory": {"limits": {"min": "2Gi"}}}, (1, "2Gi"), (1, "1Gi"), "memory.guest"),
    "memory.limits.max": LimitEffect({"memory": {"limits": {"max": "8Gi"}}}, (1, "8Gi"), (1, "9Gi"), "memory.guest"),
    "memory.limits.step": LimitEffect({"memory": {"limits": {"step": "4Gi"}}}, (1, "4Gi"), (1, "6Gi"), "memory.guest"),
    "memory.limits.perVCPU.min": LimitEffect(
        {"memory": {"limits": {"perVCPU": {"min": "2Gi"}}}}, (4, "8Gi"), (4, "7Gi"), "memory.guest"
    ),
    "memory.limits.perVCPU.max": LimitEffect(
        {"memory": {"limits": {"perVCPU": {"max": "2Gi"}}}}, (4, "8Gi"), (4, "9Gi"), "memory.guest"
    ),
}
LIMIT_CASES = [pytest.param(effect, id=path) for path, effect in LIMITS.items()]
GIFT_CASES = [pytest.param(effect, id=path) for path, effect in EFFECTS.items()]
CLASH_CASES = [pytest.param(effect, id=path) for path, effect in EFFECTS.items() if effect.conflict]
FLAVOR_GIFTS = (
    "cpu.model",
    "cpu.dedicatedCPUPlacement",
    "cpu.isolateEmulatorThread",
    "cpu.numa",
    "cpu.realtime",
    "memory.guest",
    "memory.hugepages",
    "gpus",
    "hostDevices",
    "ioThreadsPolicy",
    "launchSecurity",
)


def test_every_field_of_an_instance_type_is_in_the_table() -> None:
    assert {*EFFECTS, *LIMITS} == set(list_fields(VirtualMachineInstancetypeSpec))


def test_every_field_of_a_flavor_is_in_the_table() -> None:
    assert {"cpu.guest", *FLAVOR_GIFTS} == set(list_fields(VirtualMachineFlavorSpec))


@pytest.mark.parametrize("effect", GIFT_CASES)
def test_each_instance_type_field_is_set_in_the_instance(effect: FieldEffect) -> None:
    assert apply_to_spec(instancetype=effect.instancetype) == {
        "domain": {"devices": {}, **SIZED, **effect.domain},
        **effect.spec,
    }


@pytest.mark.parametrize("effect", CLASH_CASES)
def test_vm_field_that_the_instance_type_sets_conflicts(effect: FieldEffect) -> None:
    assert list_conflicts(effect.conflicting, effect.instancetype) == [effect.conflict]


@pytest.mark.parametrize("effect", LIMIT_CASES)
def test_limit_of_an_instance_type_only_restricts_the_size_of_a_vm(effect: LimitEffect) -> None:
    def check(vcpus: int, memory: str) -> list[str]:
        domain = {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}
        spec = build_instancetype_spec(**{**OPEN_TYPE, **effect.instancetype})
        return [one.field for one in check_asked_size(build_spec(domain).domain, spec, "spec")]

    assert check(*effect.allowed) == []
    assert check(*effect.rejected) == [f"spec.domain.{effect.field}"]
    vcpus, memory = effect.rejected
    domain = {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}
    limited = apply_to_spec(domain, {**OPEN_TYPE, **effect.instancetype})
    assert limited == apply_to_spec(domain, OPEN_TYPE)


@pytest.mark.parametrize(
    ("path", "conflicting"),
    [("nodeSelector", {"nodeSelector": {"zone": "a"}}), ("schedulerName", {"schedulerName": "own"})],
    ids=["nodeSelector", "schedulerName"],
)
def test_placement_of_the_vm_conflicts_with_that_of_the_instance_type(path: str, conflicting: JsonObject) -> None:
    assert list_conflicts({}, EFFECTS[path].instancetype, **conflicting) == [path]


def test_annotations_of_the_instance_type_cannot_be_overridden() -> None:
    assert apply_trees(instancetype=EFFECTS["annotations"].instancetype).metadata == {"annotations": {"a": "1"}}
    assert list_conflicts({}, EFFECTS["annotations"].instancetype, annotations={"a": "2"}) == ["annotations.a"]


@pytest.mark.parametrize("path", FLAVOR_GIFTS)
def test_flavor_sets_the_same_fields_as_an_instance_type(path: str) -> None:
    effect = EFFECTS[path]
    spec = build_spec()
    assert apply(Draft(ObjectMeta(), spec), instancetype_spec(build_flavor(**effect.instancetype)), None) == []
    assert to_tree(spec) == {"domain": {"devices": {}, **SIZED, **effect.domain}, **effect.spec}


def test_flavor_vcpus_become_cores() -> None:
    spec = build_spec()
    instancetype = instancetype_spec(build_flavor(cpu={"guest": 4}))
    assert apply(Draft(ObjectMeta(), spec), instancetype, None, layout="cores") == []
    assert to_tree(spec.domain.cpu) == {"sockets": 1, "cores": 4, "threads": 1}
