import base64
import json
from typing import Any

import pytest
from tests.support.build import (
    build_flavor,
    build_instancetype,
    build_preference,
    build_revision,
    build_vm,
)

from virtshape.api.codec import to_tree
from virtshape.api.conversion import PayloadError
from virtshape.api.model import JsonObject, Model
from virtshape.engine.compare import Change
from virtshape.resolve.drift import Drift, compare, find_drift
from virtshape.resolve.reference import Reference

GROUP = "instancetype.kubevirt.io"
CLUSTER = "VirtualMachineClusterInstancetype"
REVISION = Reference("apps", "ControllerRevision", "default", "kept")
SMALL = Reference(GROUP, CLUSTER, "", "small")


@pytest.mark.parametrize(
    ("then", "now", "changes"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({}, {"cpu": {"guest": 4}}, [Change("spec.cpu.guest", 2, 4)], id="a number"),
        pytest.param({}, {"memory": {"guest": "2048Mi"}}, [], id="same amount in another notation"),
        pytest.param(
            {"memory": {"guest": "2147483648"}}, {"memory": {"guest": "2Gi"}}, [], id="same amount in other units"
        ),
        pytest.param({}, {"memory": {"guest": "4Gi"}}, [Change("spec.memory.guest", "2Gi", "4Gi")], id="an amount"),
        pytest.param({}, {"gpus": []}, [], id="an empty list, and none"),
        pytest.param({"nodeSelector": {}}, {}, [], id="an empty map, and none"),
        pytest.param(
            {"nodeSelector": {"disk": "slow", "zone": "a"}},
            {"nodeSelector": {"disk": "fast", "kvm": "yes"}},
            [
                Change("spec.nodeSelector[disk]", "slow", "fast"),
                Change("spec.nodeSelector[zone]", "a", None),
                Change("spec.nodeSelector[kvm]", None, "yes"),
            ],
            id="members of a map",
        ),
        pytest.param(
            {"cpu": {"guest": 2, "numa": {"guestMappingPassthrough": {}}}},
            {},
            [Change("spec.cpu.numa", {"guestMappingPassthrough": {}}, None)],
            id="removed struct",
        ),
        pytest.param(
            {"gpus": [{"name": "g", "deviceName": "a"}]},
            {"gpus": [{"name": "g", "deviceName": "b"}]},
            [Change("spec.gpus[0].deviceName", "a", "b")],
            id="a field of an item",
        ),
        pytest.param(
            {"gpus": [{"name": "g", "deviceName": "a"}]},
            {"gpus": []},
            [Change("spec.gpus", [{"name": "g", "deviceName": "a"}], [])],
            id="another number of items",
        ),
    ],
)
def test_drift_lists_changed_fields(then: JsonObject, now: JsonObject, changes: list[Change]) -> None:
    revision = build_revision("kept", to_tree(build_instancetype(**then)))
    state = "changed" if changes else "same"
    assert compare(revision, build_instancetype(**now), CLUSTER) == (state, changes)


def test_empty_struct_in_a_preference_is_a_change() -> None:
    revision = build_revision("kept", to_tree(build_preference()))
    live = build_preference(devices={"preferredTPM": {}})
    wanted = [Change("spec.devices", None, {"preferredTPM": {}})]
    assert compare(revision, live, "VirtualMachineClusterPreference") == ("changed", wanted)


SPEC = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}
ENCODED = base64.b64encode(json.dumps(SPEC).encode()).decode()


@pytest.mark.parametrize(
    ("payload", "live_version", "state"),
    [
        pytest.param(to_tree(build_instancetype(version="v1beta1")), "v1beta2", "older version", id="kept at v1beta1"),
        pytest.param(to_tree(build_instancetype(version="v1beta1")), "v1beta1", "same", id="at a stock KubeVirt"),
        pytest.param(to_tree(build_instancetype(version="v1beta2")), "v1beta1", "same", id="kept at a newer version"),
        pytest.param(
            {"apiVersion": f"{GROUP}/v1alpha1", "spec": ENCODED}, "v1beta1", "older version", id="oldest form"
        ),
        pytest.param(
            {"apiVersion": "", "spec": ENCODED}, "v1beta1", "older version", id="oldest form without a version"
        ),
        pytest.param(
            to_tree(build_instancetype(version="v1beta1", cpu={"guest": 1})), "v1beta2", "changed", id="changed as well"
        ),
    ],
)
def test_drift_reports_an_older_version_only_without_other_changes(
    payload: JsonObject, live_version: str, state: str
) -> None:
    assert compare(build_revision("kept", payload), build_instancetype(version=live_version), CLUSTER)[0] == state


def look_in(**objects: Model) -> Any:
    references = {
        "kept": REVISION,
        "small": SMALL,
        "tiny": Reference("flavor.kubevirt.io", "VirtualMachineClusterFlavor", "", "tiny"),
    }
    return {references[name]: found for name, found in objects.items()}.get


KEPT = build_revision("kept", to_tree(build_instancetype()), object_name="small")
STATUS = {"instancetypeRef": {"name": "small", "controllerRevisionRef": {"name": "kept"}}}


@pytest.mark.parametrize(
    "vm",
    [
        pytest.param(build_vm(instancetype={"name": "small", "revisionName": "kept"}), id="in the spec"),
        pytest.param(build_vm(instancetype="small", status=STATUS), id="in the status"),
    ],
)
def test_drift_finds_the_revision_in_spec_or_status(vm: Any) -> None:
    same = Drift("instancetype", SMALL, "kept", "same", [])
    assert find_drift(vm, "instancetype", look_in(kept=KEPT, small=build_instancetype())) == same
    gone = same._replace(state="gone")
    assert find_drift(vm, "instancetype", look_in(kept=KEPT)) == gone
    assert (same.has_drifted, gone.has_drifted) == (False, True)


def test_drift_of_a_flavor_is_found() -> None:
    vm = build_vm(flavor={"name": "tiny", "revisionName": "kept"})
    lookup = look_in(kept=build_revision("kept", to_tree(build_flavor())), tiny=build_flavor(cpu={"guest": 3}))
    drift = find_drift(vm, "flavor", lookup)
    assert drift is not None
    assert (drift.state, drift.changes) == ("changed", [Change("spec.cpu.guest", 2, 3)])


@pytest.mark.parametrize(
    "vm",
    [
        pytest.param(build_vm(), id="without an instance type"),
        pytest.param(build_vm(instancetype="small"), id="not captured yet"),
        pytest.param(build_vm(instancetype="other", status=STATUS), id="captured from another object"),
    ],
)
def test_vm_without_a_revision_has_no_drift(vm: Any) -> None:
    assert find_drift(vm, "instancetype", look_in(kept=KEPT, small=build_instancetype())) is None


def test_drift_from_a_deleted_revision_has_the_state_missing() -> None:
    vm = build_vm(instancetype={"name": "small", "revisionName": "kept"})
    drift = find_drift(vm, "instancetype", look_in(small=build_instancetype()))
    assert drift is not None
    assert (drift.revision, drift.state, drift.changes, drift.has_drifted) == ("kept", "missing", [], True)


def test_drift_from_an_unreadable_revision_raises_an_error() -> None:
    vm = build_vm(instancetype={"name": "small", "revisionName": "kept"})
    with pytest.raises(PayloadError):
        find_drift(vm, "instancetype", look_in(kept=build_revision("kept", {})))
