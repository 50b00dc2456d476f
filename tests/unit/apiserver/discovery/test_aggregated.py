"""Aggregated discovery contains the same resources as plain discovery."""

import json

import pytest

from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.aggregated import CONTENT_TYPE, write_aggregated_discovery
from virtshape.apiserver.discovery.discovery import write_discovery


@pytest.fixture(scope="module")
def aggregated() -> dict[str, JsonObject]:
    return {path: json.loads(document.body) for path, document in write_aggregated_discovery().items()}


@pytest.fixture(scope="module")
def plain() -> dict[str, JsonObject]:
    return {path: json.loads(document.body) for path, document in write_discovery("localhost").items()}


def list_aggregated(documents: dict[str, JsonObject]) -> dict[tuple[str, str], JsonObject]:
    """Return all versions of all groups."""
    return {
        (group["metadata"].get("name", ""), version["version"]): version
        for document in documents.values()
        for group in document["items"]
        for version in group["versions"]
    }


def list_resources(version: JsonObject) -> dict[str, tuple[str, list[str]]]:
    """Return the resources and subresources with a kind; clients ignore others."""
    found = {}
    for resource in version["resources"]:
        found[resource["resource"]] = (resource["responseKind"]["kind"], resource["verbs"])
        for subresource in resource.get("subresources", ()):
            name = f"{resource['resource']}/{subresource['subresource']}"
            found[name] = (subresource["responseKind"]["kind"], subresource["verbs"])
    return {name: facts for name, facts in found.items() if facts[0]}


def test_aggregated_and_plain_discovery_list_the_same_resources(
    aggregated: dict[str, JsonObject], plain: dict[str, JsonObject]
) -> None:
    for (group, version), listed in list_aggregated(aggregated).items():
        document = plain[f"/apis/{group}/{version}" if group else f"/api/{version}"]
        resources = {
            resource["name"]: (resource["kind"], resource["verbs"])
            for resource in document["resources"]
            if resource["kind"]
        }
        assert list_resources(listed) == resources


def test_aggregated_and_plain_discovery_list_the_same_versions_in_order(
    aggregated: dict[str, JsonObject], plain: dict[str, JsonObject]
) -> None:
    listed = [
        (group["metadata"]["name"], [version["version"] for version in group["versions"]])
        for group in aggregated["/apis"]["items"]
    ]
    assert listed == [
        (group["name"], [version["version"] for version in group["versions"]]) for group in plain["/apis"]["groups"]
    ]


def test_core_group_has_its_own_discovery_document(aggregated: dict[str, JsonObject]) -> None:
    assert [group["metadata"] for group in aggregated["/api"]["items"]] == [{}]


def test_resources_of_the_subresource_api_have_an_empty_response_kind(aggregated: dict[str, JsonObject]) -> None:
    actions = list_aggregated(aggregated)["subresources.kubevirt.io", "v1"]["resources"]
    nothing = {"group": "", "version": "", "kind": ""}
    assert {resource["resource"] for resource in actions} == {
        "check-compatibility",
        "check-fit",
        "customize-instancetype",
        "expand-vm-spec",
        "explain-vm-spec",
        "preview-import",
        "preview-migrate-type",
        "recommend-instancetypes",
        "version",
        "virtualmachineinstances",
        "virtualmachines",
    }
    assert all(resource["responseKind"] == nothing for resource in actions)


def test_aggregated_discovery_has_its_content_type() -> None:
    assert {document.content_type for document in write_aggregated_discovery().values()} == {CONTENT_TYPE}
