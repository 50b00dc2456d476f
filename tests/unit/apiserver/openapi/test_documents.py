"""OpenAPI documents are consistent and contain what kubectl needs."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.discovery import group_path
from virtshape.apiserver.message import Request
from virtshape.apiserver.openapi.documents import (
    v2_etag,
    v3_hash,
    write_v2,
    write_v2_protobuf,
    write_v3,
    write_v3_index,
    write_v3_root,
)
from virtshape.apiserver.openapi.roots import ROOTS
from virtshape.apiserver.subresources.route import find_action
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS, list_verbs

ACTION_GROUP_VERSIONS = [(ACTION_GROUP, version) for version in ACTION_VERSIONS]
GROUP_VERSIONS = [*dict.fromkeys((kind.group, kind.version) for kind in KINDS), *ACTION_GROUP_VERSIONS]

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
def test_openapi_lists_the_patch_parameters_of_patchable_kinds(group: str, version: str, v2: JsonObject) -> None:
    patched = [kind for kind in KINDS if (kind.group, kind.version) == (group, version) and "patch" in list_verbs(kind)]
    for paths in (v2["paths"], read_v3(group, version)["paths"]):
        patches = find_patches(paths)
        for kind in patched:
            assert patches[group, version, kind.kind] == {"dryRun", "fieldManager", "fieldValidation", "force"}


def test_openapi_operation_ids_are_unique(v2: JsonObject) -> None:
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
def test_openapi_operation_ids_match_kubernetes(v2: JsonObject, path: str, method: str, name: str) -> None:
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
    groups = {f"/openapi/v3{group_path(*key)}" for key in GROUP_VERSIONS}
    assert paths == groups | {f"/openapi/v3/{name}" for name in ROOTS}
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


ACTION_BODIES = {
    "check-compatibility": ("put", "io.virtshape.v1.CompatibilityRequest", "io.virtshape.v1.CompatibilityList"),
    "check-fit": ("put", "io.virtshape.v1.FitRequest", "io.virtshape.v1.FitList"),
    "customize-instancetype": (
        "put",
        "io.virtshape.v1.CustomizeRequest",
        "io.virtshape.v1.CustomizedInstancetype",
    ),
    "preview-import": ("put", "io.virtshape.v1.ImportRequest", "io.virtshape.v1.ImportPreview"),
    "preview-migrate-type": ("put", "io.virtshape.v1.MoveRequest", "io.virtshape.v1.MovePreview"),
    "recommend-instancetypes": ("put", "io.virtshape.v1.RecommendRequest", "io.virtshape.v1.RecommendationList"),
    "expand-vm-spec": ("put", "io.kubevirt.v1.VirtualMachine", "io.kubevirt.v1.VirtualMachine"),
    "explain-vm-spec": ("put", "io.kubevirt.v1.VirtualMachine", "io.virtshape.v1.VMExplanation"),
    "virtualmachines/{name}/expand-spec": ("get", "", "io.kubevirt.v1.VirtualMachine"),
}


@pytest.mark.parametrize("version", ACTION_VERSIONS)
@pytest.mark.parametrize(("action", "bodies"), ACTION_BODIES.items(), ids=ACTION_BODIES.keys())
def test_openapi_describes_the_bodies_of_actions_that_return_json(
    action: str, bodies: tuple[str, str, str], version: str, v2: JsonObject
) -> None:
    method, request, response = bodies
    path = f"/apis/{ACTION_GROUP}/{version}/namespaces/{{namespace}}/{action}"
    in_v2, in_v3 = (tree["paths"][path][method] for tree in (v2, read_v3(ACTION_GROUP, version)))
    wanted = [f"#/definitions/{request}"] if request else []
    assert [given["schema"]["$ref"] for given in in_v2["parameters"]] == wanted
    assert in_v2["responses"]["200"] == {"description": "OK", "schema": {"$ref": f"#/definitions/{response}"}}
    sent = in_v3["requestBody"]["content"]["application/json"]["schema"]["$ref"] if request else ""
    assert sent == (f"#/components/schemas/{request}" if request else "")
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{response}"}}}
    assert in_v3["responses"]["200"] == {"description": "OK", "content": content}


def test_schemas_of_action_bodies_describe_every_field(v2: JsonObject) -> None:
    schemas = {name: tree for name, tree in v2["definitions"].items() if name.startswith("io.virtshape.")}
    assert schemas.keys() >= {"io.virtshape.v1.VMExplanation", "io.virtshape.v1.CompatibilityItem"}
    for name, tree in schemas.items():
        assert all(field.get("description") for field in tree["properties"].values()), name


@pytest.mark.parametrize("version", ACTION_VERSIONS)
def test_paths_of_actions_are_routes_of_the_subresource_api(version: str) -> None:
    for path, item in read_v3(ACTION_GROUP, version)["paths"].items():
        (method,) = item.keys() - {"parameters"}
        filled = path.replace("{namespace}", "default").replace("{name}", "vm1")
        route = find_action(Request(method.upper(), filled, {}))
        assert route is not None
        assert route.verb is not None


@each_group_version
def test_etag_of_an_openapi_document_is_its_hash_in_the_index(group: str, version: str) -> None:
    document = write_v3(group, version)
    assert document is not None
    assert document.etag == f'"{v3_hash(group, version)}"'


def test_precomputed_openapi_etags_are_correct_and_unique() -> None:
    assert write_v2().etag == v2_etag()
    assert write_v2_protobuf().etag == v2_etag("protobuf")
    assert len({v2_etag(), v2_etag("protobuf"), *(v3_hash(*key) for key in GROUP_VERSIONS)}) == len(GROUP_VERSIONS) + 2


def test_unknown_version_has_no_openapi_document() -> None:
    assert write_v3("kubevirt.io", "v7") is None
    assert write_v3(ACTION_GROUP, "v7") is None


def test_unknown_group_versions_use_no_memory() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(200):
            assert write_v3(f"{number}.{'x' * 10_000}", "v1") is None
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200_000
