"""OpenAPI v3 documents for `/api`, `/apis` and `/version`, which are not part of a group version."""

from typing import Final, NamedTuple

from virtshape.api.model import JsonObject

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_INFO: Final = "io.k8s.apimachinery.pkg.version.Info"
_TEXT: Final[JsonObject] = {"type": "string"}


class Root(NamedTuple):
    """A path with one read operation: its tag, operation ID, description and the name of the response's schema."""

    tag: str
    id: str
    description: str
    schema: str


ROOTS: Final = {
    "api": Root("core", "getCoreAPIVersions", "List the versions of the core group.", f"{_META}APIVersions"),
    "apis": Root("apis", "getAPIVersions", "List the API groups.", f"{_META}APIGroupList"),
    "version": Root("version", "getCodeVersion", "Read the version of the server.", _INFO),
}
"""The documents by path, without the leading slash."""


def write_root_document(name: str) -> JsonObject:
    """Return the paths and components of the document with this name."""
    root = ROOTS[name]
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{root.schema}"}}}
    operation = {
        "tags": [root.tag],
        "description": root.description,
        "operationId": root.id,
        "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
    }
    return {"paths": {f"/{name}/": {"get": operation}}, "components": {"schemas": _find_schemas(root.schema)}}


def _find_schemas(name: str) -> dict[str, JsonObject]:
    """Return the schema with this name and all schemas that it refers to."""
    found: dict[str, JsonObject] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = _SCHEMAS[each]
            waiting += [other for other in _SCHEMAS if f"#/components/schemas/{other}" in repr(_SCHEMAS[each])]
    return found


def _object(required: tuple[str, ...], **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(item: JsonObject) -> JsonObject:
    return {"type": "array", "items": item, "x-kubernetes-list-type": "atomic"}


def _refer(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{_META}{name}"}


_BUILD: Final = ("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler")
_SCHEMAS: Final[dict[str, JsonObject]] = {
    f"{_META}APIVersions": _object(
        ("versions", "serverAddressByClientCIDRs"),
        apiVersion=_TEXT,
        kind=_TEXT,
        versions=_list(_TEXT),
        serverAddressByClientCIDRs=_list(_refer("ServerAddressByClientCIDR")),
    ),
    f"{_META}APIGroupList": _object(("groups",), apiVersion=_TEXT, kind=_TEXT, groups=_list(_refer("APIGroup"))),
    f"{_META}APIGroup": _object(
        ("name", "versions"),
        apiVersion=_TEXT,
        kind=_TEXT,
        name=_TEXT,
        preferredVersion=_refer("GroupVersionForDiscovery"),
        serverAddressByClientCIDRs=_list(_refer("ServerAddressByClientCIDR")),
        versions=_list(_refer("GroupVersionForDiscovery")),
    ),
    f"{_META}GroupVersionForDiscovery": _object(("groupVersion", "version"), groupVersion=_TEXT, version=_TEXT),
    f"{_META}ServerAddressByClientCIDR": _object(
        ("clientCIDR", "serverAddress"), clientCIDR=_TEXT, serverAddress=_TEXT
    ),
    _INFO: _object((*_BUILD, "platform"), **dict.fromkeys((*_BUILD, "platform"), _TEXT)),
}
