"""OpenAPI documents contain the merge keys of lists, for patches and for server-side apply."""

import json

import pytest

from virtshape.api.model import JsonObject
from virtshape.apiserver.openapi.documents import write_v2, write_v3


@pytest.fixture(scope="module")
def definitions() -> JsonObject:
    tree: JsonObject = json.loads(write_v2().body)["definitions"]
    return tree


def read_schemas(group: str, version: str) -> JsonObject:
    document = write_v3(group, version)
    assert document is not None
    tree: JsonObject = json.loads(document.body)["components"]["schemas"]
    return tree


def test_containers_have_the_merge_key_name_in_openapi(definitions: JsonObject) -> None:
    for schemas in (definitions, read_schemas("apps", "v1")):
        containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
        assert containers["x-kubernetes-patch-strategy"] == "merge"
        assert containers["x-kubernetes-patch-merge-key"] == "name"
        assert containers["x-kubernetes-list-type"] == "map"
        assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_inlined_pod_spec_has_the_merge_rules_of_the_pod_spec_schema(definitions: JsonObject) -> None:
    spec = definitions["io.k8s.api.core.v1.Pod"]["properties"]["spec"]
    assert spec["properties"]["volumes"] == definitions["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"]


def test_atomic_maps_have_their_map_type_in_openapi(definitions: JsonObject) -> None:
    assert definitions["io.k8s.api.rbac.v1.Subject"]["x-kubernetes-map-type"] == "atomic"
    selector = definitions["io.k8s.api.core.v1.Service"]["properties"]["spec"]["properties"]["selector"]
    assert selector["x-kubernetes-map-type"] == "atomic"


def test_custom_resources_have_list_map_keys_without_patch_strategies() -> None:
    owners = read_schemas("kubevirt.io", "v1")["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
    assert "x-kubernetes-patch-strategy" not in owners["ownerReferences"]
    assert owners["ownerReferences"]["x-kubernetes-list-map-keys"] == ["uid"]
