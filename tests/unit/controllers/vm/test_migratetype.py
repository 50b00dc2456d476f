"""Planned moves of VMs to another instance type or preference."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.build import (
    build_flavor,
    build_flavor_preference,
    build_instancetype,
    build_preference,
    build_revision,
    build_vm,
)

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.controllers.vm.liveupdate import set_hotplug_limits
from virtshape.controllers.vm.migratetype import plan_move
from virtshape.controllers.vm.newvmi import build_instance
from virtshape.engine.compare import Change
from virtshape.engine.expand import Shape
from virtshape.offline.objects import Objects
from virtshape.resolve.move import Destination, uses, with_destination, write_move

CLUSTER = "VirtualMachineClusterInstancetype"
NAME_ANNOTATION = "metadata.annotations[kubevirt.io/cluster-instancetype-name]"
SMALL = build_instancetype("small")
LARGE = build_instancetype("large", cpu={"guest": 4}, memory={"guest": "4Gi"})
TO_LARGE = Destination("instancetype", CLUSTER, "large")
TO_SMALL = Destination("instancetype", CLUSTER, "small")
GROWN = [
    Change(NAME_ANNOTATION, "small", "large"),
    Change("spec.domain.cpu.sockets", 2, 4),
    Change("spec.domain.memory.guest", "2Gi", "4Gi"),
    Change("spec.domain.resources.requests[memory]", "2Gi", "4Gi"),
]


def build_world(*objects: Model) -> Any:
    return Objects([SMALL, LARGE, *objects]).find


def run(vm: VirtualMachine, size: Any) -> VirtualMachineInstance:
    return set_hotplug_limits(build_instance(vm, Shape(size.spec), None), None)


def retire(found: Any) -> Any:
    return replace(found, metadata=replace(found.metadata, labels={"virtshape.io/lifecycle": "retired"}))


def test_move_lists_the_differences_of_objects_and_instances() -> None:
    move = plan_move(build_vm(instancetype="small"), None, TO_LARGE, build_world())
    assert move.fields == [Change("spec.cpu.guest", 2, 4), Change("spec.memory.guest", "2Gi", "4Gi")]
    assert move.changes == GROWN
    assert (move.applies, move.problems, move.warnings) == ("at start", [], [])


def test_moved_vm_is_compared_with_its_stored_revision() -> None:
    kept = build_revision("kept", to_tree(build_instancetype("small", cpu={"guest": 1})), object_name="small")
    vm = build_vm(instancetype={"name": "small", "revisionName": "kept"})
    move = plan_move(vm, None, TO_LARGE, build_world(kept))
    assert move.changes is not None
    assert Change("spec.domain.cpu.sockets", 1, 4) in move.changes


def test_changes_of_a_move_are_unknown_without_the_stored_revision() -> None:
    vm = build_vm(instancetype={"name": "small", "revisionName": "deleted"})
    move = plan_move(vm, None, TO_LARGE, build_world())
    assert (move.fields, move.changes, move.problems) == (None, None, [])


@pytest.mark.parametrize(
    ("size", "to", "applies", "reason"),
    [
        pytest.param(SMALL, TO_LARGE, "immediately", "", id="growth is hot-plugged"),
        pytest.param(LARGE, TO_SMALL, "at restart", "cannot", id="a guest cannot shrink"),
    ],
)
def test_move_of_a_running_vm_applies_immediately_or_at_a_restart(
    size: Any, to: Destination, applies: str, reason: str
) -> None:
    vm = build_vm(instancetype=size.metadata.name)
    move = plan_move(vm, run(vm, size), to, build_world())
    assert move.applies == applies
    assert bool(move.restart_reason) is bool(reason)


def test_all_reasons_that_prevent_a_move_are_listed() -> None:
    linux = build_preference(requirements={"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}})
    vm = build_vm(instancetype="large", preference="linux")
    move = plan_move(vm, None, TO_SMALL, Objects([retire(SMALL), LARGE, linux]).find)
    failure = "failure checking preference requirements: insufficient"
    assert move.problems == [
        f'{CLUSTER} "small" is retired: new VMs cannot use it',
        f"{failure} CPU resources of 2 vCPU provided by instance type, preference requires 4 vCPU",
        f"{failure} Memory resources of 2Gi provided by instance type, preference requires 4Gi",
    ]
    assert move.changes is None
    assert move.fields is not None


def test_conflict_with_the_new_instancetype_prevents_a_move() -> None:
    selecting = build_instancetype("selecting", nodeSelector={"disk": "fast"})
    vm = build_vm(instancetype="small", template={"nodeSelector": {"zone": "a"}})
    move = plan_move(vm, None, Destination("instancetype", CLUSTER, "selecting"), build_world(selecting))
    assert move.problems == ["VM field(s) spec.template.spec.nodeSelector conflicts with selected instance type"]


def test_size_beyond_the_limits_of_the_new_instancetype_prevents_a_move() -> None:
    limited = build_instancetype("limited", cpu={"limits": {"max": 2}}, memory=None)
    open_size = build_instancetype("open", cpu=None, memory=None)
    vm = build_vm(instancetype="open", cpu_guest=4, memory="1Gi")
    move = plan_move(vm, None, Destination("instancetype", CLUSTER, "limited"), build_world(limited, open_size))
    assert len(move.problems) == 1
    assert "spec.template.spec.domain.cpu.guest" in move.problems[0]


def test_move_to_a_deprecated_object_causes_a_warning() -> None:
    old = replace(SMALL, metadata=replace(SMALL.metadata, labels={"instancetype.kubevirt.io/deprecated": "true"}))
    move = plan_move(build_vm(instancetype="large"), None, TO_SMALL, Objects([old, LARGE]).find)
    assert (move.problems, move.warnings) == ([], [f'{CLUSTER} "small" is deprecated'])


def test_move_to_a_missing_object_is_rejected() -> None:
    with pytest.raises(StatusError, match='"huge" not found'):
        plan_move(build_vm(instancetype="small"), None, Destination("instancetype", CLUSTER, "huge"), build_world())


def test_vm_without_an_instancetype_can_move_to_an_instancetype() -> None:
    vm = build_vm()
    move = plan_move(vm, None, TO_LARGE, build_world())
    assert (move.old, move.fields, move.problems) == (None, None, [])
    assert move.changes is not None


def test_move_to_another_instancetype_clears_the_revision_name() -> None:
    status = {"instancetypeRef": {"name": "small", "controllerRevisionRef": {"name": "kept"}}}
    vm = build_vm(instancetype={"name": "small", "revisionName": "kept"}, status=status)
    moved = with_destination(vm, TO_LARGE)
    assert to_tree(moved)["spec"]["instancetype"] == {"name": "large", "kind": CLUSTER}
    assert moved.status is not None
    assert moved.status.instancetype_ref is None
    assert write_move(vm, TO_LARGE) == {
        "spec": {"instancetype": {"kind": CLUSTER, "name": "large", "revisionName": None}}
    }


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ({"name": "small"}, True),
        ({"name": "small", "kind": "virtualmachineclusterinstancetypes"}, True),
        ({"name": "small", "kind": "VirtualMachineInstancetype"}, False),
        ({"name": "large"}, False),
        (None, False),
    ],
    ids=["default kind", "plural", "namespaced", "other name", "none"],
)
def test_object_used_by_a_vm_is_recognized_in_any_spelling_of_its_kind(matcher: Any, expected: bool) -> None:
    vm = from_tree(to_tree(build_vm(instancetype=matcher)), VirtualMachine)
    assert uses(vm, CLUSTER, "small") is expected


FLAVOR = build_flavor("tiny")
FLAVOR_KIND = "VirtualMachineClusterFlavor"


def test_instancetype_replaces_a_flavor() -> None:
    vm = build_vm(flavor="tiny", preference={"name": "linux", "revisionName": "kept"})
    lookup = build_world(FLAVOR, build_flavor_preference("linux"), build_preference("linux"))
    move = plan_move(vm, None, TO_LARGE, lookup)
    assert (move.problems, move.old and move.old.kind) == ([], FLAVOR_KIND)
    assert move.patch == {
        "spec": {
            "instancetype": {"kind": CLUSTER, "name": "large", "revisionName": None},
            "flavor": None,
            "preference": {"revisionName": None},
        }
    }
    moved = with_destination(vm, TO_LARGE)
    assert (moved.spec.flavor, to_tree(moved.spec.preference)) == (None, {"name": "linux"})


def test_move_from_a_flavor_requires_the_preference_in_the_instancetype_api() -> None:
    vm = build_vm(flavor="tiny", preference="linux")
    with pytest.raises(StatusError, match=r'"linux" not found: the VM uses the preference of this name in flavor\.'):
        plan_move(vm, None, TO_LARGE, build_world(FLAVOR, build_flavor_preference("linux")))


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (FLAVOR_KIND, "tiny", True),
        (CLUSTER, "tiny", False),
        ("VirtualMachineClusterPreference", "linux", False),
    ],
)
def test_vm_with_a_flavor_uses_only_objects_of_the_flavor_api(kind: str, name: str, expected: bool) -> None:
    assert uses(build_vm(flavor="tiny", preference="linux"), kind, name) is expected
