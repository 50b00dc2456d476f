"""Expansion and checks do not modify their inputs, and changes to a result do not modify the inputs."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.admission import check_vm, mutate_vm
from tests.support.build import (
    build_flavor,
    build_flavor_preference,
    build_instancetype,
    build_preference,
    build_vm,
)
from tests.support.strategies import structs

from virtshape.api.codec import decode, encode
from virtshape.api.instancetype import v1beta2
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import Firmware
from virtshape.api.kubevirt.features import Clock, Features
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.engine.apply import apply
from virtshape.engine.draft import Draft
from virtshape.engine.expand import Shape
from virtshape.engine.vmidefaults import apply_instance_defaults
from virtshape.offline.expander import Expander
from virtshape.offline.objects import Objects

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
GROUP = "instancetype.kubevirt.io/v1beta2"

RICH_TYPE: JsonObject = {
    "cpu": {"guest": 4, "numa": {"guestMappingPassthrough": {}}, "realtime": {"mask": "0"}},
    "memory": {"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}},
    "gpus": [{"name": "g", "deviceName": "d"}],
    "hostDevices": [{"name": "h", "deviceName": "d"}],
    "ioThreads": {"supplementalPoolThreadCount": 2},
    "launchSecurity": {"sev": {"policy": {}}},
    "nodeSelector": {"pool": "fast"},
    "annotations": {"a": "1"},
}
RICH_PREFERENCE: JsonObject = {
    "cpu": {"preferredCPUFeatures": [{"name": "vmx"}]},
    "devices": {
        "preferredDiskBus": "virtio",
        "preferredDiskBlockSize": {"matchVolume": {}},
        "preferredInterfaceMasquerade": {},
        "preferredPanicDeviceModel": "isa",
        "preferredRng": {},
        "preferredTPM": {},
        "preferredVirtualGPUOptions": {"display": {}},
    },
    "features": {
        "preferredAcpi": {},
        "preferredSmm": {},
        "preferredHyperv": {"relaxed": {}, "synictimer": {"direct": {}}},
    },
    "firmware": {"preferredEfi": {}},
    "clock": {"preferredClockOffset": {"utc": {}}, "preferredTimer": {"hpet": {}, "rtc": {}}},
    "volumes": {"preferredStorageClassName": "fast"},
    "annotations": {"b": "1"},
}
TEMPLATE: JsonObject = {"volumes": [{"name": "root", "containerDisk": {"image": "fedora:40"}}]}

wide = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def build_rich_vm(name: str = "vm1", **vm: Any) -> VirtualMachine:
    templates = [{"metadata": {"name": "dv"}, "spec": {"storage": {}}}]
    return build_vm(name=name, template=TEMPLATE, annotations={"c": "1"}, dataVolumeTemplates=templates, **vm)


@st.composite
def vms(draw: st.DrawFn) -> VirtualMachine:
    """Generate VMs that set every part of the domain except the size."""
    vm = build_vm(instancetype="type", preference="preference", template=TEMPLATE)
    assert vm.spec.template.spec is not None
    domain = vm.spec.template.spec.domain
    domain.devices = draw(structs(Devices))
    domain.features = draw(st.none() | structs(Features))
    domain.firmware = draw(st.none() | structs(Firmware))
    domain.clock = draw(st.none() | structs(Clock))
    return vm


INSTANCETYPES = structs(VirtualMachineInstancetypeSpec)
PREFERENCES = structs(VirtualMachinePreferenceSpec)


@wide
@given(INSTANCETYPES, PREFERENCES, vms())
def test_applying_does_not_modify_instancetype_or_preference(
    instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec, vm: VirtualMachine
) -> None:
    before = encode(instancetype), encode(preference)
    assert vm.spec.template.spec is not None
    spec = vm.spec.template.spec
    if not apply(Draft(ObjectMeta(), spec), instancetype, preference):
        apply_instance_defaults(spec, None, firmware_uuid=UUID)
    assert (encode(instancetype), encode(preference)) == before


@wide
@given(INSTANCETYPES, PREFERENCES, vms())
def test_check_and_start_do_not_modify_their_inputs(
    instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec, vm: VirtualMachine
) -> None:
    shape = Shape(instancetype, preference)
    before = encode(vm), encode(instancetype), encode(preference)
    if not check_vm(vm, shape):
        make_instance(vm, shape, firmware_uuid=UUID)
    assert (encode(vm), encode(instancetype), encode(preference)) == before


@wide
@given(INSTANCETYPES, PREFERENCES, vms())
def test_expander_is_deterministic_and_does_not_modify_its_objects(
    instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec, vm: VirtualMachine
) -> None:
    objects: list[Model] = [
        v1beta2.VirtualMachineClusterInstancetype(
            api_version=GROUP,
            kind="VirtualMachineClusterInstancetype",
            metadata=ObjectMeta(name="type"),
            spec=instancetype,
        ),
        v1beta2.VirtualMachineClusterPreference(
            api_version=GROUP,
            kind="VirtualMachineClusterPreference",
            metadata=ObjectMeta(name="preference"),
            spec=preference,
        ),
    ]
    before = [encode(item) for item in objects]
    expander, asked = Expander(objects), encode(vm)
    assert expand(expander, asked) == expand(expander, asked)
    assert [encode(item) for item in objects] == before


def expand(expander: Expander, vm: bytes) -> bytes | str:
    try:
        return expander.expand(vm)
    except StatusError as error:
        return error.message


def test_expansion_does_not_depend_on_earlier_expansions() -> None:
    expander = Expander([build_instancetype("type", **RICH_TYPE), build_preference("preference", **RICH_PREFERENCE)])
    first = expander.expand(encode(build_rich_vm(instancetype="type", preference="preference")))
    others = [expander.expand(encode(build_rich_vm(f"vm{n}", instancetype="type"))) for n in range(3)]
    assert len(set(others)) == len(others)
    assert expander.expand(encode(build_rich_vm(instancetype="type", preference="preference"))) == first


@pytest.mark.parametrize(
    ("vm", "objects"),
    [
        (
            {"instancetype": "type", "preference": "preference"},
            [build_instancetype("type", **RICH_TYPE), build_preference("preference", **RICH_PREFERENCE)],
        ),
        (
            {"flavor": "type", "preference": "preference"},
            [
                build_flavor("type", gpus=RICH_TYPE["gpus"], launchSecurity={"sev": {}}),
                build_flavor_preference(
                    "preference", features=RICH_PREFERENCE["features"], clock=RICH_PREFERENCE["clock"]
                ),
            ],
        ),
    ],
    ids=["instance type", "flavor"],
)
def test_modified_expansion_result_does_not_affect_the_next(vm: JsonObject, objects: list[Model]) -> None:
    expander = Expander(objects)
    untouched = expander.expand(encode(build_rich_vm("second", **vm)))
    clear_tree(json.loads(expander.expand(encode(build_rich_vm("first", **vm)))))
    first = decode(expander.expand(encode(build_rich_vm("first", **vm))), VirtualMachine)
    clear_struct(first)
    assert expander.expand(encode(build_rich_vm("second", **vm))) == untouched


def test_mutate_vm_modifies_only_its_argument() -> None:
    preference = build_preference("preference", **RICH_PREFERENCE)
    vm = build_rich_vm(preference="preference")
    copy = decode(encode(vm), VirtualMachine)
    before = encode(vm), encode(preference)
    assert mutate_vm(copy, Objects([preference])).vm is copy
    assert encode(copy) != before[0]
    assert (encode(vm), encode(preference)) == before


def clear_tree(tree: Any) -> None:
    """Remove all items from a tree, recursively."""
    children = list(tree.values()) if isinstance(tree, dict) else list(tree)
    for child in children:
        if isinstance(child, dict | list):
            clear_tree(child)
    tree.clear()


def clear_struct(value: Any) -> None:
    """Unset every field of a struct recursively."""
    for name in value.__struct_fields__:
        child = getattr(value, name)
        for item in child if isinstance(child, list) else [child]:
            if isinstance(item, Model):
                clear_struct(item)
        setattr(value, name, None)
