"""Matchers are resolved to revisions before live objects, and revision payloads of all versions are decoded."""

import base64
import json
from typing import Any

import pytest
from tests.support.build import (
    build_flavor,
    build_flavor_preference,
    build_instancetype,
    build_instancetype_spec,
    build_preference,
    build_preference_spec,
    build_revision,
    build_vm,
)

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.engine.expand import Shape
from virtshape.offline.objects import Objects
from virtshape.resolve.find import find_object, get_shape
from virtshape.resolve.matcher import Role
from virtshape.resolve.reference import NotFoundError

SPEC: JsonObject = {"cpu": {"guest": 8}, "memory": {"guest": "8Gi"}}
PREFERENCE: JsonObject = {"devices": {"preferredDiskBus": "virtio"}}
LIVE = build_instancetype("small")
KEPT = build_instancetype_spec(**SPEC)


def resolve(vm: Any, *objects: Model) -> Shape:
    return get_shape(vm, Objects(objects).find)


def payload(version: str, kind: str = "VirtualMachineClusterInstancetype", spec: JsonObject = SPEC) -> JsonObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "small"}, "spec": spec}


def encoded(spec: JsonObject) -> JsonObject:
    return {"apiVersion": "", "spec": base64.b64encode(json.dumps(spec).encode()).decode()}


def test_vm_without_matchers_has_an_empty_shape() -> None:
    assert resolve(build_vm()) == Shape()


def test_instancetype_and_preference_are_found() -> None:
    vm = build_vm(instancetype="small", preference="linux")
    assert resolve(vm, LIVE, build_preference("linux", **PREFERENCE)) == Shape(
        LIVE.spec, build_preference_spec(**PREFERENCE)
    )


def test_namespaced_and_cluster_wide_objects_are_distinguished() -> None:
    wide, own = build_instancetype("a", cpu={"guest": 1}), build_instancetype("a", namespace="lab", cpu={"guest": 3})
    other = build_instancetype("a", namespace="default", cpu={"guest": 5})
    vm = build_vm(instancetype="virtualmachineinstancetypes/a", namespace="lab")
    assert resolve(vm, wide, own, other).instancetype == own.spec
    assert resolve(build_vm(instancetype="a", namespace="lab"), wide, own, other).instancetype == wide.spec
    assert resolve(build_vm(instancetype="VirtualMachineInstancetype/a"), wide, own, other).instancetype == other.spec


@pytest.mark.parametrize(
    ("role", "field", "resource"),
    [
        ("instancetype", "spec.instancetype.name", "virtualmachineclusterinstancetypes.instancetype.kubevirt.io"),
        ("preference", "spec.preference.name", "virtualmachineclusterpreferences.instancetype.kubevirt.io"),
        ("flavor", "spec.flavor.name", "virtualmachineclusterflavors.flavor.kubevirt.io"),
    ],
)
def test_error_for_a_missing_object_names_the_object_and_the_field(role: str, field: str, resource: str) -> None:
    matchers: JsonObject = {role: "gone"}
    with pytest.raises(NotFoundError) as missing:
        resolve(build_vm(**matchers))
    assert missing.value.message == f'{resource} "gone" not found'
    assert missing.value.field == field


def test_matcher_with_an_unexpected_kind_is_rejected() -> None:
    with pytest.raises(StatusError, match="got unexpected kind in InstancetypeMatcher: Pod"):
        resolve(build_vm(instancetype="Pod/small"), LIVE)


def test_vm_with_a_flavor_uses_cores_and_preferences_of_the_flavor_group() -> None:
    tiny, linux = build_flavor("tiny"), build_flavor_preference("linux", **PREFERENCE)
    other = build_preference("linux", devices={"preferredDiskBus": "sata"})
    shape = resolve(build_vm(flavor="tiny", preference="linux"), tiny, linux, other)
    assert shape == Shape(build_instancetype_spec(), build_preference_spec(**PREFERENCE), "cores")


def test_preference_without_a_flavor_is_not_found_in_the_flavor_group() -> None:
    with pytest.raises(NotFoundError, match=r"instancetype\.kubevirt\.io"):
        resolve(build_vm(preference="linux"), build_flavor_preference("linux", **PREFERENCE))


def test_preference_with_a_flavor_is_not_found_in_the_instancetype_group() -> None:
    with pytest.raises(NotFoundError, match=r"virtualmachineclusterflavorpreferences\.flavor\.kubevirt\.io"):
        resolve(
            build_vm(flavor="tiny", preference="linux"), build_flavor("tiny"), build_preference("linux", **PREFERENCE)
        )


def test_flavor_with_an_instancetype_is_rejected() -> None:
    with pytest.raises(StatusError) as refused:
        resolve(build_vm(flavor="tiny", instancetype="small"), build_flavor("tiny"), LIVE)
    assert refused.value.code == 422
    assert [cause.field for cause in refused.value.causes] == ["spec.flavor"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encoded(SPEC), id="base64 of the spec"),
        pytest.param({**encoded(SPEC), "apiVersion": "instancetype.kubevirt.io/v1alpha1"}, id="base64 and a version"),
        pytest.param(payload("instancetype.kubevirt.io/v1alpha1"), id="v1alpha1"),
        pytest.param(payload("instancetype.kubevirt.io/v1alpha2"), id="v1alpha2"),
        pytest.param(payload("instancetype.kubevirt.io/v1beta1"), id="v1beta1"),
        pytest.param(payload("instancetype.kubevirt.io/v1beta2"), id="v1beta2"),
        pytest.param(payload("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype"), id="of a namespace"),
    ],
)
@pytest.mark.parametrize("place", ["spec", "status"])
def test_revision_payloads_of_all_versions_are_decoded(data: JsonObject, place: str) -> None:
    revision = build_revision("r", data, object_name="small")
    if place == "spec":
        vm = build_vm(instancetype={"name": "small", "revisionName": "r"})
    else:
        vm = build_vm(instancetype="small", status={"instancetypeRef": {"controllerRevisionRef": {"name": "r"}}})
    assert resolve(vm, LIVE, revision).instancetype == KEPT


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        ("v1alpha1", PREFERENCE),
        ("v1alpha2", PREFERENCE),
        ("v1beta1", PREFERENCE),
        ("v1beta2", PREFERENCE),
        (None, PREFERENCE),
    ],
)
def test_preference_revision_payloads_are_decoded(version: str | None, spec: JsonObject) -> None:
    kind = "VirtualMachineClusterPreference"
    data = payload(f"instancetype.kubevirt.io/{version}", kind, spec) if version else encoded(spec)
    vm = build_vm(preference={"name": "linux", "revisionName": "r"})
    assert resolve(vm, build_revision("r", data)).preference == build_preference_spec(**PREFERENCE)


@pytest.mark.parametrize("role", ["flavor", "preference"])
@pytest.mark.parametrize("is_object", [True, False], ids=["complete object", "base64 of the spec"])
def test_flavor_group_revision_payloads_are_decoded(role: str, is_object: bool) -> None:
    kind, spec = (
        ("VirtualMachineClusterFlavor", SPEC) if role == "flavor" else ("VirtualMachineClusterPreference", PREFERENCE)
    )
    data = payload("flavor.kubevirt.io/v1alpha1", kind, spec) if is_object else encoded(spec)
    named: JsonObject = {"flavor": "tiny", "preference": "linux"}
    vm = build_vm(**{**named, role: {"name": named[role], "revisionName": "r"}})
    shape = resolve(
        vm, build_revision("r", data), build_flavor("tiny", **SPEC), build_flavor_preference("linux", **PREFERENCE)
    )
    assert shape == Shape(KEPT, build_preference_spec(**PREFERENCE), "cores")


def test_revision_in_spec_takes_precedence_over_status() -> None:
    vm = build_vm(
        instancetype={"name": "small", "revisionName": "new"},
        status={"instancetypeRef": {"controllerRevisionRef": {"name": "old"}}},
    )
    new = build_revision("new", payload("instancetype.kubevirt.io/v1beta2"), object_name="small")
    old = build_revision("old", encoded({"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}), object_name="small")
    assert resolve(vm, LIVE, new, old).instancetype == KEPT


@pytest.mark.parametrize("object_name", ["other", None], ids=["of another object", "unlabelled"])
def test_status_revision_of_another_object_is_ignored(object_name: str | None) -> None:
    vm = build_vm(instancetype="small", status={"instancetypeRef": {"controllerRevisionRef": {"name": "r"}}})
    assert resolve(vm, LIVE, build_revision("r", encoded(SPEC), object_name=object_name)).instancetype == LIVE.spec


@pytest.mark.parametrize("kind", ["VirtualMachineInstancetype", "VirtualMachineClusterPreference", "Pod"])
def test_kind_of_a_status_reference_is_ignored(kind: str) -> None:
    status = {"instancetypeRef": {"name": "small", "kind": kind, "controllerRevisionRef": {"name": "r"}}}
    vm = build_vm(instancetype="small", status=status)
    assert resolve(vm, LIVE, build_revision("r", encoded(SPEC), object_name="small")).instancetype == KEPT


@pytest.mark.parametrize("status", [{}, {"instancetypeRef": {}}, {"instancetypeRef": {"controllerRevisionRef": {}}}])
def test_live_object_is_used_without_a_status_revision(status: JsonObject) -> None:
    assert resolve(build_vm(instancetype="small", status=status), LIVE).instancetype == LIVE.spec


def test_revision_is_used_after_its_object_is_deleted() -> None:
    vm = build_vm(instancetype={"name": "gone", "revisionName": "r"})
    assert resolve(vm, build_revision("r", encoded(SPEC))).instancetype == KEPT


@pytest.mark.parametrize(
    ("vm", "field"),
    [
        (build_vm(instancetype={"name": "small", "revisionName": "r"}), "spec.instancetype.revisionName"),
        (
            build_vm(instancetype="small", status={"instancetypeRef": {"controllerRevisionRef": {"name": "r"}}}),
            "status.instancetypeRef.controllerRevisionRef.name",
        ),
    ],
    ids=["in the spec", "in the status"],
)
def test_missing_revision_is_an_error(vm: Any, field: str) -> None:
    elsewhere = build_revision("r", encoded(SPEC), object_name="small", namespace="other")
    with pytest.raises(NotFoundError) as missing:
        resolve(vm, LIVE, elsewhere)
    assert missing.value.message == 'controllerrevisions.apps "r" not found'
    assert missing.value.field == field


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"apiVersion": "", "spec": "not base64"},
        payload("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", PREFERENCE),
        payload("flavor.kubevirt.io/v1alpha1", "VirtualMachineFlavor"),
        payload("kubevirt.io/v1", "VirtualMachine"),
        payload("instancetype.kubevirt.io/v1beta1", spec={"cpu": {"guests": 1}}),
    ],
    ids=["nothing", "a list", "empty", "invalid base64", "a preference", "a flavor", "a VM", "an unknown field"],
)
def test_revision_with_an_invalid_payload_is_rejected(data: object) -> None:
    with pytest.raises(StatusError, match="ControllerRevision"):
        resolve(build_vm(instancetype={"name": "small", "revisionName": "r"}), LIVE, build_revision("r", data))


@pytest.mark.parametrize("role", ["instancetype", "preference", "flavor"])
def test_find_object_returns_none_without_a_matcher(role: Role) -> None:
    assert find_object(build_vm(), role, Objects().find) is None


def test_resolution_does_not_modify_the_found_object() -> None:
    tiny = build_flavor("tiny")
    before = to_tree(tiny)
    assert resolve(build_vm(flavor="tiny"), tiny).instancetype == from_tree(
        before["spec"], VirtualMachineInstancetypeSpec
    )
    assert to_tree(tiny) == before
