"""Server-side apply merges by field ownership."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.wellknown import LAST_APPLIED
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import FieldManager, entries_of, record_update
from virtshape.apiserver.managedfields.serversideapply import apply, find_undeclared, validate_apply_body

MORNING, NOON = "2026-05-01T08:00:00Z", "2026-05-01T12:00:00Z"
INSTANCETYPES = "instancetype.kubevirt.io/v1beta1"


def kind_of(tree: JsonObject) -> Kind:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    return kind


def build_instancetype(spec: JsonObject | None = None, **metadata: Any) -> JsonObject:
    tree: JsonObject = {
        "apiVersion": INSTANCETYPES,
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small", **metadata},
    }
    return tree if spec is None else tree | {"spec": spec}


def build_service(*ports: JsonObject, **spec: Any) -> JsonObject:
    spec = spec | ({"ports": list(ports)} if ports else {})
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def put(
    live: JsonObject | None, applied: JsonObject, manager: str = "m1", *, time: str = MORNING, **options: Any
) -> JsonObject:
    write = FieldManager(manager, applied["apiVersion"], time, options.pop("subresource", ""))
    return apply(live, applied, write, object_type(kind_of(applied)), **options)


def edit(live: JsonObject, new: JsonObject, manager: str = "editor", **options: Any) -> JsonObject:
    write = FieldManager(manager, new["apiVersion"], NOON, options.pop("subresource", ""))
    entries = record_update(live, new, write, object_type(kind_of(new)))
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def refusal(live: JsonObject | None, applied: JsonObject, manager: str = "m2", **options: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        put(live, applied, manager, **options)
    return caught.value


def fields_by_manager(tree: JsonObject) -> JsonObject:
    return {entry["manager"]: entry["fieldsV1"] for entry in entries_of(tree)}


def without_entries(tree: JsonObject) -> JsonObject:
    return {**tree, "metadata": {k: v for k, v in tree["metadata"].items() if k != "managedFields"}}


SIZES: JsonObject = {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}
SIZE_FIELDS: JsonObject = {"f:cpu": {"f:guest": {}}, "f:memory": {"f:guest": {}}}


@pytest.mark.parametrize(
    ("applied", "fields"),
    [
        pytest.param(
            build_instancetype(SIZES, labels={"a": "1"}),
            {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": SIZE_FIELDS},
            id="leaves without their parents",
        ),
        pytest.param(build_instancetype({"gpus": [{"name": "g"}]}), {"f:spec": {"f:gpus": {}}}, id="atomic list"),
        pytest.param(build_instancetype({"cpu": {}}), {"f:spec": {"f:cpu": {}}}, id="empty struct"),
        pytest.param(
            build_instancetype(finalizers=["x/y"]),
            {"f:metadata": {"f:finalizers": {'v:"x/y"': {}}}},
            id="items of a set",
        ),
        pytest.param(
            build_service({"port": 80, "name": "web"}, selector={"a": "b"}),
            {
                "f:spec": {
                    "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}},
                    "f:selector": {},
                }
            },
            id="items with keys",
        ),
        pytest.param(
            build_instancetype({"unheardOf": {"a": {"b": 1}}}),
            {"f:spec": {"f:unheardOf": {".": {}, "f:a": {".": {}, "f:b": {}}}}},
            id="unknown keys",
        ),
    ],
)
def test_manager_that_creates_an_object_by_apply_owns_the_applied_fields(
    applied: JsonObject, fields: JsonObject
) -> None:
    result = put(None, applied)
    entry = {"manager": "m1", "operation": "Apply", "apiVersion": applied["apiVersion"], "time": MORNING}
    assert entries_of(result) == [{**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}]
    assert without_entries(result) == applied


def test_applied_status_is_ignored() -> None:
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}, "spec": {}}
    live = put(None, vm) | {"status": {"ready": True}}
    assert put(None, vm | {"status": {"created": True}}) == put(None, vm)
    assert put(live, vm | {"status": {"created": True}}) == live


def test_status_is_applied_through_its_subresource() -> None:
    vm: JsonObject = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}}
    live = put(None, vm | {"spec": {"running": True}})
    patch = vm | {
        "metadata": {"name": "vm", "labels": {"a": "1"}},
        "spec": {"running": False},
        "status": {"ready": True},
    }
    result = put(live, patch, "ctl", subresource="status")
    assert without_entries(result) == vm | {"spec": {"running": True}, "status": {"ready": True}}
    assert entries_of(result)[0] == {
        "manager": "ctl",
        "operation": "Apply",
        "apiVersion": "kubevirt.io/v1",
        "time": MORNING,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:ready": {}}},
        "subresource": "status",
    }


def test_second_identical_apply_changes_nothing() -> None:
    live = put(None, build_instancetype(SIZES))
    assert put(live, build_instancetype(SIZES), time=NOON) == live


def test_apply_of_a_changed_value_updates_the_time_of_its_manager() -> None:
    live = put(None, build_instancetype(SIZES))
    result = put(live, build_instancetype({**SIZES, "cpu": {"guest": 4}}), time=NOON)
    assert result["spec"]["cpu"] == {"guest": 4}
    assert entries_of(result)[0]["time"] == NOON


def test_field_applied_with_the_same_value_is_shared_by_two_managers() -> None:
    live = put(None, build_instancetype(SIZES))
    result = put(live, build_instancetype({"cpu": {"guest": 2}}), "m2", time=NOON)
    assert fields_by_manager(result) == {"m1": {"f:spec": SIZE_FIELDS}, "m2": {"f:spec": {"f:cpu": {"f:guest": {}}}}}
    assert without_entries(result) == without_entries(live)


def test_apply_conflict_message_names_a_single_conflict() -> None:
    live = put(None, build_instancetype(SIZES))
    error = refusal(live, build_instancetype({**SIZES, "cpu": {"guest": 3}}))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "m1": .spec.cpu.guest'
    assert error.causes == (FieldError(".spec.cpu.guest", 'conflict with "m1"', "FieldManagerConflict"),)


def test_apply_conflicts_are_grouped_by_manager() -> None:
    live = put(None, build_instancetype(SIZES))
    live = edit(live, live | {"spec": {**SIZES, "memory": {"guest": "9Gi"}}})
    error = refusal(live, build_instancetype({"cpu": {"guest": 5}, "memory": {"guest": "5Gi"}}), "m3")
    assert error.message == (
        f'Apply failed with 2 conflicts: conflicts with "editor" using {INSTANCETYPES}:\n- .spec.memory.guest\n'
        'conflicts with "m1":\n- .spec.cpu.guest'
    )
    assert error.causes == (
        FieldError(".spec.memory.guest", f'conflict with "editor" using {INSTANCETYPES}', "FieldManagerConflict"),
        FieldError(".spec.cpu.guest", 'conflict with "m1"', "FieldManagerConflict"),
    )


def test_apply_conflict_message_names_the_subresource() -> None:
    vm: JsonObject = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}}
    live = put(put(None, vm | {"spec": {}}), vm | {"status": {"ready": True}}, subresource="status")
    error = refusal(live, vm | {"status": {"ready": False}}, subresource="status")
    assert error.causes[0].message == 'conflict with "m1" with subresource "status"'


def test_apply_conflict_in_a_list_item_shows_the_keys_of_the_item() -> None:
    live = put(None, build_service({"port": 80, "name": "web"}))
    error = refusal(live, build_service({"port": 80, "name": "www"}))
    assert [cause.field for cause in error.causes] == ['.spec.ports[port=80,protocol="TCP"].name']


def test_forced_apply_takes_over_ownership_of_the_field() -> None:
    live = put(None, build_instancetype(SIZES))
    result = put(live, build_instancetype({**SIZES, "cpu": {"guest": 3}}), "m2", force=True)
    assert result["spec"]["cpu"] == {"guest": 3}
    assert fields_by_manager(result) == {
        "m1": {"f:spec": {"f:memory": {"f:guest": {}}}},
        "m2": {"f:spec": SIZE_FIELDS},
    }


def test_update_and_apply_entries_of_one_name_are_separate_managers() -> None:
    live = put(None, build_instancetype(SIZES))
    live = edit(live, live | {"spec": {**SIZES, "cpu": {"guest": 9}}}, "m1")
    error = refusal(live, build_instancetype(SIZES), "m1")
    assert error.causes[0].message == f'conflict with "m1" using {INSTANCETYPES}'


def test_field_no_longer_applied_is_removed_unless_another_manager_owns_it() -> None:
    live = put(None, build_instancetype({**SIZES, "annotations": {"x": "1"}}, labels={"mine": "1", "shared": "1"}))
    live = put(live, build_instancetype(labels={"shared": "1", "other": "1"}), "m2")
    result = put(live, build_instancetype(SIZES))
    assert without_entries(result) == build_instancetype(SIZES, labels={"shared": "1", "other": "1"})
    assert fields_by_manager(result) == {
        "m1": {"f:spec": SIZE_FIELDS},
        "m2": {"f:metadata": {"f:labels": {"f:other": {}, "f:shared": {}}}},
    }


def test_empty_apply_removes_all_owned_fields() -> None:
    live = put(None, build_instancetype(SIZES, labels={"a": "1"}))
    assert put(live, build_instancetype()) == build_instancetype()


def test_apply_keeps_unowned_fields() -> None:
    live = put(None, build_instancetype({"cpu": {"guest": 2}}))
    live["spec"]["schedulerName"] = "from-admission"
    live["metadata"]["uid"] = "1"
    result = put(live, build_instancetype({"memory": {"guest": "1Gi"}}))
    assert result["spec"] == {"memory": {"guest": "1Gi"}, "schedulerName": "from-admission"}
    assert result["metadata"]["uid"] == "1"


def test_apply_does_not_remove_a_struct_while_an_updater_owns_a_field_in_it() -> None:
    live = put(None, build_instancetype({"cpu": {"guest": 2}}))
    live = edit(live, live | {"spec": {"cpu": {"guest": 2, "model": "host-model"}}})
    assert put(live, build_instancetype({}))["spec"] == {"cpu": {"model": "host-model"}}


def test_list_item_is_removed_although_an_updater_owns_a_field_in_it() -> None:
    live = put(None, build_service({"port": 80}, {"port": 81}))
    live = edit(live, live | {"spec": {"ports": [{"port": 80, "nodePort": 30000}, {"port": 81}]}})
    result = put(live, build_service({"port": 81}))
    assert result["spec"] == {"ports": [{"port": 81}]}
    assert list(fields_by_manager(result)) == ["m1"]


def test_apply_that_removes_the_last_item_removes_the_list() -> None:
    live = put(None, build_instancetype(SIZES, finalizers=["x/y"]))
    assert without_entries(put(live, build_instancetype(SIZES))) == build_instancetype(SIZES)


def test_applied_null_removes_and_owns_the_field() -> None:
    live = put(None, build_instancetype(SIZES))
    applied = build_instancetype({**SIZES, "memory": None})
    result = put(live, applied)
    assert result["spec"] == {"cpu": {"guest": 2}}
    assert fields_by_manager(result) == {"m1": {"f:spec": {"f:cpu": {"f:guest": {}}, "f:memory": {}}}}
    assert put(result, applied, time=NOON) == result


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param("abc", "ab", "abc", id="live item stays at the end"),
        pytest.param("abc", "ca", "bca", id="the applied order wins"),
        pytest.param("xay", "ba", "xbay", id="live items keep their places"),
        pytest.param("axbyc", "cb", "axycb", id="moved item leaves its neighbours"),
        pytest.param("", "ab", "ab", id="no live items"),
        pytest.param("ab", "cd", "abcd", id="no shared items"),
    ],
)
def test_merged_list_items_have_the_order_of_kubernetes(live: str, applied: str, merged: str) -> None:
    tree = edit(build_instancetype(), build_instancetype(finalizers=list(live)))
    result = put(tree, build_instancetype(finalizers=list(applied)))
    assert "".join(result["metadata"]["finalizers"]) == merged


def test_applied_list_items_with_the_same_keys_are_merged() -> None:
    live = put(None, build_service({"port": 80, "name": "web"}))
    result = put(live, build_service({"port": 80, "protocol": "TCP", "nodePort": 30000}), "m2")
    assert result["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "name": "web", "nodePort": 30000}]


def test_apply_keeps_duplicate_live_list_items() -> None:
    result = put(edit(build_service(), build_service({"port": 1}, {"port": 1})), build_service({"port": 2}))
    assert result["spec"]["ports"] == [{"port": 1}, {"port": 1}, {"port": 2}]


@pytest.mark.parametrize(
    ("applied", "problem"),
    [
        pytest.param(
            build_service({"port": 2}, {"port": 2}),
            '.spec.ports: duplicate entries for key [port=2,protocol="TCP"]',
            id="in a list with keys",
        ),
        pytest.param(
            build_instancetype(SIZES) | {"metadata": {"name": "small", "finalizers": ["a/b", "a/b"]}},
            '.metadata.finalizers: duplicate entries for key [="a/b"]',
            id="in a set",
        ),
    ],
)
def test_apply_of_duplicate_list_items_is_rejected(applied: JsonObject, problem: str) -> None:
    error = refusal(None, applied)
    assert (error.code, error.reason) == (500, "")
    assert error.message.endswith(f": {problem}")


def test_applied_null_keeps_granular_values_of_other_managers() -> None:
    live = put(None, build_instancetype(SIZES))
    result = put(live, build_instancetype({"memory": None}), manager="m2")
    assert result["spec"] == SIZES
    assert fields_by_manager(result)["m2"] == {"f:spec": {"f:memory": {}}}


def test_applied_null_conflicts_with_a_value_of_another_manager() -> None:
    live = put(None, build_instancetype(SIZES))
    error = refusal(live, build_instancetype({"cpu": {"guest": None}}), manager="m2")
    assert error.message == 'Apply failed with 1 conflict: conflict with "m1": .spec.cpu.guest'


def test_apply_replaces_a_list_with_items_without_keys() -> None:
    live = put(None, build_service({"port": 80}))
    assert put(live, build_service({"name": "odd"}))["spec"]["ports"] == [{"name": "odd"}]


def test_untracked_object_gets_a_before_first_apply_manager() -> None:
    live = build_instancetype(SIZES)
    error = refusal(live, build_instancetype({"cpu": {"guest": 9}}))
    assert error.message == (
        f'Apply failed with 1 conflict: conflict with "before-first-apply" using {INSTANCETYPES}: .spec.cpu.guest'
    )
    result = put(live, build_instancetype({"cpu": {"guest": 2}}))
    assert list(fields_by_manager(result)) == ["m1", "before-first-apply"]


def test_applier_has_one_entry_for_all_versions() -> None:
    live = put(None, build_instancetype(SIZES))
    newer = build_instancetype(SIZES) | {"apiVersion": "instancetype.kubevirt.io/v1beta2"}
    (entry,) = entries_of(put(live, newer, time=NOON))
    assert (entry["apiVersion"], entry["time"]) == ("instancetype.kubevirt.io/v1beta2", MORNING)


def build_client_side(applied: JsonObject, **live: Any) -> JsonObject:
    """Return an object as it is stored after a client-side apply."""
    text = json.dumps(applied)
    tree = applied | {"metadata": {**applied["metadata"], "annotations": {LAST_APPLIED: text}}} | live
    return edit_from_nothing(tree)


def edit_from_nothing(tree: JsonObject) -> JsonObject:
    write = FieldManager("kubectl-client-side-apply", tree["apiVersion"], MORNING)
    entries = record_update(None, tree, write, object_type(kind_of(tree)))
    return {**tree, "metadata": {**tree["metadata"], "managedFields": entries}}


def test_kubectl_migrates_from_client_side_apply_without_conflict() -> None:
    live = build_client_side(build_instancetype(SIZES))
    applied = build_instancetype({**SIZES, "cpu": {"guest": 4}})
    result = put(live, applied, "kubectl")
    assert result["spec"]["cpu"] == {"guest": 4}
    assert json.loads(result["metadata"]["annotations"][LAST_APPLIED]) == applied
    assert put(result, applied, "kubectl", time=NOON) == result


@pytest.mark.parametrize(
    ("live", "manager"),
    [
        pytest.param(build_client_side(build_instancetype(SIZES)), "argocd", id="other manager"),
        pytest.param(
            build_client_side(build_instancetype(SIZES), spec={**SIZES, "cpu": {"guest": 8}}),
            "kubectl",
            id="changed value",
        ),
        pytest.param(
            build_client_side(build_instancetype(SIZES) | {"apiVersion": "instancetype.kubevirt.io/v1beta2"}),
            "kubectl",
            id="other version",
        ),
    ],
)
def test_last_applied_annotation_does_not_hide_other_conflicts(live: JsonObject, manager: str) -> None:
    error = refusal(live, build_instancetype({**SIZES, "cpu": {"guest": 4}}), manager)
    assert [cause.field for cause in error.causes] == [".spec.cpu.guest"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"], ids=["empty", "not JSON", "not an object", "empty object"])
def test_invalid_last_applied_annotation_is_ignored(text: str) -> None:
    live = edit_from_nothing(build_instancetype(SIZES, annotations={LAST_APPLIED: text}))
    assert refusal(live, build_instancetype({"cpu": {"guest": 4}}), "kubectl").code == 409


def test_last_applied_annotation_beyond_the_size_limit_is_omitted() -> None:
    live = build_client_side(build_instancetype(SIZES))
    applied = build_instancetype(SIZES, annotations={"large": "x" * 200_000})
    assert list(put(live, applied, "kubectl")["metadata"]["annotations"]) == ["large"]


@pytest.mark.parametrize(
    ("applied", "message"),
    [
        pytest.param(
            build_instancetype(SIZES, managedFields=[]), "metadata.managedFields must be nil", id="with managedFields"
        ),
        pytest.param(
            {"kind": "VirtualMachineInstancetype"},
            "invalid object type: /, Kind=VirtualMachineInstancetype",
            id="without version",
        ),
        pytest.param({"apiVersion": "v1", "kind": "Pod"}, "invalid object type: /v1, Kind=Pod", id="other kind"),
    ],
)
def test_invalid_apply_body_is_rejected(applied: JsonObject, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        validate_apply_body(applied, kind_of(build_instancetype()))
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)


def test_valid_apply_body_is_accepted() -> None:
    applied = build_instancetype(SIZES)
    validate_apply_body(applied, kind_of(applied))
    assert find_undeclared(applied, kind_of(applied)) is None


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        pytest.param({"bogus": 1}, ".spec.bogus: field not declared in schema", id="one"),
        pytest.param(
            {"bogus": 1, "gpus": [{"odd": 1}]},
            "errors:\n  .spec.bogus: field not declared in schema\n  .spec.gpus[0].odd: field not declared in schema",
            id="several",
        ),
    ],
)
def test_apply_reports_fields_missing_in_the_schema(spec: JsonObject, problems: str) -> None:
    applied = build_instancetype(spec)
    error = find_undeclared(applied, kind_of(applied))
    assert error is not None
    what = f"(/small; {INSTANCETYPES}, Kind=VirtualMachineInstancetype)"
    assert (error.code, error.message) == (500, f"failed to create typed patch object {what}: {problems}")


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"port": st.integers(1, 4)},
        optional={"name": st.sampled_from("xy"), "protocol": st.sampled_from(["TCP", "UDP"])},
    ),
    unique_by=lambda port: (port["port"], port.get("protocol", "TCP")),
    max_size=4,
)
SERVICES = st.builds(
    lambda labels, finalizers, spec: {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "labels": labels, "finalizers": finalizers},
        "spec": spec,
    },
    LABELS,
    st.lists(st.sampled_from("pqr"), unique=True),
    st.fixed_dictionaries({}, optional={"ports": PORTS, "selector": LABELS, "type": st.sampled_from(["A", "B"])}),
)


@given(SERVICES, SERVICES)
def test_apply_is_idempotent(first: JsonObject, second: JsonObject) -> None:
    live = put(put(None, first), second, "m2", force=True)
    again = put(live, second, "m2", time=NOON)
    assert again == live


@given(SERVICES, SERVICES)
def test_sole_applier_replaces_its_previous_configuration(first: JsonObject, second: JsonObject) -> None:
    result = put(put(None, first), second)
    assert _plain(result) == _plain(put(None, second))


@given(SERVICES, SERVICES, SERVICES)
def test_apply_does_not_modify_its_arguments(first: JsonObject, second: JsonObject, third: JsonObject) -> None:
    live = put(put(None, first), second, "m2", force=True)
    before = deepcopy((live, third))
    put(live, third, force=True)
    assert (live, third) == before


@given(SERVICES, SERVICES)
def test_forced_apply_leaves_no_conflict(first: JsonObject, second: JsonObject) -> None:
    live = put(None, first)
    result = put(live, second, "m2", force=True)
    assert put(result, second, "m2") == result
    assert without_entries(put(result, second, "m3")) == without_entries(result)


def _plain(tree: Any) -> Any:
    """Return a copy of an object without empty values and with sorted lists."""
    if isinstance(tree, dict):
        parts = {name: _plain(value) for name, value in tree.items()}
        return {name: part for name, part in parts.items() if part not in ({}, [])}
    if isinstance(tree, list):
        return sorted((_plain(item) for item in tree), key=lambda item: json.dumps(item, sort_keys=True))
    return tree
