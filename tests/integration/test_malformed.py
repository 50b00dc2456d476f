"""Every malformed request gets a response other than a server error."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.objects import CLUSTER_INSTANCETYPES, NamespacePaths, build_config, build_instancetype, build_vm
from tests.support.loopback import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Client, Response

from virtshape.api.model import JsonObject

PLACE = NamespacePaths("default")
SETTINGS = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

NASTY: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        2**31,
        2**63,
        2**64,
        1e300,
        0.5,
        "",
        "x",
        "a/b",
        "\x00",
        "\U0001d535",
        "1Gi",
        "null",
        "x" * 300,
        [],
        {},
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    NASTY,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "spec", "metadata", "guest", "x", "", "$patch", "f:x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)

EVENT: JsonObject = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "fuzzed"},
    "involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"},
}
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "fuzzed"},
    "spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}], "selector": {"a": "b"}},
}
ROLE: JsonObject = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "fuzzed"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
NAMESPACE: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fuzzed"}, "spec": {}}
RICH: JsonObject = {
    "labels": {"a": "b"},
    "annotations": {"c": "d"},
    "finalizers": ["example.com/x"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
    "managedFields": [
        {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:x": {}}}
    ],
}
OBJECTS: list[tuple[str, JsonObject]] = [
    (PLACE.instancetypes(), build_instancetype("fuzzed", **RICH)),
    (PLACE.vms(), build_vm("fuzzed", status={"conditions": [{"type": "Ready", "status": "True"}]}, **RICH)),
    (PLACE.core("configmaps"), build_config("fuzzed", **RICH)),
    (PLACE.core("events"), EVENT),
    (PLACE.core("services"), SERVICE),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", ROLE),
    ("/api/v1/namespaces", NAMESPACE),
]


def list_paths(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values of a tree, including the root."""
    steps = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [at, *(path for step, inner in steps for path in list_paths(inner, (*at, step)))]


def put(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of the tree with another value at a path."""
    if not path:
        return value
    changed = copy.deepcopy(tree)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return changed


@st.composite
def broken_objects(draw: st.DrawFn) -> tuple[str, Any]:
    """Generate valid objects with one or two values replaced."""
    path, tree = draw(st.sampled_from(OBJECTS))
    broken: Any = tree
    for _ in range(draw(st.integers(1, 2))):
        broken = put(broken, draw(st.sampled_from(list_paths(broken))), draw(VALUES))
    return path, broken


def has_failed(reply: Response) -> bool:
    """Return True for an unexpected server error; server errors that kube-apiserver also returns have no reason."""
    return reply.status >= 500 and (not reply.body or b"InternalError" in reply.body)


def check(reply: Response) -> None:
    """Check that the response is not a server error and is a valid Status or object."""
    assert not has_failed(reply), reply.body
    if reply.status >= 400 and reply.headers["content-type"] == "application/json":
        assert reply.tree["kind"] == "Status"
        assert reply.tree["code"] == reply.status


def clean(client: Client, path: str) -> None:
    client.patch(f"{path}/fuzzed", {"metadata": {"finalizers": None}})
    client.delete(f"{path}/fuzzed")
    if path == "/api/v1/namespaces":
        client.put(f"{path}/fuzzed/finalize", NAMESPACE)


@SETTINGS
@given(broken_objects())
def test_malformed_objects_never_cause_a_server_error(client: Client, broken: tuple[str, Any]) -> None:
    path, body = broken
    check(client.post(path, body))
    check(client.get(f"{path}/fuzzed"))
    check(client.put(f"{path}/fuzzed", body))
    check(client.apply(f"{path}/fuzzed", body, force="true"))
    clean(client, path)


@pytest.fixture(params=OBJECTS, ids=lambda pair: pair[1]["kind"])
def existing(request: pytest.FixtureRequest, client: Client) -> Iterator[str]:
    """An object to patch."""
    path, tree = request.param
    clean(client, path)
    assert client.post(path, tree).status == 201
    yield f"{path}/fuzzed"
    clean(client, path)


@settings(SETTINGS, max_examples=60)
@given(patch=VALUES, media=st.sampled_from([MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH, JSON_PATCH, "application/json"]))
def test_malformed_patches_never_cause_a_server_error(client: Client, existing: str, patch: Any, media: str) -> None:
    query = {"fieldManager": "fuzzer", "force": "true"} if media == APPLY_PATCH else {}
    check(client.patch(existing, patch, media, dryRun="All", **query))
    check(client.patch(f"{existing}/status", patch, media, dryRun="All", **query))


POINTERS = st.sampled_from(
    ["", "/", "/metadata", "/metadata/labels", "/metadata/name", "/spec", "/spec/x/y", "/-", "/metadata/labels/a", "x"]
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "odd"]), "path": POINTERS},
    optional={"from": POINTERS, "value": VALUES},
)


@settings(SETTINGS, max_examples=60)
@given(operations=st.lists(OPERATIONS, max_size=4))
def test_malformed_json_patch_operations_never_cause_a_server_error(
    client: Client, existing: str, operations: list[Any]
) -> None:
    check(client.patch(existing, operations, JSON_PATCH, dryRun="All"))


@SETTINGS
@given(
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
    name=st.sampled_from(["", "fuzzed"]),
    media=st.sampled_from(
        [
            "application/json",
            "application/yaml",
            MERGE_PATCH,
            JSON_PATCH,
            APPLY_PATCH,
            "application/vnd.kubernetes.protobuf",
        ]
    ),
    body=st.binary(max_size=60) | VALUES.map(json.dumps).map(str.encode) | st.text(max_size=40).map(str.encode),
)
def test_random_bodies_never_cause_a_server_error(
    client: Client, method: str, name: str, media: str, body: bytes
) -> None:
    headers = {"Content-Type": media}
    query = {"fieldManager": "fuzzer"} if media == APPLY_PATCH else {}
    for path in (PLACE.core("secrets"), PLACE.instancetypes(version="v1alpha2")):
        target = f"{path}/{name}" if name else path
        check(client.send(method, target, body, headers=headers, query={"labelSelector": "a=nothing", **query}))


QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "labelSelector",
            "fieldSelector",
            "sendInitialEvents",
            "includeObject",
            "dryRun",
            "fieldValidation",
            "fieldManager",
            "propagationPolicy",
            "orphanDependents",
            "gracePeriodSeconds",
            "timeout",
            "pretty",
        ]
    ),
    st.sampled_from(
        ["", "0", "-1", "5", "9" * 30, "true", "All", "a=b", "a in (", "metadata.name=x", "Exact", "é", "\x00"]
    )
    | st.text(max_size=12),
    max_size=4,
)
ACCEPTED = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;as=Table",
        ";;;=,,",
        "*/*",
    ]
)


@SETTINGS
@given(query=QUERIES, accept=ACCEPTED, method=st.sampled_from(["GET", "DELETE", "POST", "HEAD"]))
def test_random_parameters_never_cause_a_server_error(
    client: Client, query: JsonObject, accept: str, method: str
) -> None:
    for path in (PLACE.core("configmaps"), f"{CLUSTER_INSTANCETYPES}/none", "/apis", "/openapi/v2"):
        reply = client.send(method, path, query=query, headers={"Accept": accept})
        assert method == "HEAD" or not has_failed(reply), reply.body


SEGMENTS = st.lists(
    st.sampled_from(
        ["api", "apis", "v1", "namespaces", "default", "pods", "status", "kubevirt.io", "", "..", "%2F", "é"]
    ),
    max_size=7,
)


@SETTINGS
@given(segments=SEGMENTS, method=st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"]))
def test_random_paths_never_cause_a_server_error(client: Client, segments: list[str], method: str) -> None:
    path = "/" + "/".join(segments).encode().decode("latin-1").encode("ascii", "backslashreplace").decode()
    if (method, path.strip("/")) != ("DELETE", "api/v1/namespaces/default/pods"):
        check(client.send(method, path, b"{}" if method != "GET" else None))


Sender = Callable[[Client], Response]


@pytest.mark.parametrize(
    "send",
    [
        pytest.param(lambda client: client.post("/api/v1/namespaces", b"{}"), id="empty object"),
        pytest.param(lambda client: client.post("/api/v1/namespaces", b"null"), id="null"),
        pytest.param(lambda client: client.post("/api/v1/namespaces", b'"x"'), id="string"),
        pytest.param(
            lambda client: client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", b"{}"),
            id="empty review",
        ),
        pytest.param(
            lambda client: client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", b"["),
            id="truncated review",
        ),
    ],
)
def test_bodies_that_are_not_complete_objects_are_rejected(client: Client, send: Sender) -> None:
    reply = send(client)
    assert 400 <= reply.status < 500, reply.body
