"""
Every field of an instance type or a flavor gives something, and what it gives is in a table here.

The table is held against the structs: a field added without saying what it gives fails a test.
"""

from dataclasses import dataclass, field

import pytest
from tests.support.build import build_flavor, build_spec
from tests.support.engine import SIZED, apply_to_spec, apply_trees, list_conflicts
from tests.support.fields import list_fields

from virtshape.api.codec import to_tree
from virtshape.api.flavor.v1alpha1 import VirtualMachineFlavorSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.engine.apply import apply
from virtshape.engine.draft import Draft
from virtshape.resolve.find import instancetype_spec

SEV = {"sev": {"policy": {"encryptedState": True}}}


@dataclass(frozen=True)
class Gift:
    """What a field of an instance type gives, and the field of a VM that cannot be set beside it."""

    given: JsonObject
    domain: JsonObject = field(default_factory=dict)
    spec: JsonObject = field(default_factory=dict)
    rival: JsonObject = field(default_factory=dict)
    clash: str | None = None


GIFTS = {
    "cpu.guest": Gift(
        {"cpu": {"guest": 4}},
        {"cpu": {"sockets": 4, "cores": 1, "threads": 1}},
        rival={"cpu": {"guest": 4}},
        clash="domain.cpu.guest",
    ),
    "cpu.topology": Gift(
        {"cpu": {"topology": {"sockets": 3, "cores": 2, "threads": 1}}},
        {"cpu": {"sockets": 3, "cores": 2, "threads": 1}},
        rival={"cpu": {"cores": 2}},
        clash="domain.cpu.cores",
    ),
    "cpu.maxSockets": Gift(
        {"cpu": {"guest": 1, "maxSockets": 8}}, {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "maxSockets": 8}}
    ),
    "cpu.model": Gift(
        {"cpu": {"guest": 1, "model": "Skylake-Server"}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "model": "Skylake-Server"}},
        rival={"cpu": {"model": "host-model"}},
        clash="domain.cpu.model",
    ),
    "cpu.dedicatedCPUPlacement": Gift(
        {"cpu": {"guest": 1, "dedicatedCPUPlacement": True}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "dedicatedCpuPlacement": True}},
        rival={"cpu": {"dedicatedCpuPlacement": True}},
        clash="domain.cpu.dedicatedCPUPlacement",
    ),
    "cpu.isolateEmulatorThread": Gift(
        {"cpu": {"guest": 1, "isolateEmulatorThread": True}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "isolateEmulatorThread": True}},
        rival={"cpu": {"isolateEmulatorThread": True}},
        clash="domain.cpu.isolateEmulatorThread",
    ),
    "cpu.numa": Gift(
        {"cpu": {"guest": 1, "numa": {"guestMappingPassthrough": {}}}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "numa": {"guestMappingPassthrough": {}}}},
        rival={"cpu": {"numa": {}}},
        clash="domain.cpu.numa",
    ),
    "cpu.realtime": Gift(
        {"cpu": {"guest": 1, "realtime": {"mask": "0-3"}}},
        {"cpu": {"sockets": 1, "cores": 1, "threads": 1, "realtime": {"mask": "0-3"}}},
        rival={"cpu": {"realtime": {}}},
        clash="domain.cpu.realtime",
    ),
    "memory.guest": Gift(
        {"memory": {"guest": "4Gi"}},
        {"memory": {"guest": "4Gi"}},
        rival={"memory": {"guest": "4Gi"}},
        clash="domain.memory.guest",
    ),
    "memory.maxGuest": Gift(
        {"memory": {"guest": "1Gi", "maxGuest": "8Gi"}},
        {"memory": {"guest": "1Gi", "maxGuest": "8Gi"}},
        rival={"memory": {"maxGuest": "8Gi"}},
        clash="domain.memory.maxGuest",
    ),
    "memory.hugepages": Gift(
        {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
        {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
        rival={"memory": {"hugepages": {"pageSize": "1Gi"}}},
        clash="domain.memory.hugepages",
    ),
    "memory.overcommitPercent": Gift(
        {"memory": {"guest": "1Gi", "overcommitPercent": 50}},
        {"memory": {"guest": "1Gi"}, "resources": {"requests": {"memory": "512Mi"}}},
        rival={"resources": {"requests": {"memory": "1Gi"}}},
        clash="domain.resources.requests.memory",
    ),
    "gpus": Gift(
        {"gpus": [{"name": "g", "deviceName": "nvidia.com/A100"}]},
        {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/A100"}]}},
        rival={"devices": {"gpus": [{"name": "own"}]}},
        clash="domain.devices.gpus",
    ),
    "hostDevices": Gift(
        {"hostDevices": [{"name": "h", "deviceName": "intel.com/qat"}]},
        {"devices": {"hostDevices": [{"name": "h", "deviceName": "intel.com/qat"}]}},
        rival={"devices": {"hostDevices": [{"name": "own"}]}},
        clash="domain.devices.hostDevices",
    ),
    "ioThreadsPolicy": Gift(
        {"ioThreadsPolicy": "auto"},
        {"ioThreadsPolicy": "auto"},
        rival={"ioThreadsPolicy": "shared"},
        clash="domain.ioThreadsPolicy",
    ),
    "ioThreads": Gift(
        {"ioThreads": {"supplementalPoolThreadCount": 4}},
        {"ioThreads": {"supplementalPoolThreadCount": 4}},
        rival={"ioThreads": {"supplementalPoolThreadCount": 2}},
        clash="domain.ioThreads.supplementalPoolThreadCount",
    ),
    "launchSecurity": Gift(
        {"launchSecurity": SEV}, {"launchSecurity": SEV}, rival={"launchSecurity": {}}, clash="domain.launchSecurity"
    ),
    "nodeSelector": Gift({"nodeSelector": {"pool": "fast"}}, spec={"nodeSelector": {"pool": "fast"}}),
    "schedulerName": Gift({"schedulerName": "packer"}, spec={"schedulerName": "packer"}),
    "annotations": Gift({"annotations": {"a": "1"}}),
}
GIFT_CASES = [pytest.param(gift, id=path) for path, gift in GIFTS.items()]
CLASH_CASES = [pytest.param(gift, id=path) for path, gift in GIFTS.items() if gift.clash]
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
    assert set(GIFTS) == set(list_fields(VirtualMachineInstancetypeSpec))


def test_every_field_of_a_flavor_is_in_the_table() -> None:
    assert {"cpu.guest", *FLAVOR_GIFTS} == set(list_fields(VirtualMachineFlavorSpec))


@pytest.mark.parametrize("gift", GIFT_CASES)
def test_instance_type_sets_its_fields(gift: Gift) -> None:
    assert apply_to_spec(instancetype=gift.given) == {"domain": {"devices": {}, **SIZED, **gift.domain}, **gift.spec}


@pytest.mark.parametrize("gift", CLASH_CASES)
def test_field_set_by_the_instance_type_conflicts(gift: Gift) -> None:
    assert list_conflicts(gift.rival, gift.given) == [gift.clash]


@pytest.mark.parametrize(
    ("path", "rival"),
    [("nodeSelector", {"nodeSelector": {"zone": "a"}}), ("schedulerName", {"schedulerName": "own"})],
    ids=["nodeSelector", "schedulerName"],
)
def test_placement_conflicts_with_the_instance_type(path: str, rival: JsonObject) -> None:
    assert list_conflicts({}, GIFTS[path].given, **rival) == [path]


def test_annotations_of_the_instance_type_cannot_be_changed() -> None:
    assert apply_trees(instancetype=GIFTS["annotations"].given).metadata == {"annotations": {"a": "1"}}
    assert list_conflicts({}, GIFTS["annotations"].given, annotations={"a": "2"}) == ["annotations.a"]


@pytest.mark.parametrize("path", FLAVOR_GIFTS)
def test_flavor_sets_the_same_fields_as_an_instance_type(path: str) -> None:
    gift = GIFTS[path]
    spec = build_spec()
    assert apply(Draft(ObjectMeta(), spec), instancetype_spec(build_flavor(**gift.given)), None) == []
    assert to_tree(spec) == {"domain": {"devices": {}, **SIZED, **gift.domain}, **gift.spec}


def test_flavor_vcpus_become_cores() -> None:
    spec = build_spec()
    given = instancetype_spec(build_flavor(cpu={"guest": 4}))
    assert apply(Draft(ObjectMeta(), spec), given, None, layout="cores") == []
    assert to_tree(spec.domain.cpu) == {"sockets": 1, "cores": 4, "threads": 1}
