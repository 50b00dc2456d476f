"""OpenAPI documents are consistent and contain what kubectl needs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject
from virtshape.apiserver.capability import list_verbs
from virtshape.apiserver.openapi.documents import (
    v2_etag,
    v3_hash,
    v3_path,
    write_v2,
    write_v2_protobuf,
    write_v3,
    write_v3_index,
    write_v3_root,
)
from virtshape.apiserver.openapi.roots import ROOTS

GROUP_VERSIONS = list(dict.fromkeys((kind.group, kind.version) for kind in KINDS))

each_group_version = pytest.mark.parametrize(
    ("group", "version"), GROUP_VERSIONS, ids=[f"{group or 'core'}/{version}" for group, version in GROUP_VERSIONS]
)


@pytest.fixture(scope="module")
def v2() -> JsonObject:
    tree: JsonObject = json.loads(write_v2().body)
    return tree


def read_v3(group: str, version: str) -> JsonObject:
    document = write_v3(group, version)
    assert document is not None
    tree: JsonObject = json.loads(document.body)
    return tree


def find_references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from find_references(value)
    elif isinstance(node, list):
        for value in node:
            yield from find_references(value)


def find_patches(paths: JsonObject) -> dict[tuple[str, str, str], set[str]]:
    """Return the query parameters of the patch operation of each kind."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for item in paths.values():
        if patch := item.get("patch"):
            kind = patch["x-kubernetes-group-version-kind"]
            names = {parameter["name"] for parameter in patch["parameters"] if parameter["in"] == "query"}
            key = kind["group"], kind["version"], kind["kind"]
            found[key] = found.get(key, names) & names
    return found


def test_references_in_openapi_v2_resolve(v2: JsonObject) -> None:
    assert set(find_references(v2)) <= {f"#/definitions/{name}" for name in v2["definitions"]}


@each_group_version
def test_references_in_openapi_v3_resolve(group: str, version: str) -> None:
    tree = read_v3(group, version)
    assert set(find_references(tree)) <= {f"#/components/schemas/{name}" for name in tree["components"]["schemas"]}


@each_group_version
def test_patchable_kinds_list_patch_parameters(group: str, version: str, v2: JsonObject) -> None:
    patched = [kind for kind in KINDS if (kind.group, kind.version) == (group, version) and "patch" in list_verbs(kind)]
    for paths in (v2["paths"], read_v3(group, version)["paths"]):
        patches = find_patches(paths)
        for kind in patched:
            assert patches[group, version, kind.kind] == {"dryRun", "fieldManager", "fieldValidation", "force"}


def test_operation_ids_are_unique(v2: JsonObject) -> None:
    names = [
        operation["operationId"]
        for item in v2["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("path", "method", "name"),
    [
        ("/api/v1/namespaces/{namespace}/pods/{name}", "get", "readCoreV1NamespacedPod"),
        ("/api/v1/nodes", "delete", "deleteCoreV1CollectionNode"),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "post", "createRbacAuthorizationV1ClusterRole"),
        ("/apis/kubevirt.io/v1/virtualmachines", "get", "listKubevirtIoV1VirtualMachineForAllNamespaces"),
        (
            "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}/status",
            "put",
            "replaceKubevirtIoV1NamespacedVirtualMachineStatus",
        ),
    ],
)
def test_operation_ids_match_kubernetes(v2: JsonObject, path: str, method: str, name: str) -> None:
    assert v2["paths"][path][method]["operationId"] == name


def test_only_builtin_kinds_accept_strategic_patches(v2: JsonObject) -> None:
    strategic = "application/strategic-merge-patch+json"
    assert strategic in v2["paths"]["/api/v1/nodes/{name}"]["patch"]["consumes"]
    vms = "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}"
    assert strategic not in v2["paths"][vms]["patch"]["consumes"]


def test_openapi_lists_no_write_operations_for_crds(v2: JsonObject) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert set(v2["paths"][path]) == {"get", "parameters"}


def test_openapi_v3_index_lists_every_document() -> None:
    index = json.loads(write_v3_index().body)["paths"]
    assert index["api/v1"] == {"serverRelativeURL": f"/openapi/v3/api/v1?hash={v3_hash('', 'v1')}"}
    paths = {entry["serverRelativeURL"].partition("?")[0] for entry in index.values()}
    assert paths == {*(v3_path(*key) for key in GROUP_VERSIONS), *(f"/openapi/v3/{name}" for name in ROOTS)}
    assert list(index) == sorted(index)


@pytest.mark.parametrize("name", ["api", "apis", "version"])
def test_openapi_v3_root_paths_have_documents(name: str) -> None:
    document = write_v3_root(name)
    tree = json.loads(document.body)
    assert list(tree["paths"]) == [f"/{name}/"]
    schemas = {f"#/components/schemas/{schema}" for schema in tree["components"]["schemas"]}
    assert set(find_references(tree)) == schemas | set(find_references(tree["components"]))
    index = json.loads(write_v3_index().body)["paths"]
    stripped = document.etag.strip('"')
    assert index[name] == {"serverRelativeURL": f"/openapi/v3/{name}?hash={stripped}"}


def list_query_parameters(tree: JsonObject, path: str, method: str) -> set[str]:
    item = tree["paths"][path]
    parameters = [*item.get("parameters", ()), *item[method]["parameters"]]
    return {parameter["name"] for parameter in parameters if parameter["in"] == "query"}


SELECTED = {"continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"}
SELECTED |= {"sendInitialEvents", "timeoutSeconds"}
LISTED = SELECTED | {"allowWatchBookmarks", "watch"}
REMOVED = {"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"}
REMOVED |= {"ignoreStoreReadErrorWithClusterBreakingPotential"}
WRITTEN = {"dryRun", "fieldManager", "fieldValidation"}


@pytest.mark.parametrize(
    ("path", "method", "parameters"),
    [
        ("virtualmachines", "get", LISTED),
        ("namespaces/{namespace}/virtualmachines", "get", LISTED),
        ("namespaces/{namespace}/virtualmachines", "post", WRITTEN),
        ("namespaces/{namespace}/virtualmachines", "delete", REMOVED | SELECTED),
        ("namespaces/{namespace}/virtualmachines/{name}", "get", {"resourceVersion"}),
        ("namespaces/{namespace}/virtualmachines/{name}", "put", WRITTEN),
        ("namespaces/{namespace}/virtualmachines/{name}", "patch", WRITTEN | {"force"}),
        ("namespaces/{namespace}/virtualmachines/{name}", "delete", REMOVED),
    ],
)
def test_openapi_operations_list_their_query_parameters(
    path: str, method: str, parameters: set[str], v2: JsonObject
) -> None:
    path = f"/apis/kubevirt.io/v1/{path}"
    for tree in (v2, read_v3("kubevirt.io", "v1")):
        assert list_query_parameters(tree, path, method) == parameters | {"pretty"}


@each_group_version
def test_etag_of_an_openapi_document_is_its_hash_in_the_index(group: str, version: str) -> None:
    document = write_v3(group, version)
    assert document is not None
    assert document.etag == f'"{v3_hash(group, version)}"'


def test_precomputed_openapi_etags_are_correct_and_differ() -> None:
    assert write_v2().etag == v2_etag()
    assert write_v2_protobuf().etag == v2_etag("protobuf")
    assert len({v2_etag(), v2_etag("protobuf"), *(v3_hash(*key) for key in GROUP_VERSIONS)}) == len(GROUP_VERSIONS) + 2


def test_unknown_version_has_no_openapi_document() -> None:
    assert write_v3("kubevirt.io", "v7") is None
