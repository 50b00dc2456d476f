"""Revisions: names, content, selection and references."""

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.build import build_instancetype, build_revision, build_vm

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import encode, to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ManagedFieldsEntry
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.controllers.vm import revisionobjects
from virtshape.controllers.vm.revisionobjects import (
    Origin,
    build_start_revision,
    get_origin,
    has_changed_since,
    is_removable,
    is_same,
    name_revision,
    pin,
    refer_to_revisions,
    require_same_content,
    wants_expansion,
)
from virtshape.controllers.vm.revisionupgrade import build_upgrade, needs_upgrade
from virtshape.resolve.revisions import canonicalize, find_superseded

KIND = "VirtualMachineClusterInstancetype"
CAPTURED: JsonObject = {"name": "small", "kind": KIND, "controllerRevisionRef": {"name": "vm1-small-u-1"}}


def build_small(**spec: Any) -> Any:
    small = build_instancetype("small", **spec)
    small.metadata.uid, small.metadata.generation = "abc", 4
    return small


def build_owner(generation: int = 1, annotations: dict[str, str] | None = None, **vm: Any) -> VirtualMachine:
    owner = build_vm(namespace="ns", **vm)
    owner.metadata.uid, owner.metadata.generation, owner.metadata.annotations = "vm-uid", generation, annotations
    return owner


def test_revision_name_contains_vm_object_uid_and_generation() -> None:
    assert name_revision("vm1", build_small()) == "vm1-small-abc-4"
    assert name_revision("vm1", build_small(), "v1beta2") == "vm1-small-v1beta2-abc-4"


def test_revision_contains_the_object_and_is_owned_by_the_vm() -> None:
    small = build_small()
    small.metadata.managed_fields = [ManagedFieldsEntry(manager="kubectl")]
    revision = revisionobjects.build_revision(build_owner(), small, "vm1-small-abc-4")
    assert to_tree(revision) == {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": "vm1-small-abc-4",
            "namespace": "ns",
            "labels": {
                "instancetype.kubevirt.io/object-name": "small",
                "instancetype.kubevirt.io/object-kind": KIND,
                "instancetype.kubevirt.io/object-uid": "abc",
                "instancetype.kubevirt.io/object-generation": "4",
                "instancetype.kubevirt.io/object-version": "v1beta2",
            },
            "ownerReferences": [
                {
                    "apiVersion": "kubevirt.io/v1",
                    "kind": "VirtualMachine",
                    "name": "vm1",
                    "uid": "vm-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "data": {
            "apiVersion": "instancetype.kubevirt.io/v1beta2",
            "kind": KIND,
            "metadata": {"name": "small", "uid": "abc", "generation": 4},
            "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
        },
        "revision": 0,
    }
    assert small.metadata.managed_fields


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {}, True),
        ({"memory": {"guest": "2048Mi"}}, {"memory": {"guest": "2147483648"}}, True),
        ({"annotations": {}}, {"gpus": []}, True),
        ({"cpu": {"guest": 2}}, {"cpu": {"guest": 3}}, False),
        ({"gpus": [{"name": "a"}]}, {"gpus": [{"name": "b"}]}, False),
    ],
    ids=["equal", "quantities by amount", "empty like absent", "number", "list"],
)
def test_revision_content_is_compared_semantically(one: JsonObject, other: JsonObject, same: bool) -> None:
    assert is_same(build_small(**one).spec, build_small(**other).spec) is same


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1", "v1beta2"])
def test_existing_revision_with_another_api_version_is_accepted(version: str) -> None:
    wanted = revisionobjects.build_revision(build_owner(), build_small(), "r")
    data = {**wanted.data, "apiVersion": f"instancetype.kubevirt.io/{version}"}
    require_same_content(build_revision("r", data), wanted, KIND)


@pytest.mark.parametrize("other", [{"cpu": {"guest": 8}}, {"launchSecurity": {}}], ids=["value", "empty section"])
def test_existing_revision_with_different_content_is_rejected(other: JsonObject) -> None:
    owner = build_owner()
    stored = revisionobjects.build_revision(owner, build_small(**other), "r")
    with pytest.raises(StatusError, match="found existing ControllerRevision with unexpected data: r differs"):
        require_same_content(stored, revisionobjects.build_revision(owner, build_small(), "r"), KIND)


@pytest.mark.parametrize(
    ("vm", "origin"),
    [
        ({"instancetype": "small"}, Origin("live")),
        ({"instancetype": {"name": "small", "revisionName": "r"}}, Origin("spec", "r")),
        ({"instancetype": "small", "status": {"instancetypeRef": CAPTURED}}, Origin("status", "vm1-small-u-1")),
        (
            {
                "instancetype": {"name": "small", "revisionName": "r"},
                "status": {"instancetypeRef": CAPTURED, "desiredGeneration": 4},
            },
            Origin("spec", "r"),
        ),
        (
            {
                "instancetype": {"name": "small", "revisionName": "r"},
                "status": {"instancetypeRef": CAPTURED, "desiredGeneration": 5},
            },
            Origin("status", "vm1-small-u-1"),
        ),
        ({"instancetype": "large", "status": {"instancetypeRef": CAPTURED}}, Origin("live")),
        (
            {
                "instancetype": "small",
                "status": {"instancetypeRef": {**CAPTURED, "kind": "virtualmachineclusterinstancetype"}},
            },
            Origin("status", "vm1-small-u-1"),
        ),
        (
            {
                "instancetype": "small",
                "status": {"instancetypeRef": CAPTURED},
                "annotations": {"virtshape.io/recapture": "preference, instancetype"},
            },
            Origin("live"),
        ),
        (
            {
                "instancetype": {"name": "small", "revisionName": "r"},
                "annotations": {"virtshape.io/recapture": "instancetype"},
            },
            Origin("spec", "r"),
        ),
        (
            {
                "instancetype": "small",
                "status": {"instancetypeRef": CAPTURED},
                "annotations": {"virtshape.io/recapture": "preference,instancetypes,../x"},
            },
            Origin("status", "vm1-small-u-1"),
        ),
    ],
    ids=[
        "never captured",
        "spec",
        "status alone",
        "spec is newer",
        "status is newer",
        "another object",
        "kind of the reference",
        "marked",
        "marked, but named in the spec",
        "another role and unknown values marked",
    ],
)
def test_origin_of_an_instancetype_is_a_revision_or_the_live_object(vm: JsonObject, origin: Origin) -> None:
    owner = build_owner(5, vm.pop("annotations", None), **vm)
    assert owner.spec.instancetype is not None
    assert get_origin(owner, "instancetype", owner.spec.instancetype) == origin


def test_revision_in_the_spec_takes_precedence_if_controllers_write_only_the_status() -> None:
    status = {"instancetypeRef": CAPTURED, "desiredGeneration": 5}
    owner = build_owner(5, instancetype={"name": "small", "revisionName": "r"}, status=status)
    assert owner.spec.instancetype is not None
    assert get_origin(owner, "instancetype", owner.spec.instancetype, in_spec=False) == Origin("spec", "r")


@pytest.mark.parametrize(
    ("data", "old"),
    [
        ({"apiVersion": "instancetype.kubevirt.io/v1beta2", "kind": KIND}, False),
        ({"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": KIND}, True),
        ({"apiVersion": "flavor.kubevirt.io/v1alpha1", "kind": "VirtualMachineFlavor"}, False),
        ({"apiVersion": "", "spec": "e30="}, True),
        ("text", True),
    ],
    ids=["current", "older", "flavor", "spec alone", "no object"],
)
def test_only_old_revision_payloads_need_an_upgrade(data: Any, old: bool) -> None:
    assert needs_upgrade(build_revision("r", data)) is old


@pytest.mark.parametrize(
    ("version", "label", "old"),
    [
        ("v1beta2", "v1beta2", False),
        ("v1beta1", "v1beta1", False),
        ("v1beta1", None, True),
        ("v1beta2", None, True),
        ("v1alpha2", "v1alpha2", True),
    ],
)
def test_revision_named_only_in_the_status_is_upgraded_in_the_same_cases_as_in_kubevirt(
    version: str, label: str | None, old: bool
) -> None:
    revision = build_revision("r", {"apiVersion": f"instancetype.kubevirt.io/{version}", "kind": KIND})
    revision.metadata.labels = {"instancetype.kubevirt.io/object-version": label} if label else None
    assert needs_upgrade(revision, in_spec=False) is old


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ({"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}, "v1beta1"),
        ({"cpu": {"guest": 0}, "memory": {"guest": "2Gi"}}, "v1beta2"),
        ({"cpu": {}, "memory": {}}, "v1beta2"),
    ],
    ids=["sizes", "a size of 0", "no sizes"],
)
def test_revision_in_the_status_is_upgraded_to_a_version_that_kubevirt_reads(spec: JsonObject, version: str) -> None:
    owner = build_owner(instancetype="small")
    assert owner.spec.instancetype is not None
    metadata = {"name": "small", "uid": "u", "generation": 3}
    data = {"apiVersion": "instancetype.kubevirt.io/v1alpha2", "kind": KIND, "metadata": metadata, "spec": spec}
    old = build_revision("old", data)
    upgraded = build_upgrade(owner, old, owner.spec.instancetype, "instancetype", in_spec=False)
    assert upgraded.metadata.name == f"vm1-small-{version}-u-3"
    assert upgraded.data["apiVersion"] == f"instancetype.kubevirt.io/{version}"
    assert not needs_upgrade(upgraded, in_spec=False)


def test_upgraded_revision_has_a_new_name_and_the_same_content() -> None:
    owner = build_owner(instancetype="small")
    assert owner.spec.instancetype is not None
    encoded = base64.b64encode(json.dumps({"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}).encode()).decode()
    old = build_revision("old", {"apiVersion": "", "spec": encoded})
    old.metadata.uid = "r-uid"
    upgraded = build_upgrade(owner, old, owner.spec.instancetype, "instancetype")
    assert upgraded.metadata.name == "vm1-small-v1beta2-r-uid-1"
    assert upgraded.data["spec"] == {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}
    assert find_superseded(upgraded) == "old"
    assert not needs_upgrade(upgraded)


def test_only_revisions_owned_by_the_vm_are_removable() -> None:
    owner = build_owner()
    assert is_removable(revisionobjects.build_revision(owner, build_small(), "r"), owner)
    assert not is_removable(build_revision("r", {}), owner)


def test_pinning_a_vm_sets_revision_names_and_removes_the_recapture_annotation() -> None:
    owner = build_owner(
        instancetype="small", preference="linux", annotations={"virtshape.io/recapture": "instancetype", "own": "1"}
    )
    pinned = pin(owner, {"instancetype": "r"})
    assert to_tree(pinned.spec.instancetype) == {"name": "small", "revisionName": "r"}
    assert to_tree(pinned.spec.preference) == {"name": "linux"}
    assert pinned.metadata.annotations == {"own": "1"}
    assert owner.spec.instancetype is not None
    assert owner.spec.instancetype.revision_name is None
    assert pin(pinned, {"instancetype": "r"}) is pinned


def test_status_reference_is_removed_if_the_spec_has_no_matcher() -> None:
    owner = build_owner(instancetype="small", status={"preferenceRef": {"name": "gone"}, "created": True})
    assert to_tree(refer_to_revisions(owner, {"instancetype": "r"})) == {
        "created": True,
        "instancetypeRef": {"name": "small", "kind": KIND, "controllerRevisionRef": {"name": "r"}},
    }


@pytest.mark.parametrize(
    ("policy", "vm", "expands"),
    [
        (None, {"instancetype": "small"}, False),
        ("reference", {"instancetype": "small"}, False),
        ("expand", {"instancetype": "small"}, True),
        ("expand", {"preference": "linux"}, True),
        ("expand", {"instancetype": "small", "status": {"instancetypeRef": CAPTURED}}, False),
        ("expandAll", {"instancetype": "small", "status": {"instancetypeRef": CAPTURED}}, True),
        ("expandAll", {}, False),
    ],
)
def test_reference_policy_decides_which_vms_are_expanded(policy: str | None, vm: JsonObject, expands: bool) -> None:
    assert wants_expansion(build_owner(**vm), policy) is expands


def test_start_revision_shows_changes_of_template_and_revision_names() -> None:
    vm = build_owner(7, instancetype={"name": "small", "revisionName": "r"}, memory="1Gi")
    start = build_start_revision(vm)
    assert (start.metadata.name, start.revision) == ("revision-start-vm-vm-uid-7", 7)
    assert not has_changed_since(vm, start)
    assert not has_changed_since(replace(vm, spec=replace(vm.spec, run_strategy="Halted")), start)
    assert has_changed_since(build_owner(8, instancetype="small", memory="1Gi"), start)
    assert has_changed_since(build_owner(8, instancetype={"name": "small", "revisionName": "r"}, memory="2Gi"), start)


def test_revision_data_is_encoded_as_in_kube_apiserver() -> None:
    data = {"spec": {"b": 1, "a": "<x> & é\u2028\n"}, "kind": "K"}
    revision = ControllerRevision(api_version="apps/v1", kind="ControllerRevision", data=data, revision=1)
    text = encode(canonicalize(revision)).decode()
    wanted = '{"kind":"K","spec":{"a":"\\u003cx\\u003e \\u0026 é\\u2028\\n","b":1}}'
    assert f'"data":{wanted}' in text
    assert json.loads(text)["data"] == data
