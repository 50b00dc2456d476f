"""
Discovery documents: groups, versions, kinds and subresources, one document per path.

The documents are generated once from the table of kinds, whose order determines the preferred versions.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping

from virtshape.api.kinds import KINDS, Kind
from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery.document import Document, make_json_document
from virtshape.apiserver.supportedverbs import (
    ACTION_GROUP,
    ACTION_VERSIONS,
    ACTIONS,
    Subresource,
    list_subresources,
    list_verbs,
)


def write_discovery(address: str, groups: Mapping[str, list[str]] | None = None) -> dict[str, Document]:
    """Return the documents by path, such as `/api`; `address` is the host and port that clients connect to."""
    groups = list_groups() if groups is None else groups
    trees: dict[str, JsonObject] = {"/api": _write_core_versions(address)}
    for group, versions in groups.items():
        for version in versions:
            trees[group_path(group, version)] = _write_resources(group, version)
    named = [(group, _write_group(group, versions)) for group, versions in groups.items() if group]
    trees["/apis"] = _head("APIGroupList") | {"groups": [tree for _, tree in named]}
    trees |= {f"/apis/{group}": _head("APIGroup") | tree for group, tree in named}
    return {path: make_json_document(tree) for path, tree in trees.items()}


def list_groups() -> dict[str, list[str]]:
    """Return all groups with their versions, the preferred version first."""
    groups: dict[str, list[str]] = {}
    for kind in KINDS:
        versions = groups.setdefault(kind.group, [])
        if kind.version not in versions:
            versions.append(kind.version)
    return groups | {ACTION_GROUP: list(ACTION_VERSIONS)}


def list_kinds(group: str, version: str) -> list[Kind]:
    """Return the kinds in one version of a group, sorted by resource name."""
    kinds = [kind for kind in KINDS if (kind.group, kind.version) == (group, version)]
    return sorted(kinds, key=lambda kind: kind.plural)


def group_path(group: str, version: str) -> str:
    """Return the path of a version of a group."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _head(kind: str) -> JsonObject:
    return {"kind": kind, "apiVersion": "v1"}


def _write_core_versions(address: str) -> JsonObject:
    anyone = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [anyone]}


def _write_group(group: str, versions: list[str]) -> JsonObject:
    written = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": written, "preferredVersion": written[0]}


def _write_resources(group: str, version: str) -> JsonObject:
    group_version = f"{group}/{version}" if group else version
    resources = list(_write_actions() if group == ACTION_GROUP else _write_kinds(group, version))
    return _head("APIResourceList") | {"groupVersion": group_version, "resources": resources}


def _write_actions() -> Iterator[JsonObject]:
    for action in ACTIONS:
        yield {"name": action.name, "singularName": "", "namespaced": action.namespaced, "kind": "", "verbs": None}


def _write_kinds(group: str, version: str) -> Iterator[JsonObject]:
    for kind in list_kinds(group, version):
        yield _write_kind(kind)
        for subresource in list_subresources(kind):
            yield _write_subresource(kind, subresource)


def _write_kind(kind: Kind) -> JsonObject:
    tree = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list_verbs(kind),
    }
    if kind.short_names:
        tree["shortNames"] = kind.short_names
    if kind.categories:
        tree["categories"] = kind.categories
    if "list" in list_verbs(kind):
        tree["storageVersionHash"] = _hash_stored_version(kind)
    return tree


def _write_subresource(kind: Kind, subresource: Subresource) -> JsonObject:
    tree = {
        "name": f"{kind.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": subresource.kind,
        "verbs": subresource.verbs,
    }
    if subresource.group != kind.group:
        tree |= {"group": subresource.group, "version": subresource.version}
    return tree


def _hash_stored_version(kind: Kind) -> str:
    stored = next(other for other in KINDS if (other.group, other.plural) == (kind.group, kind.plural))
    digest = hashlib.sha256(f"{stored.group}/{stored.version}/{stored.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
