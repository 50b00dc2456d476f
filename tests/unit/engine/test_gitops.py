from copy import deepcopy

from virtshape.api.model import JsonObject
from virtshape.engine.gitops import remove_server_fields

SPEC: JsonObject = {
    "runStrategy": "Always",
    "template": {
        "metadata": {"annotations": {"kubevirt.io/pci-topology-version": "v3"}},
        "spec": {"domain": {"firmware": {"uuid": "1", "serial": "2"}, "devices": {"rng": {}}}},
    },
}


def build_vm(metadata: JsonObject, spec: JsonObject = SPEC) -> JsonObject:
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": deepcopy(spec)}


def test_fields_written_by_servers_and_tools_are_removed_from_a_manifest() -> None:
    metadata = {
        "name": "web",
        "namespace": "dev",
        "uid": "1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
        "ownerReferences": [{"uid": "1"}],
        "finalizers": ["kubevirt.io/virtualMachineControllerFinalize", "example.com/backup"],
        "labels": {"app": "web", "kustomize.toolkit.fluxcd.io/name": "vms"},
        "annotations": {
            "example.com/owner": "team",
            "argocd.argoproj.io/sync-wave": "2",
            "argocd.argoproj.io/tracking-id": "vms:kubevirt.io/VirtualMachine:dev/web",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "kubevirt.io/latest-observed-api-version": "v1",
        },
    }
    kept = {
        "name": "web",
        "namespace": "dev",
        "labels": {"app": "web"},
        "annotations": {"example.com/owner": "team", "argocd.argoproj.io/sync-wave": "2"},
        "finalizers": ["example.com/backup"],
    }
    assert remove_server_fields(build_vm(metadata) | {"status": {"ready": True}}) == build_vm(kept)


def test_references_are_preserved_without_the_names_of_revisions() -> None:
    references = {role: {"kind": "Kind", "name": role} for role in ("instancetype", "preference", "flavor")}
    pinned = {role: {**matcher, "revisionName": f"web-{role}-1"} for role, matcher in references.items()}
    assert remove_server_fields(build_vm({"name": "web"}, SPEC | pinned)) == build_vm(
        {"name": "web"}, SPEC | references
    )


def test_metadata_fields_that_become_empty_are_removed() -> None:
    metadata = {
        "name": "web",
        "labels": {},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "finalizers": ["kubevirt.io/virtualMachineControllerFinalize"],
    }
    assert remove_server_fields(build_vm(metadata)) == build_vm({"name": "web"})


def test_null_values_are_removed_but_empty_objects_in_the_spec_are_preserved() -> None:
    spec = {"template": {"metadata": {"creationTimestamp": None}, "spec": {"domain": {"devices": {"rng": {}}}}}}
    cleaned = remove_server_fields(build_vm({"name": "web", "creationTimestamp": None}, spec))
    assert cleaned == build_vm({"name": "web"}, {"template": {"spec": {"domain": {"devices": {"rng": {}}}}}})


def test_removal_of_server_fields_does_not_modify_its_input() -> None:
    vm = build_vm({"name": "web", "uid": "1"}) | {"status": {}}
    before = deepcopy(vm)
    remove_server_fields(vm)
    assert vm == before
