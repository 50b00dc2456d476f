"""Planned upgrades of VMs to current instance types and preferences."""

import pytest
from tests.support.build import build_instancetype, build_preference, build_revision, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.controllers.vm.upgrade import (
    Upgrade,
    plan_upgrade,
    release,
    write_release,
    write_spec_release,
    write_status_release,
)
from virtshape.engine.compare import Change
from virtshape.resolve.reference import Reference

GROUP = "instancetype.kubevirt.io"
SIZE = Reference(GROUP, "VirtualMachineClusterInstancetype", "", "small")
TASTE = Reference(GROUP, "VirtualMachineClusterPreference", "", "linux")
MATCHERS: JsonObject = {
    "instancetype": {"name": "small", "revisionName": "kept-size"},
    "preference": {"name": "linux", "revisionName": "kept-taste"},
}


def keep(name: str, model: Model) -> tuple[Reference, Model]:
    return Reference("apps", "ControllerRevision", "default", name), build_revision(name, to_tree(model))


def build_world(size: Model | None, taste: Model | None) -> dict[Reference, Model]:
    live = {SIZE: size, TASTE: taste}
    return {
        **dict([keep("kept-size", SMALL), keep("kept-taste", ON_SOCKETS)]),
        **{reference: model for reference, model in live.items() if model is not None},
    }


def plan(size: Model | None, taste: Model | None, vm: VirtualMachine | None = None) -> Upgrade:
    return plan_upgrade(vm or build_vm(**MATCHERS), build_world(size, taste).get)


SMALL = build_instancetype()
LARGE = build_instancetype(cpu={"guest": 4}, memory={"guest": "4Gi"}, annotations={"size": "large"})
ON_SOCKETS = build_preference(cpu={"preferredCPUTopology": "sockets"})
ON_CORES = build_preference(cpu={"preferredCPUTopology": "cores"})
GROWN = [
    Change("metadata.annotations[size]", None, "large"),
    Change("spec.domain.cpu.sockets", 2, 4),
    Change("spec.domain.memory.guest", "2Gi", "4Gi"),
    Change("spec.domain.resources.requests[memory]", "2Gi", "4Gi"),
]
TURNED = [Change("spec.domain.cpu.sockets", 2, 1), Change("spec.domain.cpu.cores", 1, 2)]


@pytest.mark.parametrize(
    ("size", "taste", "roles", "gone", "changes"),
    [
        pytest.param(SMALL, ON_SOCKETS, [], [], [], id="no newer object"),
        pytest.param(LARGE, ON_SOCKETS, ["instancetype"], [], GROWN, id="a larger size"),
        pytest.param(SMALL, ON_CORES, ["preference"], [], TURNED, id="another topology"),
        pytest.param(None, ON_CORES, ["preference"], ["instancetype"], TURNED, id="deleted instance type"),
        pytest.param(None, None, [], ["instancetype", "preference"], [], id="all objects deleted"),
    ],
)
def test_upgrade_replaces_the_revision_with_the_live_object(
    size: Model | None, taste: Model | None, roles: list[str], gone: list[str], changes: list[Change]
) -> None:
    found = plan(size, taste)
    assert (found.roles, [drift.role for drift in found.gone], found.changes) == (roles, gone, changes)


def test_changes_of_an_upgrade_are_unknown_if_the_revision_is_missing() -> None:
    world = build_world(LARGE, ON_SOCKETS)
    del world[Reference("apps", "ControllerRevision", "default", "kept-size")]
    found = plan_upgrade(build_vm(**MATCHERS), world.get)
    assert (found.roles, found.gone, found.changes, found.has_unknown_changes) == (["instancetype"], [], [], True)


def test_missing_revision_of_a_missing_object_cannot_be_replaced() -> None:
    world = build_world(None, ON_SOCKETS)
    del world[Reference("apps", "ControllerRevision", "default", "kept-size")]
    with pytest.raises(StatusError, match='"small" not found'):
        plan_upgrade(build_vm(**MATCHERS), world.get)


def test_upgrade_of_a_revision_with_an_older_api_version_lists_no_changes() -> None:
    older = dict([keep("kept-size", build_instancetype(version="v1beta1"))])
    found = plan_upgrade(build_vm(**MATCHERS), {**build_world(SMALL, ON_SOCKETS), **older}.get)
    assert (found.roles, found.changes) == (["instancetype"], [])


def test_upgrade_to_a_conflicting_instancetype_is_rejected() -> None:
    vm = build_vm(**MATCHERS, template={"nodeSelector": {"disk": "ssd"}})
    picky = build_instancetype(nodeSelector={"disk": "nvme"})
    with pytest.raises(StatusError, match=r"VMI conflicts with instancetype spec in fields: \[spec.nodeSelector\]"):
        plan(picky, ON_SOCKETS, vm)


def test_vm_without_revisions_has_no_upgrade() -> None:
    assert plan(LARGE, ON_CORES, build_vm(memory="1Gi")) == Upgrade([], [], [])


def test_releasing_revisions_clears_only_the_names_of_the_given_matchers() -> None:
    refs = {"instancetypeRef": {"name": "small"}, "preferenceRef": {"name": "linux"}}
    vm = build_vm(**MATCHERS, status=refs)
    tree = to_tree(release(vm, ["instancetype"]))
    assert (tree["spec"]["instancetype"], tree["spec"]["preference"]) == ({"name": "small"}, MATCHERS["preference"])
    assert tree["status"] == {"preferenceRef": {"name": "linux"}}
    assert to_tree(vm)["status"] == refs


def test_upgrade_patch_requests_new_revisions_with_an_annotation() -> None:
    assert write_release(["instancetype", "preference"]) == {
        "metadata": {"annotations": {"virtshape.io/recapture": "instancetype,preference"}},
        "spec": {"instancetype": {"revisionName": None}, "preference": {"revisionName": None}},
    }


def test_upgrade_patches_for_kubevirt_clear_the_names_in_spec_and_status() -> None:
    assert write_spec_release(["instancetype"]) == {"spec": {"instancetype": {"revisionName": None}}}
    vm = build_vm(**MATCHERS, status={"instancetypeRef": {"name": "small"}})
    assert write_status_release(vm, ["instancetype", "preference"]) == {"status": {"instancetypeRef": None}}
    assert write_status_release(build_vm(**MATCHERS), ["instancetype"]) is None
