"""Requests for missing resources and unsupported methods, and response media types."""

import gzip
import json

import pytest
from tests.integration.objects import (
    CLUSTER_INSTANCETYPES,
    GROUP,
    NamespacePaths,
    build_config,
    build_instancetype,
    create,
    names,
)
from tests.support.loopback import Client, LoopbackServer

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PLAIN_404 = (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/apis/nope.io/v1/things", id="group"),
        pytest.param("GET", f"/apis/{GROUP}/v9/virtualmachineinstancetypes", id="version"),
        pytest.param("GET", f"/apis/{GROUP}/v1beta1/namespaces/default/nopes", id="resource"),
        pytest.param(
            "GET",
            f"/apis/{GROUP}/v1beta1/namespaces/default/virtualmachineclusterinstancetypes",
            id="cluster-wide kind",
        ),
        pytest.param("POST", f"/apis/{GROUP}/v1beta1/virtualmachineinstancetypes", id="no namespace"),
        pytest.param(
            "DELETE", f"/apis/{GROUP}/v1beta1/virtualmachineinstancetypes", id="namespaced kind without a namespace"
        ),
        pytest.param("GET", "/apis//v1/configmaps", id="empty group"),
        pytest.param("GET", "/nope", id="path"),
        pytest.param("GET", "/openapi/v3/apis/nope.io/v1", id="schema"),
    ],
)
def test_unknown_resource_returns_plain_404(client: Client, method: str, path: str) -> None:
    reply = client.send(method, path)
    assert (reply.status, reply.body) == PLAIN_404
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/api/v1/things", id="resource"),
        pytest.param("POST", "/apis/apps/v1/things", id="resource of a group"),
        pytest.param("GET", "/apis/apps/v1beta1/deployments", id="version"),
        pytest.param("GET", "/api/v2", id="unknown version of the core group"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", id="cluster-wide kind"),
        pytest.param("GET", "/api/v1/configmaps/a", id="namespaced object without a namespace"),
        pytest.param("GET", "/api/v1/namespaces/default/configmaps/a/b/c", id="deep path"),
        pytest.param("GET", "/api/v1/namespaces/default/configmaps/a/status", id="subresource"),
        pytest.param("DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", id="review by name"),
    ],
)
def test_unknown_resource_in_a_built_in_group_returns_404_with_a_status(client: Client, method: str, path: str) -> None:
    reply = client.send(method, path, None if method == "GET" else b"{}")
    assert (reply.reason, reply.tree["details"]) == ((404, "NotFound"), {})


def test_missing_object_returns_404_with_its_name(client: Client, paths: NamespacePaths) -> None:
    reply = client.get(paths.instancetypes("none"))
    details = {"name": "none", "group": GROUP, "kind": "virtualmachineinstancetypes"}
    assert (reply.reason, reply.tree["details"]) == ((404, "NotFound"), details)
    assert reply.tree["message"] == f'virtualmachineinstancetypes.{GROUP} "none" not found'


@pytest.mark.parametrize(("pretty", "indented"), [("true", True), ("1", True), ("false", False), ("", False)])
def test_pretty_parameter_indents_json(client: Client, paths: NamespacePaths, pretty: str, indented: bool) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    for path in (paths.instancetypes("one"), paths.instancetypes()):
        reply = client.get(path, pretty=pretty)
        assert reply.body.startswith(b"{\n  ") is indented
        assert reply.tree == client.get(path).tree


def test_unknown_subresource_returns_404_with_the_object_name(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.get(f"{paths.instancetypes('one')}/scale").tree["details"]["name"] == "one"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("OPTIONS", f"{CLUSTER_INSTANCETYPES}/x", id="unknown method"),
        pytest.param("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", id="GET of reviews"),
        pytest.param("DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", id="DELETE of reviews"),
        pytest.param("POST", "/api/v1/configmaps", id="POST without a namespace"),
        pytest.param("POST", "/api/v1/namespaces/default/configmaps/x", id="POST to an object"),
        pytest.param("PUT", "/api/v1/namespaces/default/configmaps", id="PUT to a collection"),
        pytest.param("DELETE", "/api/v1/namespaces", id="DELETE of all namespaces"),
        pytest.param("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", id="POST of CRDs"),
        pytest.param("PATCH", "/api/v1/namespaces/default/finalize", id="PATCH of finalize"),
        pytest.param("POST", "/apis", id="POST to discovery"),
        pytest.param("DELETE", "/version", id="DELETE of the version"),
    ],
)
def test_unsupported_methods_return_405(client: Client, method: str, path: str) -> None:
    assert client.send(method, path, b"{}").reason == (405, "MethodNotAllowed")


def test_unsupported_method_of_a_built_in_kind_has_a_short_message(client: Client) -> None:
    reply = client.send("OPTIONS", "/api/v1/namespaces/default/configmaps")
    assert (reply.reason, reply.tree["details"]) == ((405, "MethodNotAllowed"), {})
    assert reply.tree["message"] == "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/json;q=0.5,application/yaml;q=0.9", "application/yaml"),
        ("application/yaml;q=0.5,application/json", "application/json"),
        ("application/yaml;q=odd,application/json", "application/yaml"),
    ],
)
def test_accept_header_quality_selects_the_media_type(client: Client, accept: str, media: str) -> None:
    for path in ("/api/v1/namespaces/default", "/api/v1/namespaces/none"):
        assert client.get(path, accept=accept).headers["content-type"] == media


def test_list_media_types_differ_from_object_media_types(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    create(client, paths.core("configmaps"), build_config("one"))
    assert client.get(paths.instancetypes(), accept=PARTIAL).reason == (406, "NotAcceptable")
    assert client.get(paths.core("configmaps", "one"), accept=PARTIAL_LIST).reason == (406, "NotAcceptable")
    assert client.get(paths.instancetypes("one"), accept=PARTIAL_LIST).reason == (500, "")


def test_table_rows_have_metadata_by_default(client: Client) -> None:
    table = client.get("/api/v1/namespaces/default", accept=TABLE, includeObject="").tree
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_built_in_kinds_accept_no_media_type_wildcards(client: Client) -> None:
    reply = client.get("/api/v1/namespaces/default", accept="application/*")
    assert (reply.reason, reply.tree["details"]) == ((406, "NotAcceptable"), {})
    assert client.get(CLUSTER_INSTANCETYPES, accept="application/*").status == 200
    assert client.get("/api/v1/namespaces/default", accept="text/plain,*/*").status == 200


@pytest.mark.parametrize("path", [CLUSTER_INSTANCETYPES, "/version", "/apis"])
def test_head_returns_the_headers_of_get_without_a_body(client: Client, path: str) -> None:
    full, head = client.get(path), client.send("HEAD", path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(full.body))
    assert client.send("HEAD", f"{CLUSTER_INSTANCETYPES}/none").status == 404
    assert client.send("HEAD", "/api/v1/namespaces/default").status == 405


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Odd;v=v1"])
def test_unsupported_media_type_returns_406(client: Client, paths: NamespacePaths, accept: str) -> None:
    assert client.get(paths.instancetypes(), accept=accept).reason == (406, "NotAcceptable")


@pytest.mark.parametrize(
    "accept",
    ["*/*", "application/*", "", "application/vnd.kubernetes.protobuf,application/json", f"{TABLE}x,application/json"],
)
def test_supported_media_type_is_chosen_among_unsupported_ones(
    client: Client, paths: NamespacePaths, accept: str
) -> None:
    assert names(client.get(paths.instancetypes(), accept=accept).tree) == []


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "application/vnd.kubernetes.protobuf"])
def test_body_of_unsupported_type_returns_415(client: Client, paths: NamespacePaths, media: str) -> None:
    reply = client.send("POST", paths.instancetypes(), build_instancetype(), headers={"Content-Type": media})
    assert reply.reason == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "APPLICATION/JSON", ""])
def test_variants_of_the_json_content_type_are_accepted(client: Client, paths: NamespacePaths, media: str) -> None:
    reply = client.send("POST", paths.instancetypes(), build_instancetype(), headers={"Content-Type": media})
    assert reply.status == 201


def test_table_cell_without_a_value_is_null(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"))
    table = client.get(paths.instancetypes(), accept=TABLE).tree
    columns = [column["name"] for column in table["columnDefinitions"]]
    cells = dict(zip(columns, table["rows"][0]["cells"], strict=True))
    assert (cells["Name"], cells["vCPU"], cells["Memory"]) == ("one", 1, "1Gi")
    assert None in cells.values()
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    full = client.get(paths.instancetypes("one"), accept=TABLE, includeObject="Object").tree
    assert full["rows"][0]["object"]["spec"]["cpu"] == {"guest": 1}
    none = client.get(paths.instancetypes("one"), accept=TABLE, includeObject="None").tree
    assert none["rows"][0]["object"] is None
    assert client.get(paths.instancetypes("one"), accept=TABLE, includeObject="Odd").reason == (400, "BadRequest")


def test_partial_object_metadata_is_served(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    assert client.get(paths.instancetypes("one"), accept=PARTIAL).tree == {**head, "metadata": made["metadata"]}
    listing = client.get(paths.instancetypes(), accept=PARTIAL_LIST).tree
    assert (listing["kind"], listing["items"]) == (
        "PartialObjectMetadataList",
        [{**head, "metadata": made["metadata"]}],
    )


def test_large_responses_are_compressed_if_accepted(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.core("configmaps"), build_config("big", data={"a": "x" * 200_000}), build_config("small"))
    headers = {"Accept-Encoding": "gzip"}
    packed = client.send("GET", paths.core("configmaps", "big"), headers=headers)
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < 10_000
    assert json.loads(gzip.decompress(packed.body)) == client.get(paths.core("configmaps", "big")).tree
    assert client.send("GET", paths.core("configmaps", "small"), headers=headers).headers["content-encoding"] is None
    assert client.get(paths.core("configmaps", "big")).headers["content-encoding"] is None


def test_discovery_has_an_etag_and_the_requested_media_type(client: Client) -> None:
    first = client.get("/apis", accept=f"{AGGREGATED},application/json")
    assert first.headers["content-type"] == AGGREGATED
    tag = first.headers["etag"]
    again = client.send("GET", "/apis", headers={"Accept": AGGREGATED, "If-None-Match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert client.get("/apis").tree["kind"] == "APIGroupList"


def test_unauthenticated_requests_return_401_except_health(server: LoopbackServer, client: Client) -> None:
    assert client.send("GET", "/api/v1/namespaces", headers={"Authorization": ""}).reason == (401, "Unauthorized")
    assert client.send("GET", "/healthz", headers={"Authorization": ""}).body == b"ok"
    assert server.port


def test_responses_are_not_cacheable(client: Client, paths: NamespacePaths) -> None:
    assert client.get(paths.instancetypes()).headers["cache-control"] == "no-cache, private"
