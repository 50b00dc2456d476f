"""Server-side apply over HTTP: creation, ownership, conflicts, removal of fields and invalid requests."""

import json
import threading

import pytest
from tests.integration.objects import NamespacePaths, build_config, build_instancetype, build_vm, create, revision
from tests.support.loopback import Client, LoopbackServer

from virtshape.api.model import JsonObject


def owners(tree: JsonObject) -> dict[tuple[str, str, str], JsonObject]:
    """Return the owned fields by manager, operation and subresource."""
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in tree["metadata"]["managedFields"]
    }


def test_apply_creates_a_missing_object_and_owns_its_fields(client: Client, paths: NamespacePaths) -> None:
    made = client.apply(paths.instancetypes("one"), build_instancetype("one", labels={"a": "b"}), "first")
    assert made.status == 201
    spec: JsonObject = {"f:cpu": {"f:guest": {}}, "f:memory": {"f:guest": {}}}
    fields = {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": spec}
    assert owners(made.tree) == {("first", "Apply", ""): fields}
    again = client.apply(paths.instancetypes("one"), build_instancetype("one", labels={"a": "b"}), "first")
    assert (again.status, again.tree) == (200, made.tree)


def test_yaml_can_be_applied(client: Client, paths: NamespacePaths) -> None:
    text = (
        b"apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\n"
        b"metadata:\n  name: one\nspec:\n  cpu:\n    guest: 2\n  memory:\n    guest: 1Gi\n"
    )
    assert client.apply(paths.instancetypes("one"), text).tree["spec"]["cpu"] == {"guest": 2}


def test_apply_to_fields_of_another_manager_conflicts_unless_forced(client: Client, paths: NamespacePaths) -> None:
    client.apply(paths.instancetypes("one"), build_instancetype("one"), "first")
    wanted = build_instancetype("one", guest=4)
    refused = client.apply(paths.instancetypes("one"), wanted, "second")
    assert refused.reason == (409, "Conflict")
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".spec.cpu.guest"}
    assert refused.tree["details"] == {"causes": [cause]}
    forced = client.apply(paths.instancetypes("one"), wanted, "second", force="true").tree
    assert forced["spec"]["cpu"] == {"guest": 4}
    assert owners(forced)["first", "Apply", ""] == {"f:spec": {"f:memory": {"f:guest": {}}}}


def test_field_missing_from_apply_is_removed_unless_owned_by_another_manager(
    client: Client, paths: NamespacePaths
) -> None:
    both = build_instancetype("one", labels={"mine": "1", "shared": "1"})
    client.apply(paths.instancetypes("one"), both, "first")
    client.apply(paths.instancetypes("one"), build_instancetype("one", labels={"shared": "1"}), "second")
    left = client.apply(paths.instancetypes("one"), build_instancetype("one"), "first").tree
    assert left["metadata"]["labels"] == {"shared": "1"}


def test_status_is_applied_through_its_subresource(client: Client, paths: NamespacePaths) -> None:
    client.apply(paths.vms("vm1"), build_vm(), "user")
    status = {**build_vm(status={"created": True}), "spec": None}
    applied = client.apply(f"{paths.vms('vm1')}/status", {k: v for k, v in status.items() if v}, "controller").tree
    assert applied["status"] == {"created": True, "printableStatus": "Stopped"}
    assert owners(applied)["controller", "Apply", "status"] == {"f:status": {"f:created": {}}}
    again = client.apply(paths.vms("vm1"), build_vm(labels={"a": "b"}), "user").tree
    assert (again["status"], again["metadata"]["labels"]) == (applied["status"], {"a": "b"})


def test_apply_to_status_of_missing_object_returns_404(client: Client, paths: NamespacePaths) -> None:
    assert client.apply(f"{paths.vms('none')}/status", build_vm("none")).reason == (404, "NotFound")


def test_unknown_fields_are_rejected_by_name(client: Client, paths: NamespacePaths) -> None:
    wanted = build_instancetype("one")
    wanted["spec"]["bogus"] = 1
    reply = client.apply(paths.instancetypes("one"), wanted)
    what = "(/one; instancetype.kubevirt.io/v1beta1, Kind=VirtualMachineInstancetype)"
    message = f"failed to create typed patch object {what}: .spec.bogus: field not declared in schema"
    assert (reply.reason, reply.tree["message"]) == ((500, ""), message)


def test_applied_object_may_omit_its_name_but_not_have_a_different_uid(client: Client, paths: NamespacePaths) -> None:
    made = client.apply(paths.instancetypes("one"), build_instancetype("one")).tree
    part = {"apiVersion": made["apiVersion"], "kind": made["kind"], "spec": made["spec"]}
    assert client.apply(paths.instancetypes("one"), part).tree == made
    other = client.apply(paths.instancetypes("one"), {**part, "metadata": {"uid": "another"}})
    assert (other.reason, other.tree["details"]["causes"][0]["field"]) == ((422, "Invalid"), "metadata.uid")


def test_nulls_in_apply_do_not_remove_fields_of_other_managers(client: Client, paths: NamespacePaths) -> None:
    client.apply(paths.core("configmaps", "one"), build_config("one", labels={"a": "1"}), "first")
    nulls = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "labels": None}, "data": {"b": None}}
    applied = client.apply(paths.core("configmaps", "one"), nulls, "second").tree
    assert (applied["metadata"]["labels"], applied["data"]) == ({"a": "1"}, {"a": "1", "b": ""})
    assert client.apply(paths.core("configmaps", "one"), nulls, "second").tree == applied


@pytest.mark.parametrize(("validation", "warnings"), [("Warn", 1), ("Ignore", 0)])
def test_last_duplicate_key_wins_unless_validation_is_strict(
    client: Client, paths: NamespacePaths, validation: str, warnings: int
) -> None:
    text = json.dumps(build_config("one", labels={"a": "1"})).replace('"a": "1"', '"a": "1", "a": "2"').encode()
    reply = client.apply(paths.core("configmaps", "one"), text, fieldValidation=validation)
    assert (reply.status, reply.tree["data"], len(reply.warnings)) == (201, {"a": "2"}, warnings)
    strict = client.apply(paths.core("configmaps", "one"), text, fieldValidation="Strict")
    assert strict.reason == (400, "BadRequest")


def test_resource_version_in_apply_must_be_current(client: Client, paths: NamespacePaths) -> None:
    made = client.apply(paths.instancetypes("one"), build_instancetype("one", resourceVersion="1"), "first")
    assert made.status == 201
    stale = build_instancetype("one", guest=2, resourceVersion="1")
    assert client.apply(paths.instancetypes("one"), stale, "first").reason == (409, "Conflict")
    present = build_instancetype("one", guest=2, resourceVersion=revision(made.tree))
    assert client.apply(paths.instancetypes("one"), present, "first").status == 200


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        pytest.param({"apiVersion": None}, (400, "BadRequest"), id="no apiVersion"),
        pytest.param({"apiVersion": 5}, (400, "BadRequest"), id="apiVersion that is not a string"),
        pytest.param({"kind": "Other"}, (400, "BadRequest"), id="other kind"),
        pytest.param({"metadata": {"name": "other"}}, (400, "BadRequest"), id="other name"),
        pytest.param({"metadata": "one"}, (400, "BadRequest"), id="metadata of a wrong type"),
        pytest.param(
            {"metadata": {"name": "one", "managedFields": []}}, (400, "BadRequest"), id="managedFields in the request"
        ),
        pytest.param({"metadata": {"name": "one", "labels": ["a"]}}, (500, ""), id="labels of a wrong type"),
        pytest.param({"metadata": {"name": "one", "finalizers": ["a/b"] * 2}}, (500, ""), id="duplicate items"),
        pytest.param({"metadata": {"name": "one", "uid": "u"}}, (409, "Conflict"), id="other uid"),
        pytest.param({"metadata": {}}, (400, "BadRequest"), id="no name"),
        pytest.param({"spec": []}, (500, ""), id="spec of a wrong type"),
        pytest.param({"spec": {"gpus": [5]}}, (500, ""), id="items of a wrong type"),
        pytest.param({"spec": {"gpus": [{}]}}, (422, "Invalid"), id="items without their key"),
        pytest.param({"spec": {"cpu": {"guest": 1}}}, (422, "Invalid"), id="missing required fields"),
    ],
)
def test_invalid_apply_is_rejected(
    client: Client, paths: NamespacePaths, change: JsonObject, refusal: tuple[int, str]
) -> None:
    assert client.apply(paths.instancetypes("one"), build_instancetype("one") | change).reason == refusal
    assert client.get(paths.instancetypes("one")).status == 404


@pytest.mark.parametrize("body", [b"- a\n- b\n", b"", b"a: b: c", b"---\n---\n", b"\xff"])
def test_apply_of_a_non_object_returns_400(client: Client, paths: NamespacePaths, body: bytes) -> None:
    assert client.apply(paths.instancetypes("one"), body).reason == (400, "BadRequest")


def test_apply_requires_a_field_manager(client: Client, paths: NamespacePaths) -> None:
    reply = client.apply(paths.instancetypes("one"), build_instancetype("one"), "")
    assert reply.reason == (422, "Invalid")
    assert [cause["field"] for cause in reply.tree["details"]["causes"]] == ["fieldManager"]


def test_dry_run_of_apply_stores_nothing(client: Client, paths: NamespacePaths) -> None:
    shown = client.apply(paths.instancetypes("one"), build_instancetype("one"), dryRun="All")
    assert (shown.status, "uid" in shown.tree["metadata"]) == (201, True)
    assert client.get(paths.instancetypes("one")).status == 404


def test_concurrent_applies_of_a_new_object_create_it_once_and_share_ownership(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    results: list[int] = []

    def write(number: int) -> None:
        writer = server.connect()
        reply = writer.apply(paths.instancetypes("one"), build_instancetype("one"), f"manager-{number}")
        results.append(reply.status)
        writer.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200, 200, 200, 200, 201]
    assert len(owners(client.get(paths.instancetypes("one")).tree)) == 5


def test_update_after_apply_takes_ownership_of_changed_fields(client: Client, paths: NamespacePaths) -> None:
    client.apply(paths.instancetypes("one"), build_instancetype("one"), "first")
    patched = client.patch(paths.instancetypes("one"), {"spec": {"cpu": {"guest": 2}}}).tree
    assert owners(patched)["tester", "Update", ""] == {"f:spec": {"f:cpu": {"f:guest": {}}}}
    assert owners(patched)["first", "Apply", ""] == {"f:spec": {"f:memory": {"f:guest": {}}}}


def test_clearing_managed_fields_removes_all_managers(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    patched = client.patch(paths.instancetypes("one"), {"metadata": {"managedFields": [{}]}}).tree
    assert "managedFields" not in patched["metadata"]
    (made,) = create(client, paths.core("configmaps"), build_config("two", managedFields=[]))
    assert "managedFields" in made["metadata"]
    emptied = client.put(paths.core("configmaps", "two"), build_config("two", managedFields=[])).tree
    assert "managedFields" not in emptied["metadata"]
