from typing import Any

import pytest

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.engine.customize import (
    OPEN,
    Instancetype,
    Preference,
    Size,
    check_size,
    customize,
    scale_topology,
)
from virtshape.engine.preferencechanges import NO_CHANGES
from virtshape.engine.topology import Topology

OWN = "instancetype.kubevirt.io"


def build_instancetype(
    spec: JsonObject | None = None, metadata: JsonObject | None = None, version: str = "v1beta2"
) -> Any:
    tree = {
        "apiVersion": f"{OWN}/{version}",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "u1.medium", **(metadata or {})},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}} if spec is None else spec,
    }
    module = v1beta2 if version == "v1beta2" else v1beta1
    return from_tree(tree, module.VirtualMachineClusterInstancetype)


def build_preference() -> v1beta2.VirtualMachineClusterPreference:
    tree = {
        "apiVersion": f"{OWN}/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "fedora", "labels": {f"{OWN}/arch": "amd64"}},
        "spec": {"devices": {"preferredDiskBus": "virtio"}},
    }
    return from_tree(tree, v1beta2.VirtualMachineClusterPreference)


def _customize(source: Instancetype | Preference, size: Size, **options: bool) -> JsonObject:
    assert check_size(source, size) == []
    tree: JsonObject = to_tree(customize(source, "mine", size, NO_CHANGES, **options))
    return tree


TYPED: JsonObject = {
    "cpu": {"guest": 1, "model": "host-model", "maxSockets": 8},
    "memory": {"guest": "4Gi", "maxGuest": "8Gi"},
}
LAID_OUT: JsonObject = {"cpu": {"topology": {"sockets": 2, "threads": 2}}, "memory": {"guest": "4Gi"}}


@pytest.mark.parametrize(
    ("spec", "size", "expected"),
    [
        pytest.param(TYPED, Size(), TYPED, id="no size given"),
        pytest.param(
            TYPED,
            Size(vcpus=4),
            {**TYPED, "cpu": {**TYPED["cpu"], "guest": 4}},
            id="only vCPUs",
        ),
        pytest.param(
            TYPED,
            Size(memory=Quantity("6Gi")),
            {**TYPED, "memory": {**TYPED["memory"], "guest": "6Gi"}},
            id="only memory",
        ),
        pytest.param(
            TYPED,
            Size(topology=CPUTopology(cores=4)),
            {**TYPED, "cpu": {"topology": {"cores": 4}, "model": "host-model", "maxSockets": 8}},
            id="topology replaces a count",
        ),
        pytest.param(
            LAID_OUT,
            Size(topology=CPUTopology(sockets=4)),
            {**LAID_OUT, "cpu": {"topology": {"sockets": 4}}},
            id="topology replaces a topology",
        ),
        pytest.param(
            LAID_OUT,
            Size(memory=Quantity("1Gi")),
            {**LAID_OUT, "memory": {"guest": "1Gi"}},
            id="memory with a topology",
        ),
        pytest.param(
            {},
            Size(vcpus=2, memory=Quantity("1Gi")),
            {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}},
            id="source without a size",
        ),
        pytest.param(
            TYPED,
            Size(vcpus=OPEN, memory=OPEN),
            {"cpu": {"model": "host-model", "maxSockets": 8}, "memory": {"maxGuest": "8Gi"}},
            id="no size",
        ),
        pytest.param(LAID_OUT, Size(vcpus=OPEN), {"cpu": {}, "memory": {"guest": "4Gi"}}, id="no topology"),
    ],
)
def test_customize_replaces_only_the_size(spec: JsonObject, size: Size, expected: JsonObject) -> None:
    assert _customize(build_instancetype(spec), size)["spec"] == expected


@pytest.mark.parametrize(
    ("limits", "size", "expected"),
    [
        pytest.param({"maxSockets": 2}, Size(vcpus=4), {"maxSockets": 4}, id="no room for hotplug in a larger size"),
        pytest.param({"maxSockets": 2}, Size(vcpus=1), {"maxSockets": 1}, id="no room for hotplug in a smaller size"),
        pytest.param({"maxSockets": 8}, Size(vcpus=4), {"maxSockets": 8}, id="room for more sockets"),
        pytest.param({"maxSockets": 3}, Size(vcpus=4), {"maxSockets": 4}, id="fewer sockets than vCPUs"),
        pytest.param(
            {"maxSockets": 2},
            Size(topology=CPUTopology(sockets=3, cores=2)),
            {"maxSockets": 3},
            id="sockets of a topology",
        ),
        pytest.param({"maxGuest": "2Gi"}, Size(memory=Quantity("4Gi")), {"maxGuest": "4Gi"}, id="no room for memory"),
        pytest.param({"maxGuest": "8Gi"}, Size(memory=Quantity("4Gi")), {"maxGuest": "8Gi"}, id="room for memory"),
        pytest.param({"maxGuest": "3Gi"}, Size(memory=Quantity("4Gi")), {"maxGuest": "4Gi"}, id="less than the memory"),
        pytest.param({"maxSockets": 2}, Size(vcpus=OPEN), {"maxSockets": None}, id="no room for open vCPUs"),
        pytest.param({"maxSockets": 8}, Size(vcpus=OPEN), {"maxSockets": 8}, id="limit of open vCPUs"),
        pytest.param({"maxGuest": "2Gi"}, Size(memory=OPEN), {"maxGuest": None}, id="no room for open memory"),
    ],
)
def test_hotplug_limits_are_adjusted_to_the_customized_size(
    limits: JsonObject, size: Size, expected: JsonObject
) -> None:
    cpu = {"guest": 2, **{key: value for key, value in limits.items() if key == "maxSockets"}}
    memory = {"guest": "2Gi", **{key: value for key, value in limits.items() if key == "maxGuest"}}
    spec = _customize(build_instancetype({"cpu": cpu, "memory": memory}), size)["spec"]
    found = {**spec["cpu"], **spec["memory"]}
    assert {key: found.get(key) for key in limits} == expected


def test_customize_does_not_modify_its_source() -> None:
    source = build_instancetype(TYPED, {"labels": {f"{OWN}/size": "medium"}})
    before = to_tree(source)
    result = customize(source, "mine", Size(vcpus=4, memory=Quantity("8Gi")))
    assert isinstance(result, v1beta2.VirtualMachineInstancetype)
    assert result.spec.cpu is not None
    result.spec.cpu.model = "host-passthrough"
    assert to_tree(source) == before


@pytest.mark.parametrize(
    ("source", "cluster", "kind"),
    [
        pytest.param(build_instancetype(), False, "VirtualMachineInstancetype", id="namespaced instance type"),
        pytest.param(build_instancetype(), True, "VirtualMachineClusterInstancetype", id="cluster instance type"),
        pytest.param(build_preference(), False, "VirtualMachinePreference", id="namespaced preference"),
        pytest.param(build_preference(), True, "VirtualMachineClusterPreference", id="cluster preference"),
    ],
)
def test_kind_of_a_customized_object_depends_on_the_requested_scope(
    source: Instancetype | Preference, cluster: bool, kind: str
) -> None:
    result = customize(source, "mine", cluster=cluster)
    again = customize(result, "again", cluster=cluster)
    assert (result.kind, type(result).__name__) == (kind, kind)
    assert (again.kind, type(again).__name__) == (kind, kind)


@pytest.mark.parametrize(
    ("version", "spec", "size", "expected"),
    [
        pytest.param("v1beta1", None, Size(vcpus=2), "v1beta1", id="version of the source"),
        pytest.param("v1alpha2", None, Size(), "v1alpha2", id="old version of the source"),
        pytest.param("v1beta1", LAID_OUT, Size(), "v1beta1", id="topology counts as a size"),
        pytest.param(
            "v1beta1", {"cpu": {}, "memory": {"guest": "1Gi"}}, Size(), "v1beta2", id="missing vCPUs need v1beta2"
        ),
        pytest.param("v1beta1", {"cpu": {}, "memory": {"guest": "1Gi"}}, Size(vcpus=1), "v1beta1", id="vCPUs given"),
        pytest.param("v1beta1", {"cpu": {"guest": 0}, "memory": {"guest": "1Gi"}}, Size(), "v1beta2", id="0 vCPUs"),
        pytest.param("v1beta2", None, Size(vcpus=2), "v1beta2", id="newest version is kept"),
        pytest.param("v1beta2", {}, Size(vcpus=2), "v1beta2", id="missing memory needs v1beta2"),
        pytest.param("v1beta1", None, Size(vcpus=OPEN), "v1beta2", id="open vCPUs need v1beta2"),
        pytest.param("v1alpha1", None, Size(memory=OPEN), "v1beta2", id="open memory needs v1beta2"),
    ],
)
def test_customized_instance_type_keeps_its_version_unless_a_size_is_absent(
    version: str, spec: JsonObject | None, size: Size, expected: str
) -> None:
    assert _customize(build_instancetype(spec, version=version), size)["apiVersion"] == f"{OWN}/{expected}"


DESCRIBED: JsonObject = {
    "labels": {
        f"{OWN}/size": "medium",
        "team": "blue",
        f"{OWN}.example.com/x": "y",
        "virtshape.io/lifecycle": "deprecated",
    },
    "annotations": {f"{OWN}/displayName": "Universal", "note": "mine", "virtshape.io/replacement": "u2.medium"},
}


def test_metadata_that_describes_the_source_is_not_copied() -> None:
    assert _customize(build_instancetype(metadata=DESCRIBED), Size(vcpus=2))["metadata"] == {
        "name": "mine",
        "labels": {"team": "blue", f"{OWN}.example.com/x": "y"},
        "annotations": {"note": "mine"},
    }


def test_metadata_that_describes_the_source_is_copied_on_request() -> None:
    kept = _customize(build_instancetype(metadata=DESCRIBED), Size(), keep_metadata=True)["metadata"]
    assert kept == {"name": "mine", **DESCRIBED}


@pytest.mark.parametrize("keep_metadata", [False, True])
def test_customize_never_copies_server_set_metadata(keep_metadata: bool) -> None:
    server = {
        "namespace": "shop",
        "generateName": "u1-",
        "uid": "7d0a",
        "resourceVersion": "12",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/apis/x",
        "finalizers": ["example.com/hold"],
        "managedFields": [{"manager": "kubectl"}],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1"}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    metadata = _customize(build_instancetype(metadata=server), Size(), keep_metadata=keep_metadata)["metadata"]
    assert metadata == {"name": "mine"}


def test_customized_preference_keeps_its_version() -> None:
    assert _customize(build_preference(), Size()) == {
        "apiVersion": f"{OWN}/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "mine"},
        "spec": {"devices": {"preferredDiskBus": "virtio"}},
    }


@pytest.mark.parametrize(
    ("source", "size", "conflict"),
    [
        pytest.param(
            build_preference(),
            Size(memory=Quantity("1Gi")),
            FieldError("spec", "a preference has no size: only instance types set vCPUs and memory"),
            id="size for a preference",
        ),
        pytest.param(
            build_instancetype(LAID_OUT),
            Size(vcpus=6),
            FieldError("spec.cpu.topology", "the exact topology 2x1x2 does not define a layout for 6 vCPUs"),
            id="count for a topology",
        ),
        pytest.param(
            build_instancetype(),
            Size(vcpus=4, topology=CPUTopology(cores=4)),
            FieldError("spec.cpu", "a number of vCPUs and an exact topology are mutually exclusive"),
            id="both",
        ),
    ],
)
def test_size_that_does_not_apply_to_the_source_is_a_conflict(
    source: Instancetype | Preference, size: Size, conflict: FieldError
) -> None:
    assert check_size(source, size) == [conflict]


@pytest.mark.parametrize(
    ("topology", "vcpus", "expected"),
    [
        (Topology(2, 1, 2), 8, Topology(4, 1, 2)),
        (Topology(1, 4, 1), 6, Topology(6)),
        (Topology(1, 4, 2), 4, Topology(4)),
    ],
    ids=["more sockets", "not a whole number of sockets", "less than one socket"],
)
def test_customized_topology_is_scaled_by_complete_sockets(topology: Topology, vcpus: int, expected: Topology) -> None:
    assert scale_topology(topology, vcpus) == expected
