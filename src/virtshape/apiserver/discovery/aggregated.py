"""
Aggregated discovery: all groups with all their resources in two documents.

The core group is at `/api`, and all other groups are at `/apis`.
"""

from collections.abc import Mapping

from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.discovery import list_groups, list_kinds
from virtshape.apiserver.discovery.document import Document, make_json_document
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTIONS, Subresource, list_subresources, list_verbs

GROUP = "apidiscovery.k8s.io"
VERSION = "v2"
KIND = "APIGroupDiscoveryList"
CONTENT_TYPE = f"application/json;g={GROUP};v={VERSION};as={KIND}"
"""The content type of the aggregated format."""


def write_aggregated_discovery(groups: Mapping[str, list[str]] | None = None) -> dict[str, Document]:
    """Return the documents for `/api` and `/apis`."""
    written = {name: _write_group(name, versions) for name, versions in (groups or list_groups()).items()}
    core = [written.pop("")] if "" in written else []
    return {"/api": _write_list(core), "/apis": _write_list(list(written.values()))}


def _write_list(groups: list[JsonObject]) -> Document:
    tree = {"kind": KIND, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": groups}
    return make_json_document(tree, CONTENT_TYPE)


def _write_group(group: str, versions: list[str]) -> JsonObject:
    written = [
        {"version": version, "resources": _write_resources(group, version), "freshness": "Current"}
        for version in versions
    ]
    return {"metadata": {"name": group} if group else {}, "versions": written}


def _write_resources(group: str, version: str) -> list[JsonObject]:
    if group == ACTION_GROUP:
        return _write_actions()
    return [_write_kind(kind) for kind in list_kinds(group, version)]


def _write_kind(kind: Kind) -> JsonObject:
    tree: JsonObject = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind.group, kind.version, kind.kind),
        "scope": _scope(kind.namespaced),
        "singularResource": kind.singular,
        "verbs": list_verbs(kind),
    }
    if kind.short_names:
        tree["shortNames"] = kind.short_names
    if kind.categories:
        tree["categories"] = kind.categories
    if subresources := list_subresources(kind):
        tree["subresources"] = [_write_subresource(subresource) for subresource in subresources]
    return tree


def _write_subresource(subresource: Subresource) -> JsonObject:
    response_kind = _response_kind(subresource.group, subresource.version, subresource.kind)
    return {"subresource": subresource.name, "responseKind": response_kind, "verbs": subresource.verbs}


def _write_actions() -> list[JsonObject]:
    resources: dict[str, JsonObject] = {}
    for action in ACTIONS:
        name, _, subresource = action.name.partition("/")
        # Clients skip resources with an empty kind, and fail if the kind is absent.
        nothing = _response_kind("", "", "")
        if name not in resources:
            head = {"resource": name, "responseKind": nothing, "scope": _scope(action.namespaced)}
            resources[name] = head | {"singularResource": "", "verbs": []}
        if subresource:
            listed = resources[name].setdefault("subresources", [])
            listed.append({"subresource": subresource, "responseKind": nothing, "verbs": []})
    return list(resources.values())


def _response_kind(group: str, version: str, kind: str) -> JsonObject:
    return {"group": group, "version": version, "kind": kind}


def _scope(namespaced: bool) -> str:
    return "Namespaced" if namespaced else "Cluster"
