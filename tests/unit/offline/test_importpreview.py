"""The preview of an import: results, bodies to write, owners, and problems of files and requests."""

import json
from typing import Any

import pytest
from tests.support.kubevirtdump import DUMP, SIZE_REVISION

from virtshape.api.status import StatusError
from virtshape.offline.importpreview import preview_import
from virtshape.resolve.importrequest import ImportFile, ImportObject, ImportPreview, ImportRequest, ReplacedRevision

OWNER = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": "new-vm", "controller": True}


def preview(text: str = DUMP, **request: Any) -> ImportPreview:
    return preview_import(ImportRequest([ImportFile("dump.yaml", text)], **request))


def get_item(found: ImportPreview, kind: str, name: str = "") -> ImportObject:
    return next(item for item in found.items if item.kind == kind and item.name == (name or item.name))


def store(item: ImportObject, **metadata: Any) -> dict[str, Any]:
    """Return the object as a server stores it after it was created."""
    tree: dict[str, Any] = json.loads(item.body)
    tree["metadata"] |= {"resourceVersion": "7", **metadata}
    return tree


def test_new_objects_are_created_after_the_objects_they_depend_on() -> None:
    found = preview()
    assert found.problems == []
    assert [(item.resource, item.namespace, item.name, item.result) for item in found.items[:6]] == [
        ("namespaces", "", "shop", "create"),
        ("virtualmachineclusterinstancetypes", "", "cx1.medium", "create"),
        ("virtualmachinepreferences", "shop", "linux", "create"),
        ("controllerrevisions", "shop", SIZE_REVISION, "create"),
        ("persistentvolumeclaims", "shop", "web-data", "create"),
        ("virtualmachines", "shop", "web", "create"),
    ]
    assert {item.result for item in found.items[6:]} == {"skipped"}
    assert get_item(found, "VirtualMachineInstanceMigration").message == "objects of this kind are not imported"


def test_plan_of_a_vm_has_its_body_its_changes_and_the_dropped_fields() -> None:
    vm = get_item(preview(halted=True), "VirtualMachine")
    body = json.loads(vm.body)
    assert body["metadata"].keys() == {"name", "namespace", "labels", "annotations"}
    assert body["spec"]["runStrategy"] == "Halted"
    assert body["spec"]["instancetype"]["revisionName"] == SIZE_REVISION
    assert [(change.field, change.then, change.now) for change in vm.changes] == [
        ("spec.runStrategy", "Always", "Halted"),
        ("spec.instancetype.revisionName", None, SIZE_REVISION),
    ]
    assert ("spec.template.spec.domain.futureField", "unknown field") in [
        (dropped.field, dropped.reason) for dropped in vm.dropped
    ]


def test_data_of_a_revision_is_canonical_json() -> None:
    text = DUMP.replace("spec: {cpu: {guest: 1},", "spec: {annotations: {z: '<&>', a: b}, cpu: {guest: 1},")
    body = get_item(preview(text), "ControllerRevision").body
    assert r'"annotations":{"a":"b","z":"\u003c\u0026\u003e"}' in body


def test_existing_object_with_the_same_values_is_unchanged() -> None:
    size = get_item(preview(), "VirtualMachineClusterInstancetype")
    again = preview(existing=[store(size, uid="new")])
    found = get_item(again, "VirtualMachineClusterInstancetype")
    assert (found.result, found.body, found.dropped) == ("unchanged", "", [])


def test_update_of_a_differing_object_preserves_its_metadata() -> None:
    stored = store(get_item(preview(), "VirtualMachineClusterInstancetype"), labels={"own": "yes"})
    stored["spec"]["memory"]["guest"] = "8Gi"
    found = get_item(preview(existing=[stored]), "VirtualMachineClusterInstancetype")
    assert found.result == "differs"
    assert ("spec.memory.guest", "4Gi", "8Gi") in [(change.field, change.then, change.now) for change in found.changes]
    body = json.loads(found.body)
    assert body["metadata"]["resourceVersion"] == "7"
    assert body["metadata"]["labels"] == {"own": "yes", "instancetype.kubevirt.io/vendor": "example.com"}
    assert body["spec"] == {"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}}


def test_owner_reference_of_a_stored_revision_gets_the_uid_of_the_imported_vm() -> None:
    first = preview()
    vm, revision = get_item(first, "VirtualMachine"), get_item(first, "ControllerRevision", SIZE_REVISION)
    stored = [store(vm, uid="new-vm"), store(revision, uid="new-revision")]
    patch = get_item(preview(existing=stored), "ControllerRevision", SIZE_REVISION).owners
    assert json.loads(patch) == {"metadata": {"ownerReferences": [OWNER]}}
    stored[1]["metadata"]["ownerReferences"] = [OWNER]
    assert get_item(preview(existing=stored), "ControllerRevision", SIZE_REVISION).owners == ""


def test_existing_object_with_only_metadata_is_not_compared() -> None:
    stored = [
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": build_metadata("web", "new-vm")},
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": build_metadata(SIZE_REVISION, "new")},
    ]
    found = preview(existing=stored)
    assert get_item(found, "VirtualMachine").result == "unchanged"
    patch = json.loads(get_item(found, "ControllerRevision", SIZE_REVISION).owners)
    assert patch == {"metadata": {"ownerReferences": [OWNER]}}


def build_metadata(name: str, uid: str) -> dict[str, str]:
    return {"name": name, "namespace": "shop", "uid": uid}


def test_revision_that_the_server_replaced_is_not_created_again() -> None:
    vm = store(get_item(preview(), "VirtualMachine"), uid="new-vm")
    vm["spec"]["instancetype"]["revisionName"] = "upgraded"
    found = preview(existing=[vm], replaced=[ReplacedRevision("shop", SIZE_REVISION, "upgraded")])
    revision = get_item(found, "ControllerRevision", SIZE_REVISION)
    assert (revision.result, revision.message) == ("unchanged", "the server replaced it with upgraded")
    assert get_item(found, "VirtualMachine").result == "unchanged"


def test_problems_of_all_files_are_reported_with_their_lines() -> None:
    files = [
        ImportFile("a.yaml", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: 3\n"),
        ImportFile("b.yaml", "a: [\n"),
    ]
    found = preview_import(ImportRequest(files))
    assert found.items == []
    assert [(problem.file, problem.line) for problem in found.problems] == [("a.yaml", 4), ("b.yaml", 2)]
    assert found.problems[0].message.startswith("spec")


@pytest.mark.parametrize(
    ("existing", "message"),
    [
        (3, "existing[0]: must be an object with apiVersion and kind"),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": 5}}, "existing[0].metadata"),
        (
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachine",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": 3,
            },
            "existing: VirtualMachine web",
        ),
    ],
    ids=["number", "metadata", "spec"],
)
def test_invalid_existing_object_is_rejected(existing: Any, message: str) -> None:
    with pytest.raises(StatusError) as raised:
        preview(existing=[existing])
    assert raised.value.code == 400
    assert raised.value.message.startswith(message)
