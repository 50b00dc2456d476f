"""Discovery lists every kind, in order of version preference."""

import json

import pytest

from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.discovery import write_discovery


@pytest.fixture(scope="module")
def documents() -> dict[str, JsonObject]:
    return {path: json.loads(document.body) for path, document in write_discovery("127.0.0.1:6443").items()}


def find_resource(document: JsonObject, name: str) -> JsonObject:
    return next(resource for resource in document["resources"] if resource["name"] == name)


def test_every_served_kind_is_listed_in_discovery(documents: dict[str, JsonObject]) -> None:
    for kind in KINDS:
        path = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        resource = find_resource(documents[path], kind.plural)
        assert (resource["kind"], resource["singularName"], resource["namespaced"]) == (
            kind.kind,
            kind.singular,
            kind.namespaced,
        )


def test_resource_names_are_unique_in_a_group(documents: dict[str, JsonObject]) -> None:
    for document in documents.values():
        names = [resource["name"] for resource in document.get("resources", ())]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("group", "versions"),
    [
        ("kubevirt.io", ["v1", "v1alpha3"]),
        ("instancetype.kubevirt.io", ["v1beta2", "v1beta1", "v1alpha2", "v1alpha1"]),
        ("subresources.kubevirt.io", ["v1", "v1alpha3"]),
        ("apps", ["v1"]),
    ],
)
def test_newest_version_is_first_and_preferred_in_discovery(
    documents: dict[str, JsonObject], group: str, versions: list[str]
) -> None:
    document = documents[f"/apis/{group}"]
    assert [version["version"] for version in document["versions"]] == versions
    assert document["preferredVersion"] == {"groupVersion": f"{group}/{versions[0]}", "version": versions[0]}
    assert document | {"kind": "APIGroup"} == {"apiVersion": "v1", "kind": "APIGroup"} | next(
        listed for listed in documents["/apis"]["groups"] if listed["name"] == group
    )


def test_core_group_is_listed_at_api_but_not_at_apis(documents: dict[str, JsonObject]) -> None:
    assert documents["/api"]["versions"] == ["v1"]
    assert documents["/api"]["serverAddressByClientCIDRs"][0]["serverAddress"] == "127.0.0.1:6443"
    assert "" not in [group["name"] for group in documents["/apis"]["groups"]]


@pytest.mark.parametrize(
    ("path", "name", "verbs"),
    [
        ("/apis/kubevirt.io/v1", "virtualmachines/status", ["get", "patch", "update"]),
        ("/api/v1", "namespaces/finalize", ["update"]),
        ("/api/v1", "namespaces", ["create", "delete", "get", "list", "patch", "update", "watch"]),
        ("/api/v1", "serviceaccounts/token", ["create"]),
        ("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews", ["create"]),
        ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", ["get", "list", "watch"]),
        ("/apis/subresources.kubevirt.io/v1", "virtualmachines/start", None),
    ],
)
def test_discovery_verbs_match_supported_operations(
    documents: dict[str, JsonObject], path: str, name: str, verbs: list[str] | None
) -> None:
    assert find_resource(documents[path], name)["verbs"] == verbs


def test_vmis_have_no_status_subresource(documents: dict[str, JsonObject]) -> None:
    names = {resource["name"] for resource in documents["/apis/kubevirt.io/v1"]["resources"]}
    assert "virtualmachineinstances" in names
    assert "virtualmachineinstances/status" not in names


@pytest.mark.parametrize("plural", ["virtualmachines", "virtualmachineinstances"])
def test_vms_and_vmis_are_in_the_category_all(documents: dict[str, JsonObject], plural: str) -> None:
    assert find_resource(documents["/apis/kubevirt.io/v1"], plural)["categories"] == ["all"]


def test_all_versions_of_a_kind_have_the_same_storage_hash(documents: dict[str, JsonObject]) -> None:
    hashes = {
        find_resource(documents[f"/apis/instancetype.kubevirt.io/{version}"], "virtualmachinepreferences")[
            "storageVersionHash"
        ]
        for version in ("v1beta2", "v1beta1", "v1alpha1")
    }
    assert len(hashes) == 1
