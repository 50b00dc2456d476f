"""Shared revisions: their names, contents, and which existing revisions are copies of an object."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.build import build_vm

from virtshape.api.codec import from_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.kubevirt.configuration import InstancetypeConfiguration, KubeVirtConfiguration
from virtshape.api.meta import OwnerReference
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import SHARED_REVISION_LABEL
from virtshape.controllers.vm.sharedrevisionobjects import (
    build_shared_revision,
    drop_owners,
    is_name_of_shared_revision,
    is_shared,
    is_shared_copy,
    list_owner_uids,
    name_shared_revision,
    shares_revisions,
    write_former_owners,
    write_new_owners,
)

UID = "b0f5bb5c-4a4e-4a6a-8fd8-0b6a8a6d2f0e"
VM = replace(build_vm(namespace="team"), metadata=replace(build_vm(namespace="team").metadata, uid="vm-uid"))
OWNER = OwnerReference("vm1", "kubevirt.io/v1", "VirtualMachine", "vm-uid")


def build_source(guest: int = 2, **metadata: Any) -> VirtualMachineClusterInstancetype:
    tree: JsonObject = {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "u1.small", "uid": UID, "generation": 3, **metadata},
        "spec": {"cpu": {"guest": guest}, "memory": {"guest": "2Gi"}},
    }
    return from_tree(tree, VirtualMachineClusterInstancetype)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, False), ("PerVM", False), ("Namespace", True)],
    ids=["absent", "PerVM", "Namespace"],
)
def test_setting_decides_whether_vms_share_revisions(setting: Any, expected: bool) -> None:
    configuration = KubeVirtConfiguration(instancetype=InstancetypeConfiguration(revision_sharing=setting))
    assert shares_revisions(configuration) is expected
    assert not shares_revisions(None)


@pytest.mark.parametrize(("number", "name"), [(1, f"u1.small-{UID}-3"), (2, f"u1.small-{UID}-3-2")])
def test_name_of_a_shared_revision_contains_object_generation_and_copy_number(number: int, name: str) -> None:
    assert name_shared_revision(build_source(), number) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"u1.small-{UID}-3", True),
        (f"u1.small-{UID}-3-2", True),
        (f"u1.small-{UID}-3-17", True),
        (f"u1.small-{UID}-3-1", False),
        (f"u1.small-{UID}-3-x", False),
        (f"u1.small-{UID}-4", False),
        (f"u1.small-{UID}-30", False),
        (f"vm1-u1.small-{UID}-3", False),
    ],
)
def test_names_of_shared_revisions_are_recognized(name: str, expected: bool) -> None:
    assert is_name_of_shared_revision(name, build_source()) is expected


def test_shared_revision_has_owners_without_a_controller() -> None:
    other = replace(VM, metadata=replace(VM.metadata, name="vm2", uid="other-uid"))
    revision = build_shared_revision([VM, other], build_source(), "name")
    assert revision.metadata.owner_references == [OWNER, replace(OWNER, name="vm2", uid="other-uid")]
    assert (revision.metadata.namespace, revision.metadata.name) == ("team", "name")
    assert is_shared(revision)
    assert list_owner_uids(revision) == ["vm-uid", "other-uid"]
    assert drop_owners(revision).metadata.owner_references is None


def test_only_shared_revisions_are_indexed_by_owner() -> None:
    revision = build_shared_revision([VM], build_source(), "name")
    revision.metadata.labels = {}
    assert list_owner_uids(revision) == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(build_source(), True, id="same"),
        pytest.param(build_source(labels={"a": "b"}), True, id="other labels of the object"),
        pytest.param(build_source(guest=64), False, id="other content"),
        pytest.param(build_source(uid="another"), False, id="other object"),
        pytest.param(build_source(generation=4), False, id="other generation"),
        pytest.param(build_source(name="u1.large"), False, id="other name"),
    ],
)
def test_revision_is_a_copy_if_its_labels_and_content_match_the_object(
    source: VirtualMachineClusterInstancetype, expected: bool
) -> None:
    assert is_shared_copy(build_shared_revision([VM], source, "name"), build_source()) is expected


@pytest.mark.parametrize(
    "data", [None, "text", {"apiVersion": "v1", "kind": "Pod"}], ids=["none", "text", "other kind"]
)
def test_revision_without_the_data_of_an_instancetype_is_not_a_copy(data: Any) -> None:
    revision = replace(build_shared_revision([VM], build_source(), "name"), data=data)
    assert not is_shared_copy(revision, build_source())


def test_revision_without_the_label_is_not_a_copy() -> None:
    revision = build_shared_revision([VM], build_source(), "name")
    assert revision.metadata.labels is not None
    del revision.metadata.labels[SHARED_REVISION_LABEL]
    assert not is_shared_copy(revision, build_source())


def test_patch_of_owners_contains_only_changed_owners() -> None:
    revision = build_shared_revision([VM], build_source(), "name")
    revision.metadata = replace(revision.metadata, uid="u", resource_version="7")
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm1", "uid": "vm-uid"}
    assert write_new_owners("u", [VM]) == {"metadata": {"uid": "u", "ownerReferences": [tree]}}
    assert write_former_owners(revision, ["vm-uid"]) == {
        "metadata": {"uid": "u", "resourceVersion": "7", "ownerReferences": [{"$patch": "delete", "uid": "vm-uid"}]}
    }
