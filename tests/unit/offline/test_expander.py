from typing import Any, cast

import msgspec
import pytest
from tests.support.build import build_instancetype, build_preference, build_source, build_vm

from virtshape import Expander, StatusError
from virtshape.api.codec import encode, from_tree, to_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.quantity import Quantity
from virtshape.catalog import loader as catalog
from virtshape.engine.customize import OPEN, Size, customize

DOMAIN = "spec.template.spec.domain"
ROOT_VOLUME: JsonObject = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]}


def _expand(vm: VirtualMachine, *objects: Model, **options: Any) -> JsonObject:
    tree: JsonObject = msgspec.json.decode(Expander(objects, **options).expand(encode(vm)))
    return tree


def _domain(vm: VirtualMachine, *objects: Model, **options: Any) -> JsonObject:
    domain: JsonObject = _expand(vm, *objects, **options)["spec"]["template"]["spec"]["domain"]
    return domain


def _refuse(vm: VirtualMachine, *objects: Model, **options: Any) -> StatusError:
    with pytest.raises(StatusError) as refusal:
        _expand(vm, *objects, **options)
    return refusal.value


def test_expander_accepts_structs_and_json() -> None:
    vm = build_vm(instancetype="small", preference="linux")
    structs = [build_instancetype(), build_preference()]
    from_json = Expander([encode(each) for each in structs]).expand(encode(vm))
    assert from_json == Expander(structs).expand(encode(vm))


def test_expander_does_not_modify_its_inputs() -> None:
    objects = [build_instancetype(), build_preference(devices={"preferredDiskBus": "virtio"})]
    before = to_tree(objects)
    vm = encode(build_vm(instancetype="small", preference="linux", template=ROOT_VOLUME))
    expander = Expander(objects)
    assert expander.expand(vm) == expander.expand(vm)
    assert to_tree(objects) == before


def test_expander_rejects_other_kinds() -> None:
    text = encode(build_vm()).replace(b'"VirtualMachine"', b'"VirtualMachineInstance"')
    with pytest.raises(StatusError, match="expected a VirtualMachine, got a VirtualMachineInstance"):
        Expander().expand(text)


def test_instancetype_is_inferred_from_a_claim() -> None:
    claim = build_source(
        "PersistentVolumeClaim", "disk", labels={"instancetype.kubevirt.io/default-instancetype": "small"}
    )
    vm = build_vm(instancetype={"inferFromVolume": "root"}, template=ROOT_VOLUME)
    assert _domain(vm, claim, build_instancetype())["memory"] == {"guest": "2Gi"}


def test_expander_returns_warnings() -> None:
    vm = build_vm(
        instancetype={"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"}, template=ROOT_VOLUME
    )
    (warning,) = Expander([build_source("PersistentVolumeClaim", "disk")]).expand_in_place(vm)
    assert warning.startswith(
        "spec.instancetype: unable to find required instancetype.kubevirt.io/default-instancetype"
    )


def test_expander_prefers_given_objects_over_the_catalog() -> None:
    vm = build_vm(instancetype="u1.medium", preference="fedora")
    assert _domain(vm, catalog=True)["memory"] == {"guest": "4Gi"}
    own = build_instancetype("u1.medium", memory={"guest": "3Gi"})
    assert _domain(vm, own, catalog=True)["memory"] == {"guest": "3Gi"}


def test_expander_does_not_use_the_catalog_by_default() -> None:
    assert _refuse(build_vm(instancetype="u1.medium")).code == 404


def test_expander_finds_no_namespaced_objects_in_the_catalog() -> None:
    assert _refuse(build_vm(instancetype="virtualmachineinstancetype/u1.medium"), catalog=True).code == 404


def test_suggestions_include_catalog_and_given_objects() -> None:
    own = build_instancetype("u1.mediums")
    refusal = _refuse(build_vm(instancetype="u1.mediun"), own, catalog=True)
    assert "did you mean u1.medium or u1.mediums" in refusal.message


def test_all_missing_objects_are_reported_at_once() -> None:
    refusal = _refuse(build_vm(instancetype="smal", preference="linus"), build_instancetype(), build_preference())
    assert (refusal.code, refusal.reason) == (404, "NotFound")
    assert [(cause.field, cause.message) for cause in refusal.causes] == [
        (
            "spec.instancetype.name",
            'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "smal" not found; did you mean small?',
        ),
        (
            "spec.preference.name",
            'virtualmachineclusterpreferences.instancetype.kubevirt.io "linus" not found; did you mean linux?',
        ),
    ]


def test_inference_failure_and_missing_object_are_reported_together() -> None:
    vm = build_vm(instancetype={"inferFromVolume": "root"}, preference="none", template=ROOT_VOLUME)
    assert [cause.field for cause in _refuse(vm).causes] == ["spec.template.spec.volumes", "spec.preference.name"]


def test_single_missing_object_has_the_kubernetes_message() -> None:
    assert _refuse(build_vm(instancetype="none")).message == (
        'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "none" not found'
    )


def test_expander_reports_all_conflicts_at_once() -> None:
    refusal = _refuse(build_vm(instancetype="small", memory="1Gi", domain={"cpu": {"cores": 2}}), build_instancetype())
    assert [cause.field for cause in refusal.causes] == [f"{DOMAIN}.cpu.cores", f"{DOMAIN}.memory.guest"]


@pytest.mark.parametrize(
    ("options", "architecture", "machine"),
    [
        ({}, "amd64", "q35"),
        ({"architecture": "arm64"}, "arm64", "virt"),
        ({"configuration": {"defaultArchitecture": "s390x"}}, "s390x", "s390-ccw-virtio"),
        ({"configuration": {"defaultArchitecture": "s390x"}, "architecture": "arm64"}, "arm64", "virt"),
    ],
    ids=["default", "the caller", "the configuration", "the caller before the configuration"],
)
def test_architecture_comes_from_the_caller_or_the_configuration(
    options: JsonObject, architecture: str, machine: str
) -> None:
    if "configuration" in options:
        tree = {"architectureConfiguration": options["configuration"]}
        options = {**options, "configuration": from_tree(tree, KubeVirtConfiguration)}
    spec = _expand(build_vm(instancetype="small"), build_instancetype(), **options)["spec"]["template"]["spec"]
    assert (spec["architecture"], spec["domain"]["machine"]["type"]) == (architecture, machine)


def test_lint_of_an_expander_uses_its_configuration() -> None:
    vm = encode(build_vm(memory="1Gi", domain={"machine": {"type": "pc-i440fx"}}))
    configuration = from_tree({"emulatedMachines": ["pc-i440fx*"]}, KubeVirtConfiguration)
    assert [each.field for each in Expander().lint(vm)] == [f"{DOMAIN}.machine.type"]
    assert Expander(configuration=configuration).lint(vm) == []


@pytest.mark.parametrize("name", catalog.names("VirtualMachineClusterInstancetype"))
def test_vms_with_customized_instancetypes_of_the_catalog_are_valid(name: str) -> None:
    source = cast("VirtualMachineClusterInstancetype", catalog.find("VirtualMachineClusterInstancetype", name))
    for vcpus in (1, 2, 4, 32):
        size = Size(vcpus=vcpus, memory=Quantity(f"{vcpus * 4}Gi"))
        custom = customize(source, "mine", size)
        vm = build_vm(instancetype={"name": "mine", "kind": "VirtualMachineInstancetype"})
        assert [finding.message for finding in Expander([custom]).lint(encode(vm)) if finding.level == "error"] == []


@pytest.mark.parametrize("name", catalog.names("VirtualMachineClusterInstancetype"))
def test_vm_sets_the_size_that_a_customized_instancetype_omits(name: str) -> None:
    source = cast("VirtualMachineClusterInstancetype", catalog.find("VirtualMachineClusterInstancetype", name))
    custom = customize(source, "mine", Size(vcpus=OPEN, memory=OPEN))
    for vcpus in (2, 32):
        matcher = {"name": "mine", "kind": "VirtualMachineInstancetype"}
        vm = build_vm(instancetype=matcher, cpu_guest=vcpus, memory=f"{vcpus * 4}Gi")
        assert [finding.message for finding in Expander([custom]).lint(encode(vm)) if finding.level == "error"] == []
        assert _domain(vm, custom)["cpu"]["sockets"] == vcpus
