"""
OpenAPI documents: one v2 document for all kinds, and one v3 document for each group version and root path.

Documents are generated on first request and kept compressed. ETags are derived from the source code, so that clients
with a cached document need not wait for its generation.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from virtshape.api.kinds import KINDS, Kind
from virtshape.api.model import JsonObject
from virtshape.api.openapi import write_components, write_definitions
from virtshape.api.status import Status
from virtshape.apiserver.discovery.discovery import group_path, list_kinds
from virtshape.apiserver.discovery.document import Document, make_document, make_json_document
from virtshape.apiserver.managedfields.listtypes import BUILT_IN_GROUPS
from virtshape.apiserver.message import PLAIN_TEXT
from virtshape.apiserver.openapi.actions import ACTION_KINDS, ACTION_STRUCTS, VM
from virtshape.apiserver.openapi.mergerules import apply_merge_rules
from virtshape.apiserver.openapi.paths import write_v2_paths, write_v3_paths
from virtshape.apiserver.openapi.protobuf import encode_document
from virtshape.apiserver.openapi.roots import ROOTS, write_root_document
from virtshape.apiserver.supportedverbs import ACTION_GROUP

PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The protobuf content type of v2, which older clients need; some clients send `v2@v1.0` instead of `v2.v1.0`."""


_INFO = {"title": "Kubernetes", "version": "v1"}


@cache
def write_v2() -> Document:
    """Return the document at `/openapi/v2`."""
    return make_json_document(_write_v2_tree(), etag=v2_etag())


@cache
def write_v2_protobuf() -> Document:
    """Return the v2 document as protobuf."""
    return make_document(encode_document(_write_v2_tree()), PROTOBUF_V2, etag=v2_etag("protobuf"))


def v2_etag(form: str = "json") -> str:
    """Return the ETag of a v2 document without generating the document."""
    return f'"{_hash(f"v2 {form}")}"'


@cache
def write_v3_index() -> Document:
    """Return the document at `/openapi/v3`: the path and hash of each document."""
    group_versions = dict.fromkeys((kind.group, kind.version) for kind in (*KINDS, *ACTION_KINDS))
    hashes = {group_path(*key).removeprefix("/"): v3_hash(*key) for key in group_versions}
    hashes |= {name: _hash(f"v3 {name}") for name in ROOTS}
    paths = {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={hashes[name]}"} for name in sorted(hashes)}
    # Kubernetes also sends this document as plain text.
    return make_json_document({"paths": paths}, PLAIN_TEXT)


@cache
def write_v3_root(name: str) -> Document:
    """Return the OpenAPI document that describes `/api`, `/apis` or `/version`."""
    tree = {"openapi": "3.0.0", "info": _INFO, **write_root_document(name)}
    return make_json_document(tree, etag=f'"{_hash(f"v3 {name}")}"')


def write_v3(group: str, version: str) -> Document | None:
    """Return the v3 document of a group version, or None if the group version does not exist."""
    # Clients choose the names: only documents of existing groups are cached.
    return _write_v3(group, version) if _list_kinds(group, version) else None


def _list_kinds(group: str, version: str) -> list[Kind]:
    if group == ACTION_GROUP:
        return [kind for kind in ACTION_KINDS if kind.version == version]
    return list_kinds(group, version)


@cache
def _write_v3(group: str, version: str) -> Document:
    kinds = _list_kinds(group, version)
    if group == ACTION_GROUP:
        schemas = write_components([VM], [Status, *ACTION_STRUCTS])
    else:
        schemas = write_components(kinds, [Status])
    if group in BUILT_IN_GROUPS:
        apply_merge_rules(schemas)
    tree = {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": write_v3_paths(kinds),
        "components": {"schemas": schemas},
    }
    return make_json_document(tree, etag=f'"{v3_hash(group, version)}"')


def v3_hash(group: str, version: str) -> str:
    """Return the hash of a group version's document, for the index; in quotes, it is also the document's ETag."""
    return _hash(f"v3 {group}/{version}")


def _write_v2_tree() -> JsonObject:
    definitions = write_definitions(KINDS, [Status, *ACTION_STRUCTS])
    apply_merge_rules(definitions)
    paths = write_v2_paths([*KINDS, *ACTION_KINDS])
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": definitions}


def _hash(name: str) -> str:
    return hashlib.sha256(_digest_sources() + name.encode()).hexdigest().upper()


@cache
def _digest_sources() -> bytes:
    digest = hashlib.sha256()
    for package in ("virtshape.api", "virtshape.apiserver"):
        _add_sources(digest.update, resources.files(package))
    return digest.digest()


def _add_sources(add: Callable[[bytes], None], folder: Traversable) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".py"):
            add(entry.read_bytes())
        elif entry.is_dir() and entry.name != "__pycache__":
            _add_sources(add, entry)
