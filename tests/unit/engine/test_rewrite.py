"""VMs that are rewritten to use an instance type."""

from copy import deepcopy
from typing import Any

from tests.support.build import build_instancetype_spec

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflicts import check_conflicts
from virtshape.engine.expand import draft_template
from virtshape.engine.rewrite import Rewritten, use_instancetype

KIND = "VirtualMachineClusterInstancetype"
SIZE = {"cpu": {"guest": 4}, "memory": {"guest": "8Gi"}}


def build_vm(domain: JsonObject, *, annotations: JsonObject | None = None, **spec: Any) -> JsonObject:
    template: JsonObject = {"spec": {"domain": {"devices": {}, **domain}}}
    if annotations:
        template["metadata"] = {"annotations": annotations}
    metadata = {"name": "web", "resourceVersion": "7"}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": metadata,
        "spec": {"runStrategy": "Always", **spec, "template": template},
        "status": {"ready": True},
    }


def rewrite(vm: JsonObject, **instancetype: Any) -> Rewritten:
    before = deepcopy(vm)
    spec = build_instancetype_spec(**instancetype)
    result = use_instancetype(vm, from_tree(vm, VirtualMachine), KIND, "size", spec)
    assert vm == before
    assert check_conflicts(draft_template(from_tree(result.tree, VirtualMachine)), spec, TEMPLATE_ROOT) == []
    return result


def test_plain_vm_is_rewritten_to_use_an_instancetype() -> None:
    domain: JsonObject = {
        "cpu": {"cores": 4, "model": "host-model"},
        "memory": {"guest": "6Gi"},
        "resources": {"requests": {"memory": "5Gi", "cpu": "1"}},
    }
    tree, removed = rewrite(build_vm(domain, preference={"name": "fedora"}), **SIZE)
    assert tree == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "resourceVersion": "7"},
        "spec": {
            "runStrategy": "Always",
            "preference": {"name": "fedora"},
            "instancetype": {"kind": KIND, "name": "size"},
            "template": {"spec": {"domain": {"devices": {}, "cpu": {"model": "host-model"}}}},
        },
    }
    assert [field.removeprefix("spec.template.spec.domain.") for field in removed] == [
        "resources.requests.cpu",
        "cpu.cores",
        "memory.guest",
        "resources.requests.memory",
    ]


def test_vm_settings_that_do_not_conflict_are_kept() -> None:
    domain: JsonObject = {"cpu": {"dedicatedCpuPlacement": True}, "memory": {"hugepages": {"pageSize": "2Mi"}}}
    tree, removed = rewrite(build_vm(domain), **SIZE)
    assert tree["spec"]["template"]["spec"]["domain"] == {"devices": {}, **domain}
    assert removed == []


def test_vm_settings_that_the_instancetype_also_has_are_removed() -> None:
    domain: JsonObject = {"cpu": {"dedicatedCpuPlacement": True}, "memory": {"hugepages": {"pageSize": "2Mi"}}}
    given = {
        "cpu": {"guest": 4, "dedicatedCPUPlacement": True},
        "memory": {"guest": "8Gi", "hugepages": {"pageSize": "2Mi"}},
    }
    tree, _ = rewrite(build_vm(domain), **given)
    assert tree["spec"]["template"]["spec"]["domain"] == {"devices": {}}


def test_annotation_that_conflicts_with_the_instancetype_is_removed() -> None:
    annotations = {"example.com/policy": "a", "other": "b"}
    tree, removed = rewrite(build_vm({}, annotations=annotations), annotations={"example.com/policy": "c"}, **SIZE)
    assert tree["spec"]["template"]["metadata"] == {"annotations": {"other": "b"}}
    assert removed == ["annotations.example.com/policy"]


def test_reference_to_another_instancetype_is_replaced() -> None:
    vm = build_vm({}, instancetype={"name": "old", "kind": "VirtualMachineInstancetype", "revisionName": "old-1"})
    assert rewrite(vm, **SIZE).tree["spec"]["instancetype"] == {"kind": KIND, "name": "size"}
