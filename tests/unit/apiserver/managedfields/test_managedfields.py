"""managedFields after writes other than apply: the writing manager owns the changed fields, and others lose them."""

from copy import deepcopy
from typing import Any

import pytest

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject
from virtshape.apiserver.managedfields.fieldtypes import ObjectType, object_type
from virtshape.apiserver.managedfields.managedfields import (
    MAX_UPDATERS,
    FieldManager,
    entries_of,
    keep_times,
    name_manager,
    parse_entries,
    record_update,
)

MORNING, NOON, EVENING = (f"2026-05-01T{hour}:00:00Z" for hour in ("08", "12", "20"))
INSTANCETYPES = "instancetype.kubevirt.io/v1beta1"


def type_of(api_version: str, kind: str) -> ObjectType:
    found = find_kind(api_version, kind)
    assert found is not None
    return object_type(found)


INSTANCETYPE = type_of(INSTANCETYPES, "VirtualMachineInstancetype")
VM = type_of("kubevirt.io/v1", "VirtualMachine")


def build_instancetype(**metadata: Any) -> JsonObject:
    return {
        "apiVersion": INSTANCETYPES,
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small", "namespace": "default", **metadata},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    }


def build_entry(fields: JsonObject, manager: str = "kubectl-create", time: str = MORNING, **more: str) -> JsonObject:
    entry = {"manager": manager, "operation": "Update", "apiVersion": INSTANCETYPES, "time": time}
    return {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def create(tree: JsonObject, kind: ObjectType = INSTANCETYPE, manager: str = "kubectl-create") -> JsonObject:
    stored = deepcopy(tree)
    entries = record_update(None, stored, FieldManager(manager, tree["apiVersion"], MORNING), kind)
    stored["metadata"] |= {"uid": "1", "resourceVersion": "1", "managedFields": entries}
    return stored


def change(tree: JsonObject, *path: str, to: Any) -> JsonObject:
    changed = deepcopy(tree)
    node = changed
    for name in path[:-1]:
        node = node.setdefault(name, {})
    if to is None:
        node.pop(path[-1])
    else:
        node[path[-1]] = to
    return changed


SPEC: JsonObject = {".": {}, "f:cpu": {".": {}, "f:guest": {}}, "f:memory": {".": {}, "f:guest": {}}}


@pytest.mark.parametrize(
    ("tree", "fields"),
    [
        pytest.param(build_instancetype(), {"f:spec": SPEC}, id="spec and its parents"),
        pytest.param(
            build_instancetype(labels={"a/b": "1"}),
            {"f:metadata": {"f:labels": {".": {}, "f:a/b": {}}}, "f:spec": SPEC},
            id="single labels, but not the metadata",
        ),
        pytest.param(
            build_instancetype(uid="1", creationTimestamp=MORNING, resourceVersion="1", generation=1),
            {"f:spec": SPEC},
            id="no fields that the server sets",
        ),
        pytest.param(
            build_instancetype(generateName="s-"),
            {"f:metadata": {"f:generateName": {}}, "f:spec": SPEC},
            id="generateName",
        ),
        pytest.param(
            build_instancetype(
                finalizers=["x/y"], ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "7"}]
            ),
            {
                "f:metadata": {
                    "f:finalizers": {".": {}, 'v:"x/y"': {}},
                    "f:ownerReferences": {".": {}, 'k:{"uid":"7"}': {}},
                },
                "f:spec": SPEC,
            },
            id="finalizers by value and owners by uid",
        ),
    ],
)
def test_creator_owns_all_fields_except_server_set_metadata(tree: JsonObject, fields: JsonObject) -> None:
    entries = record_update(None, tree, FieldManager("kubectl-create", INSTANCETYPES, MORNING), INSTANCETYPE)
    assert entries == [build_entry(fields)]


BUILT_IN_CASES = [
    pytest.param(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "1"}}, "spec": {}},
        {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}},
        id="Namespace",
    ),
    pytest.param(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p"},
            "source": {"component": "c"},
            "reportingComponent": "",
            "type": "Normal",
        },
        {"f:involvedObject": {}, "f:source": {"f:component": {}}, "f:type": {}},
        id="Event",
    ),
    pytest.param(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
                "nodeSelector": {"a": "b"},
                "tolerations": [{"key": "k"}],
            },
        },
        {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                        },
                    }
                },
                "f:nodeSelector": {},
                "f:tolerations": {},
            }
        },
        id="Pod",
    ),
    pytest.param(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80, "protocol": "UDP"}], "selector": {"a": "b"}},
        },
        {
            "f:spec": {
                "f:ports": {".": {}, 'k:{"port":80,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}}},
                "f:selector": {},
            }
        },
        id="Service",
    ),
    pytest.param(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "p"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        },
        {"f:spec": {"f:accessModes": {}, "f:resources": {"f:requests": {".": {}, "f:storage": {}}}}},
        id="PersistentVolumeClaim",
    ),
    pytest.param(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}},
        {"f:data": {".": {}, "f:k": {}}},
        id="ConfigMap",
    ),
    pytest.param(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "c"},
            "spec": {"claimRef": {"name": "x"}},
        },
        {"f:spec": {"f:claimRef": {".": {}, "f:name": {}}}},
        id="PersistentVolume",
    ),
    pytest.param(
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, "data": {"a": {"b": 1}}},
        {"f:data": {}},
        id="ControllerRevision",
    ),
]


@pytest.mark.parametrize(("tree", "fields"), BUILT_IN_CASES)
def test_field_ownership_in_builtin_kinds_follows_their_list_types(tree: JsonObject, fields: JsonObject) -> None:
    kind = type_of(tree["apiVersion"], tree["kind"])
    (entry,) = record_update(None, tree, FieldManager("m", tree["apiVersion"], MORNING), kind)
    assert entry["fieldsV1"] == fields


def test_parents_of_a_changed_field_keep_their_owner() -> None:
    old = create(build_instancetype())
    new = change(old, "spec", "cpu", "guest", to=2)
    assert record_update(old, new, FieldManager("kubectl-patch", INSTANCETYPES, NOON), INSTANCETYPE) == [
        build_entry({"f:spec": {".": {}, "f:cpu": {}, "f:memory": {".": {}, "f:guest": {}}}}),
        build_entry({"f:spec": {"f:cpu": {"f:guest": {}}}}, "kubectl-patch", NOON),
    ]


def test_second_update_extends_the_entry_of_its_manager() -> None:
    old = create(build_instancetype())
    new = change(old, "metadata", "labels", to={"z": "1"})
    assert record_update(old, new, FieldManager("kubectl-create", INSTANCETYPES, NOON), INSTANCETYPE) == [
        build_entry({"f:metadata": {"f:labels": {".": {}, "f:z": {}}}, "f:spec": SPEC}, time=NOON)
    ]


def test_removing_the_only_field_of_a_manager_removes_its_entry() -> None:
    old = create(build_instancetype())
    new = change(old, "metadata", "labels", to={"env": "dev"})
    new["metadata"]["managedFields"] = record_update(old, new, FieldManager("label", INSTANCETYPES, NOON), INSTANCETYPE)
    last = change(new, "metadata", "labels", to=None)
    assert [entry["manager"] for entry in entries_of(new)] == ["kubectl-create", "label"]
    assert record_update(new, last, FieldManager("label", INSTANCETYPES, EVENING), INSTANCETYPE) == [
        build_entry({"f:spec": SPEC})
    ]


def test_unchanged_object_keeps_its_managed_fields() -> None:
    old = create(build_instancetype())
    (entry,) = record_update(old, deepcopy(old), FieldManager("other", INSTANCETYPES, NOON), INSTANCETYPE)
    assert entry is entries_of(old)[0]


def test_unchanged_managed_fields_entries_are_not_copied() -> None:
    old = create(build_instancetype())
    new = change(old, "metadata", "labels", to={"z": "1"})
    first, _ = record_update(old, new, FieldManager("label", INSTANCETYPES, NOON), INSTANCETYPE)
    assert first is entries_of(old)[0]


def test_update_manager_has_one_entry_per_version() -> None:
    old = create(build_instancetype())
    new = change(old, "spec", "cpu", "guest", to=2)
    newer = "instancetype.kubevirt.io/v1beta2"
    entries = record_update(old, new, FieldManager("kubectl-create", newer, NOON), INSTANCETYPE)
    assert [entry["apiVersion"] for entry in entries] == [INSTANCETYPES, newer]


def test_managed_fields_entries_with_an_unknown_version_are_removed() -> None:
    old = create(build_instancetype())
    old["metadata"]["managedFields"][0]["apiVersion"] = "instancetype.kubevirt.io/v1alpha0"
    new = change(old, "spec", "cpu", "guest", to=2)
    (entry,) = record_update(old, new, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE)
    assert entry["manager"] == "m"


def build_vm(**parts: Any) -> JsonObject:
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}, **parts}


def test_status_has_a_separate_managed_fields_entry() -> None:
    old = create(build_vm(spec={"running": False}), VM)
    new = old | {"spec": {"running": True}, "status": {"ready": True, "conditions": [{"type": "Ready"}]}}
    entries = record_update(old, new, FieldManager("kubectl-create", "kubevirt.io/v1", NOON, "status"), VM)
    assert entries == [
        build_entry({"f:spec": {".": {}, "f:running": {}}}, apiVersion="kubevirt.io/v1"),
        build_entry(
            {"f:status": {".": {}, "f:conditions": {}, "f:ready": {}}},
            time=NOON,
            apiVersion="kubevirt.io/v1",
            subresource="status",
        ),
    ]


def test_status_in_a_spec_write_has_no_owner() -> None:
    tree = build_vm(spec={"running": False}, status={"ready": True})
    assert entries_of(create(tree, VM))[0]["fieldsV1"] == {"f:spec": {".": {}, "f:running": {}}}


def test_status_write_of_builtin_kind_may_own_labels() -> None:
    kind = type_of("v1", "Pod")
    old = create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n"}}, kind)
    new = change(change(old, "metadata", "labels", to={"a": "1"}), "status", "phase", to="Running")
    _, entry = record_update(old, new, FieldManager("kubelet", "v1", NOON, "status"), kind)
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:status": {"f:phase": {}}}


def test_list_items_are_owned_separately() -> None:
    kind = type_of("v1", "Service")
    one, two = {"port": 80, "name": "a"}, {"port": 81, "name": "b"}
    old = create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [one, two]}}, kind
    )
    new = change(old, "spec", "ports", to=[{**two, "name": "c"}, {"port": 82}])
    first, second = record_update(old, new, FieldManager("edit", "v1", NOON), kind)
    item = 'k:{"port":%d,"protocol":"TCP"}'
    assert first["fieldsV1"] == {"f:spec": {"f:ports": {".": {}, item % 81: {".": {}, "f:port": {}}}}}
    assert second["fieldsV1"] == {
        "f:spec": {"f:ports": {item % 81: {"f:name": {}}, item % 82: {".": {}, "f:port": {}}}}
    }


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        pytest.param(["a"], ["a", "a"], {'v:"a"': {}}, id="duplicate item has one owner"),
        pytest.param(["a", "a"], ["a"], {'v:"a"': {}}, id="removed duplicate changes the owner"),
        pytest.param(["a", "b"], ["b", "a"], None, id="order has no owner"),
    ],
)
def test_duplicates_and_order_of_set_items_affect_ownership_as_in_kubernetes(
    before: list[str], after: list[str], fields: JsonObject | None
) -> None:
    old = create(build_instancetype(finalizers=before))
    new = change(old, "metadata", "finalizers", to=after)
    taken = [e["fieldsV1"] for e in record_update(old, new, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE)[1:]]
    assert taken == ([{"f:metadata": {"f:finalizers": fields}}] if fields else [])


def test_list_with_items_without_keys_is_atomic() -> None:
    kind = type_of("v1", "Pod")
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"volumes": [{"emptyDir": {}}]}}
    assert entries_of(create(tree, kind))[0]["fieldsV1"] == {"f:spec": {"f:volumes": {}}}


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        pytest.param({"b": {"c": 1}}, {".": {}, "f:b": {".": {}, "f:c": {}}}, id="object is granular"),
        pytest.param([{"b": 1}], {}, id="list is atomic"),
        pytest.param("b", {}, id="string is a leaf"),
    ],
)
def test_unknown_field_is_typed_by_its_value(value: Any, fields: JsonObject) -> None:
    tree = change(build_instancetype(), "spec", to={"unheardOf": value})
    assert entries_of(create(tree))[0]["fieldsV1"] == {"f:spec": {".": {}, "f:unheardOf": fields}}


@pytest.mark.parametrize(
    ("before", "after", "taken", "left"),
    [
        pytest.param("x", {"a": 1}, {".": {}, "f:a": {}}, None, id="string to object"),
        pytest.param({"a": 1}, "x", {}, None, id="object to string"),
        pytest.param({"a": 1}, {}, None, {}, id="emptied object"),
    ],
)
def test_ownership_follows_a_field_that_changes_its_type_or_is_emptied(
    before: Any, after: Any, taken: JsonObject | None, left: JsonObject | None
) -> None:
    old = create(change(build_instancetype(), "spec", to={"odd": before}))
    new = change(old, "spec", "odd", to=after)
    entries = record_update(old, new, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE)
    odd = {entry["manager"]: entry["fieldsV1"]["f:spec"].get("f:odd") for entry in entries}
    assert odd == {"kubectl-create": left} | ({} if taken is None else {"m": taken})


def test_empty_managed_fields_disable_tracking() -> None:
    old = create(build_instancetype())
    reset = change(old, "metadata", "managedFields", to=[{}])
    assert record_update(old, reset, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE) == []
    untracked = change(old, "metadata", "managedFields", to=[])
    new = change(untracked, "spec", "cpu", "guest", to=3)
    assert record_update(untracked, new, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE) == []


def test_client_may_edit_managed_fields() -> None:
    old = create(build_instancetype())
    renamed = build_entry({"f:spec": {"f:cpu": {".": {}}}}, "kubectl", operation="Apply")
    new = change(old, "metadata", "managedFields", to=[renamed])
    assert record_update(old, new, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE) == [
        {**renamed, "fieldsV1": {"f:spec": {"f:cpu": {}}}}
    ]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([{"manager": "m"}], id="no operation"),
        pytest.param([build_entry({"f:spec": 1})], id="invalid fields"),
        pytest.param([build_entry({}, operation="Create")], id="unknown operation"),
        pytest.param([build_entry({}, fieldsType="FieldsV2")], id="unknown fields type"),
        pytest.param([build_entry({}), 1], id="number in the list"),
    ],
)
def test_invalid_managed_fields_of_a_client_are_ignored(sent: Any) -> None:
    old = create(build_instancetype())
    new = change(old, "metadata", "managedFields", to=sent)
    assert parse_entries(sent) is None
    assert record_update(old, new, FieldManager("m", INSTANCETYPES, NOON), INSTANCETYPE) == entries_of(old)


def test_status_write_cannot_edit_managed_fields() -> None:
    old = create(build_vm(spec={"running": False}), VM)
    new = change(old, "metadata", "managedFields", to=[])
    assert record_update(old, new, FieldManager("m", "kubevirt.io/v1", NOON, "status"), VM) == entries_of(old)


def test_oldest_update_entries_beyond_the_limit_are_merged() -> None:
    tree = create(build_instancetype())
    for number in range(MAX_UPDATERS + 2):
        new = change(tree, "metadata", "labels", f"l{number}", to="1")
        write = FieldManager(f"m{number}", INSTANCETYPES, f"2026-05-02T10:00:{number:02}Z")
        new["metadata"]["managedFields"] = record_update(tree, new, write, INSTANCETYPE)
        tree = new
    entries = entries_of(tree)
    assert [entry["manager"] for entry in entries] == ["ancient-changes", *(f"m{n}" for n in range(3, 12))]
    assert entries[0] == build_entry(
        {"f:spec": SPEC, "f:metadata": {"f:labels": {".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}}}},
        "ancient-changes",
        "2026-05-02T10:00:02Z",
    )


@pytest.mark.parametrize(
    ("asked", "agent", "name"),
    [
        pytest.param("mine", "kubectl/v1.30", "mine", id="given name"),
        pytest.param("", "kubectl/v1.30 (linux)", "kubectl", id="program without its version"),
        pytest.param("", "", "unknown", id="unknown program"),
        pytest.param("", "a\x00b/1", "ab", id="unprintable characters are removed"),
        pytest.param("", "é" * 100, "é" * 64, id="at most 128 bytes"),
    ],
)
def test_manager_name_defaults_to_the_user_agent(asked: str, agent: str, name: str) -> None:
    assert name_manager(asked, agent) == name


def test_old_managed_fields_times_are_restored_if_nothing_else_changed() -> None:
    old = create(build_instancetype())
    new = deepcopy(old)
    new["metadata"]["managedFields"][0]["time"] = NOON
    keep_times(old, new)
    assert new == old


def test_new_managed_fields_times_are_preserved_if_something_else_changed() -> None:
    old = create(build_instancetype())
    new = change(old, "spec", "cpu", "guest", to=2)
    new["metadata"]["managedFields"][0]["time"] = NOON
    keep_times(old, new)
    assert entries_of(new)[0]["time"] == NOON
