from typing import Any

import msgspec
import pytest
from tests.support.build import (
    Tree,
    build_instancetype,
    build_preference,
    build_source,
    build_vm,
)

from virtshape import Expander, StatusError
from virtshape.api.codec import encode, from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model

DOMAIN = "spec.template.spec.domain"
ROOT_VOLUME: Tree = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]}


def _expand(vm: VirtualMachine, *objects: Model, **options: Any) -> Tree:
    tree: Tree = msgspec.json.decode(Expander(objects, **options).expand(encode(vm)))
    return tree


def _domain(vm: VirtualMachine, *objects: Model, **options: Any) -> Tree:
    domain: Tree = _expand(vm, *objects, **options)["spec"]["template"]["spec"]["domain"]
    return domain


def _refuse(vm: VirtualMachine, *objects: Model, **options: Any) -> StatusError:
    with pytest.raises(StatusError) as refusal:
        _expand(vm, *objects, **options)
    return refusal.value


def test_objects_come_as_structs_or_as_json() -> None:
    vm = build_vm(instancetype="small", preference="linux")
    structs = [build_instancetype(), build_preference()]
    from_json = Expander([encode(each) for each in structs]).expand(encode(vm))
    assert from_json == Expander(structs).expand(encode(vm))


def test_what_is_given_is_never_changed() -> None:
    objects = [build_instancetype(), build_preference(devices={"preferredDiskBus": "virtio"})]
    before = to_tree(objects)
    vm = encode(build_vm(instancetype="small", preference="linux", template=ROOT_VOLUME))
    expander = Expander(objects)
    assert expander.expand(vm) == expander.expand(vm)
    assert to_tree(objects) == before


def test_only_a_vm_can_be_expanded() -> None:
    text = encode(build_vm()).replace(b'"VirtualMachine"', b'"VirtualMachineInstance"')
    with pytest.raises(StatusError, match="expected a VirtualMachine, got a VirtualMachineInstance"):
        Expander().expand(text)


def test_an_instance_type_can_be_inferred_from_a_claim() -> None:
    claim = build_source(
        "PersistentVolumeClaim", "disk", labels={"instancetype.kubevirt.io/default-instancetype": "small"}
    )
    vm = build_vm(instancetype={"inferFromVolume": "root"}, template=ROOT_VOLUME)
    assert _domain(vm, claim, build_instancetype())["memory"] == {"guest": "2Gi"}


def test_what_its_owner_should_know_comes_back_beside_the_vm() -> None:
    vm = build_vm(
        instancetype={"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"}, template=ROOT_VOLUME
    )
    (warning,) = Expander([build_source("PersistentVolumeClaim", "disk")]).expand_in_place(vm)
    assert warning.startswith(
        "spec.instancetype: unable to find required instancetype.kubevirt.io/default-instancetype"
    )


def test_the_catalogue_stands_behind_the_objects_given() -> None:
    vm = build_vm(instancetype="u1.medium", preference="fedora")
    assert _domain(vm, catalog=True)["memory"] == {"guest": "4Gi"}
    own = build_instancetype("u1.medium", memory={"guest": "3Gi"})
    assert _domain(vm, own, catalog=True)["memory"] == {"guest": "3Gi"}


def test_the_catalogue_is_left_out_unless_asked_for() -> None:
    assert _refuse(build_vm(instancetype="u1.medium")).code == 404


def test_the_catalogue_holds_cluster_wide_objects_only() -> None:
    assert _refuse(build_vm(instancetype="virtualmachineinstancetype/u1.medium"), catalog=True).code == 404


def test_names_of_the_catalogue_are_suggested_with_those_given() -> None:
    own = build_instancetype("u1.mediums")
    refusal = _refuse(build_vm(instancetype="u1.mediun"), own, catalog=True)
    assert "did you mean u1.medium or u1.mediums" in refusal.message


def test_everything_that_is_not_there_is_named_at_once() -> None:
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


def test_what_cannot_be_inferred_does_not_hide_what_is_not_there() -> None:
    vm = build_vm(instancetype={"inferFromVolume": "root"}, preference="none", template=ROOT_VOLUME)
    assert [cause.field for cause in _refuse(vm).causes] == ["spec.template.spec.volumes", "spec.preference.name"]


def test_a_lone_missing_object_is_told_as_it_is() -> None:
    assert _refuse(build_vm(instancetype="none")).message == (
        'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "none" not found'
    )


def test_all_conflicts_are_named_at_once() -> None:
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
    ids=["nobody says", "the caller", "the configuration", "the caller before the configuration"],
)
def test_the_architecture_is_what_somebody_says(options: Tree, architecture: str, machine: str) -> None:
    if "configuration" in options:
        tree = {"architectureConfiguration": options["configuration"]}
        options = {**options, "configuration": from_tree(tree, KubeVirtConfiguration)}
    spec = _expand(build_vm(instancetype="small"), build_instancetype(), **options)["spec"]["template"]["spec"]
    assert (spec["architecture"], spec["domain"]["machine"]["type"]) == (architecture, machine)
